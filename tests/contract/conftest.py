"""One suite over every engine: what edge promises holds on each of them, or the promise or the engine is wrong."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge import BlobStore, EdgeTable, Retry, StateTable
from edge.clients import make_client
from tests.worlds import Engine, Engines

_numbers = itertools.count()


@dataclass
class Pauses:
    """Stands in for sleeping: remembers how long."""

    seconds: list[float] = field(default_factory=list)

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture(params=["moto", "ministack", "dynalite"])
def engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    return engines(request.param)


@pytest.fixture(params=["moto", "ministack"])
def full_engine(request: pytest.FixtureRequest, engines: Engines) -> Engine:
    """An engine that has transactions, objects, and shows the row that a condition failed on."""
    return engines(request.param)


@pytest.fixture
def source() -> str:
    """A hash key that no other test of this run has."""
    return f"log#{next(_numbers)}#0"


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def retry(pauses: Pauses) -> Retry:
    """Four attempts whose pauses are the longest that the jitter may draw."""
    return Retry(attempts=4, sleep=pauses, draw=lambda: 1.0)


class Clients:
    """The clients that edge itself makes, one for each engine and service."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Any] = {}

    def __call__(self, engine: Engine, service: str) -> Any:
        if (engine.name, service) not in self._made:
            with pytest.MonkeyPatch.context() as patch:
                if engine.endpoint_url is not None:
                    patch.setenv("AWS_ENDPOINT_URL", engine.endpoint_url)
                self._made[engine.name, service] = make_client(service)
        return self._made[engine.name, service]


@pytest.fixture(scope="session")
def clients() -> Clients:
    return Clients()


@pytest.fixture
def edges(engine: Engine, clients: Clients, retry: Retry) -> EdgeTable:
    return EdgeTable(engine.edges_table, client=clients(engine, "dynamodb"), retry=retry)


@pytest.fixture
def state(engine: Engine, clients: Clients, retry: Retry) -> StateTable:
    return StateTable(engine.state_table, client=clients(engine, "dynamodb"), retry=retry)


@pytest.fixture
def full_edges(full_engine: Engine, clients: Clients, retry: Retry) -> EdgeTable:
    return EdgeTable(full_engine.edges_table, client=clients(full_engine, "dynamodb"), retry=retry)


@pytest.fixture
def full_state(full_engine: Engine, clients: Clients, retry: Retry) -> StateTable:
    return StateTable(full_engine.state_table, client=clients(full_engine, "dynamodb"), retry=retry)


@pytest.fixture
def blobs(full_engine: Engine, clients: Clients, retry: Retry) -> BlobStore:
    return BlobStore(full_engine.bucket, client=clients(full_engine, "s3"), retry=retry)
