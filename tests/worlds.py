"""What tests stand on: an AWS made of moto, a clock that moves only when told, and ids that are the same every time."""

import contextlib
import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from moto.s3.models import s3_backends

from broker.ids import SeededIds
from tools import moto_threads, tables
from tools.dynalite import dynalite
from tools.ministack import ministack

START = 1_796_032_800_000  # 2026-11-30T10:00:00.000Z


class ManualClock:
    """A clock in epoch milliseconds that stands still until it is moved."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def advance(self, *, seconds: float = 0, milliseconds: int = 0) -> None:
        self.now += round(seconds * 1000) + milliseconds


def counted_ids(seed: str = "") -> SeededIds:
    """An id factory: the same ascending ids for the same seed."""
    return SeededIds(START, seed=seed.encode())


# To make a client takes longer than most tests.
_client = functools.cache(tables.client)


class Named:
    """Resources by the names that the functions know them by."""

    resources: tables.Resources

    @property
    def edges_table(self) -> str:
        return self.resources.environment["EDGES_TABLE"]

    @property
    def state_table(self) -> str:
        return self.resources.environment["STATE_TABLE"]

    @property
    def bucket(self) -> str:
        return self.resources.environment["BUCKET"]


@dataclass(frozen=True)
class World(Named):
    """The project's tables, bucket, key and secret on moto, in this process."""

    resources: tables.Resources

    @property
    def platform_key(self) -> str:
        return self.resources.secret_values["PlatformSecret"]

    def client(self, service: str) -> Any:
        return _client(service)

    def wipe(self) -> None:
        """Empty the tables and the bucket. The key and the secret stay."""
        for table in (self.edges_table, self.state_table):
            moto_threads.wipe(table, region=tables.REGION)
        s3_backends[moto_threads.ACCOUNT]["aws"].buckets[self.bucket].keys.clear()

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Everything in a table, in DynamoDB's typed form, ordered by key."""
        return sorted(moto_threads.stored_items(table, region=tables.REGION), key=repr)

    def objects(self) -> list[str]:
        """The keys of all objects in the bucket."""
        pages = _client("s3").get_paginator("list_objects_v2").paginate(Bucket=self.bucket)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


@dataclass(frozen=True)
class Engine(Named):
    """One of the engines that stand in for AWS, with the project's resources on it, as far as it has the services.

    Its tables are shared by all tests of a run: each works under keys of its own.
    """

    name: str
    endpoint_url: str | None
    resources: tables.Resources

    def client(self, service: str = "dynamodb") -> Any:
        return tables.client(service, endpoint_url=self.endpoint_url)


class Engines:
    """The engines of one test run, each started when first asked for."""

    def __init__(self, world: World, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._running = {"moto": Engine("moto", None, world.resources)}

    def __call__(self, name: str) -> Engine:
        if name not in self._running:
            url = self._stack.enter_context(ministack() if name == "ministack" else dynalite())
            services = ("dynamodb",) if name == "dynalite" else tables.EVERYTHING
            resources = tables.create(endpoint_url=url, prefix="test", services=services)
            self._running[name] = Engine(name, url, resources)
        return self._running[name]


@contextlib.contextmanager
def moto_world() -> Iterator[World]:
    """The world, and the environment in which the functions find it."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with patch.dict(os.environ, outside, clear=True), moto_threads.moto_in_threads():
        resources = tables.create(prefix="test")
        os.environ.update(resources.environment)
        os.environ["POWERTOOLS_METRICS_DISABLED"] = "true"  # a test that wants them turns them on
        yield World(resources)
