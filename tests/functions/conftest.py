"""Fixtures of the function tests: a warm process, and tenants in it."""

import pytest

from tests.functions.logs import LogClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World


@pytest.fixture(scope="session")
def process() -> Process:
    """The process that most tests share; what it has cached is of tenants that no other test knows."""
    return Process()


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
