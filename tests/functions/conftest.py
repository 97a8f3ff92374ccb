"""Fixtures of the function tests: a warm process, and tenants in it."""

from unittest.mock import patch

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture(scope="session")
def process(world: World) -> Process:
    """The process that most tests share; what it has cached is of tenants that no other test knows.

    It has left the hash of the platform's key before the first test, and never does again, however slow the run is:
    tests that compare rows must not meet it.
    """
    process = Process()
    with patch("broker.authentication.CACHE_SECONDS", 24 * 3600):
        assert process.call("tenant_list", key=f"platform.{world.platform_key}").status == 200
    return process


@pytest.fixture
def timed(clock: ManualClock) -> Process:
    """A cold process whose clock is `clock`."""
    return Process(clock=clock)


@pytest.fixture
def platform_key(world: World) -> str:
    """The key of the platform admin."""
    return f"platform.{world.platform_key}"


@pytest.fixture
def tenant(process: Process, platform_key: str) -> Tenant:
    return process.tenant(platform_key=platform_key)


@pytest.fixture
def stranger(process: Process, platform_key: str) -> Tenant:
    """Another tenant."""
    return process.tenant("stranger", platform_key=platform_key)


@pytest.fixture
def log(process: Process, tenant: Tenant) -> LogClient:
    """A log of one partition."""
    return LogClient(process, tenant.key).create()
