"""Fixtures for every test.

moto runs from before the first test module is imported until the last test has ended, so that functions may be imported
anywhere and find their environment. Before each test its tables and its bucket are empty.
"""

import contextlib
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import settings

import tools.faults
from broker.ids import SeededIds
from tests.worlds import Engines, ManualClock, World, counted_ids, moto_world
from tools.ledger import Ledger

_world = pytest.StashKey[World]()
_stack = pytest.StashKey[contextlib.ExitStack]()


# The same examples in every run, and no limit of time for each: the machine may be busy with something else.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stack] = contextlib.ExitStack()
    config.stash[_world] = config.stash[_stack].enter_context(moto_world())


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_stack].close()


@pytest.fixture(scope="session")
def world(pytestconfig: pytest.Config) -> World:
    """AWS as the functions see it. A test with many examples calls `world.wipe()` before each."""
    return pytestconfig.stash[_world]


@pytest.fixture(scope="session")
def engines(world: World) -> Iterator[Engines]:
    """`engines("moto")`, `engines("ministack")`, `engines("dynalite")`: each is started once a run, if it is needed."""
    with contextlib.ExitStack() as stack:
        yield Engines(world, stack)


@pytest.fixture(autouse=True)
def _empty_world(world: World) -> None:
    world.wipe()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Charges `with ledger.operation("…") as cost:` blocks with the calls of all clients."""
    with Ledger() as ledger:
        yield ledger


@pytest.fixture
def faults() -> ModuleType:
    """The module that injects failures: `with faults.failing(faults.THROTTLED, at=2)`, `faults.crash_points(run)`."""
    return tools.faults


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until `clock.advance(seconds=…)`."""
    return ManualClock()


@pytest.fixture
def ids() -> SeededIds:
    """Ids that are the same in every run, each greater than the one before."""
    return counted_ids()
