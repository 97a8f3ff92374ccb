"""The data keys of tenants: made and unwrapped by KMS, kept in warm functions for at most five minutes.

All versions of a tenant stand wrapped in its one `config` row, so that a key costs one read and one KMS call.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from broker import keys
from broker.cache import Cache
from broker.errors import NotFound
from broker.ids import Clock
from edge import EdgeRejected, EdgeUnavailable, Retry, Row, StateTable

CACHE_SECONDS = 300


class PlatformKey(Protocol):
    """The key under which lists of the platform admin are sealed."""

    def sealing_key(self) -> bytes:
        """32 bytes."""


@dataclass(frozen=True, slots=True)
class WrappedKeys:
    """What a tenant's row says of its keys."""

    current: int
    wrapped: dict[int, bytes]


class TenantKeys:
    """Implements `broker.crypto.DataKeys`."""

    def __init__(
        self,
        *,
        state: StateTable,
        kms: Callable[[], Any],
        kms_key_id: str,
        platform: PlatformKey,
        clock: Clock,
        retry: Retry,
    ) -> None:
        self._state = state
        self._kms = functools.cache(kms)
        self._kms_key_id = kms_key_id
        self._platform = platform
        self._retry = retry
        self._rows: Cache[str, WrappedKeys | None] = Cache(seconds=CACHE_SECONDS, clock=clock)
        self._plain: Cache[tuple[str, int], bytes] = Cache(seconds=CACHE_SECONDS, clock=clock)

    def current(self, tenant_id: str) -> tuple[int, bytes]:
        """The version and key to seal with now.

        Raises:
            NotFound: There is no such tenant any more.
            EdgeUnavailable: Storage or KMS does not answer.
        """
        if tenant_id == keys.PLATFORM:
            return 0, self._platform.sealing_key()
        row = self._rows.get(tenant_id, lambda: self._load(tenant_id))
        if row is None:
            self._rows.forget(tenant_id)
            raise NotFound("The tenant does not exist any more.")
        return row.current, self._unwrap(tenant_id, row.current, row)

    def version(self, tenant_id: str, version: int) -> bytes | None:
        """The key of a version, None when there never was one."""
        if tenant_id == keys.PLATFORM:
            return self._platform.sealing_key() if version == 0 else None
        row = self._rows.get(tenant_id, lambda: self._load(tenant_id))
        if row is None or version not in row.wrapped:
            row = self._load(tenant_id)
            if row is None or version not in row.wrapped:
                return None
            self._rows.forget(tenant_id)
        return self._unwrap(tenant_id, version, row)

    def make(self, tenant_id: str) -> bytes:
        """A new data key, wrapped; its plaintext is dropped.

        Raises:
            EdgeUnavailable: KMS does not make one.
        """
        answer = self._ask(
            "generate_data_key",
            KeyId=self._kms_key_id,
            KeySpec="AES_256",
            EncryptionContext={"tenant": tenant_id},
        )
        return bytes(answer["CiphertextBlob"])

    def forget(self, tenant_id: str) -> None:
        """Let this process see a rotation at once."""
        self._rows.forget(tenant_id)

    def _load(self, tenant_id: str) -> WrappedKeys | None:
        row = self._state.get(keys.tenant(tenant_id), keys.CONFIG)
        return read_keys(row) if row else None

    def _unwrap(self, tenant_id: str, version: int, row: WrappedKeys) -> bytes:
        def decrypt() -> bytes:
            answer = self._ask(
                "decrypt",
                CiphertextBlob=row.wrapped[version],
                KeyId=self._kms_key_id,
                EncryptionContext={"tenant": tenant_id},
            )
            return bytes(answer["Plaintext"])

        return self._plain.get((tenant_id, version), decrypt)

    def _ask(self, operation: str, **request: Any) -> Any:
        """Call KMS. A key that is disabled, or not permitted, is an outage to callers like KMS being away."""
        try:
            return self._retry.call(getattr(self._kms(), operation), **request)
        except EdgeRejected as error:
            raise EdgeUnavailable(str(error)) from error


def key_name(version: int) -> str:
    """The name of a version in the `data_keys` of the row."""
    return f"v{version}"


def read_keys(row: Row) -> WrappedKeys:
    """The keys of a tenant's `config` row."""
    stored, current = row["data_keys"], row["key_version"]
    wrapped = stored.items() if isinstance(stored, dict) else ()
    return WrappedKeys(int(str(current)), {int(name[1:]): key for name, key in wrapped if isinstance(key, bytes)})
