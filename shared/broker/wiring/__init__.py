"""Every service, built once per process at first use.

Here is what all functions stand on; the modules beside this one build what some of them need, so that a function
imports no more than it uses.
"""

import functools
import time
from typing import Any

from broker.authentication import Authentication, PlatformSecret
from broker.crypto import Vault
from broker.datakeys import TenantKeys
from broker.ids import MonotonicIds
from broker.listing import Lister
from broker.names import FreedNames
from broker.settings import Settings
from broker.tokens import Tokens
from edge import BlobStore, EdgeTable, Retry, StateTable
from edge.clients import make_client


def clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)


@functools.cache
def ids() -> MonotonicIds:
    """Ids of this process."""
    return MonotonicIds(clock)


@functools.cache
def settings() -> Settings:
    """The names of this deployment's resources."""
    return Settings.from_environment()


@functools.cache
def retry() -> Retry:
    """How storage is retried."""
    return Retry()


@functools.cache
def dynamodb() -> Any:
    """The one DynamoDB client; a second one would cost a tenth of a cold start."""
    return make_client("dynamodb")


@functools.cache
def edges() -> EdgeTable:
    """The edge table."""
    return EdgeTable(settings().edges_table, client=dynamodb(), retry=retry())


@functools.cache
def state() -> StateTable:
    """The state table."""
    return StateTable(settings().state_table, client=dynamodb(), retry=retry())


@functools.cache
def blobs() -> BlobStore:
    """The bucket."""
    return BlobStore(settings().bucket, retry=retry())


@functools.cache
def platform_secret() -> PlatformSecret:
    """The platform key."""
    return PlatformSecret(
        client=lambda: make_client("secretsmanager"),
        secret_id=settings().platform_secret_id,
        clock=clock,
        retry=retry(),
    )


@functools.cache
def data_keys() -> TenantKeys:
    """The tenants' data keys."""
    return TenantKeys(
        state=state(),
        kms=lambda: make_client("kms"),
        kms_key_id=settings().kms_key_id,
        platform=platform_secret(),
        clock=clock,
        retry=retry(),
    )


@functools.cache
def vault() -> Vault:
    """Encryption."""
    return Vault(data_keys())


@functools.cache
def tokens() -> Tokens:
    """Tokens given out."""
    return Tokens(vault())


@functools.cache
def lister() -> Lister:
    """Paged lists."""
    return Lister(state=state(), tokens=tokens())


@functools.cache
def names() -> FreedNames:
    """Names of deleted queues."""
    return FreedNames(state=state(), clock=clock, sleep=sleep)


@functools.cache
def authentication() -> Authentication:
    """Who is calling."""
    return Authentication(state=state(), platform=platform_secret(), clock=clock)
