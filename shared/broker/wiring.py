"""Every service, built once per process at first use."""

import functools
import time

from broker.crypto import Vault
from broker.ids import MonotonicIds
from broker.listing import Lister
from broker.log.definitions import Definitions
from broker.log.records import Records
from broker.log.service import LogService
from broker.log.sweep import Sweep
from broker.settings import Settings
from broker.tenancy.authentication import Authentication, PlatformSecret
from broker.tenancy.datakeys import TenantKeys
from broker.tenancy.service import Tenancy
from broker.tokens import Tokens
from edge import BlobStore, EdgeTable, Retry, StateTable
from edge.clients import make_client


def clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


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
def edges() -> EdgeTable:
    """The edge table."""
    return EdgeTable(settings().edges_table, client=make_client("dynamodb"), retry=retry())


@functools.cache
def state() -> StateTable:
    """The state table."""
    return StateTable(settings().state_table, client=make_client("dynamodb"), retry=retry())


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
def authentication() -> Authentication:
    """Who is calling."""
    return Authentication(state=state(), platform=platform_secret(), clock=clock)


@functools.cache
def tenancy() -> Tenancy:
    """Tenants and clients."""
    return Tenancy(
        state=state(), data_keys=data_keys(), authentication=authentication(), lister=lister(), clock=clock, ids=ids()
    )


@functools.cache
def log() -> LogService:
    """The messages of queue/v1."""
    return LogService(
        definitions=definitions(),
        edges=edges(),
        blobs=blobs(),
        records=Records(vault=vault(), blobs=blobs(), purpose="log"),
        tokens=tokens(),
    )


@functools.cache
def definitions() -> Definitions:
    """The logs of queue/v1."""
    return Definitions(state=state(), lister=lister(), clock=clock, ids=ids())


@functools.cache
def sweep() -> Sweep:
    """The removal of deleted logs."""
    return Sweep(state=state(), edges=edges(), blobs=blobs(), clock=clock)
