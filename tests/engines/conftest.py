import itertools

import pytest

from tests.worlds import Engine, Engines

_numbers = itertools.count()


@pytest.fixture(params=["moto", "ministack"])
def engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    return engines(request.param)


@pytest.fixture
def pk() -> str:
    """A hash key that no other test of this run has."""
    return f"own#{next(_numbers)}"
