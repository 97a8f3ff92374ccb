"""From an Authorization header to a caller.

A client's row is cached for 60 seconds in a warm function: that is how long a revoked key or a changed permission may
still be honoured. The platform key is a secret that only the functions which serve the platform admin may read; they
leave its hash in State, by which every other function knows the key without being able to reveal it.
"""

import functools
import hashlib
from collections.abc import Callable
from typing import Any

from broker import keys
from broker.apikeys import ApiKey
from broker.cache import Cache
from broker.caller import Caller
from broker.clients import read_client
from broker.errors import Unauthenticated, Unavailable
from broker.ids import Clock
from edge import BlobMissing, ConditionFailed, EdgeError, Retry, Row, StateTable

CACHE_SECONDS = 60


class PlatformSecret:
    """The platform key as Secrets Manager holds it."""

    def __init__(self, *, client: Callable[[], Any], secret_id: str, clock: Clock, retry: Retry) -> None:
        self._client = functools.cache(client)
        self._secret_id = secret_id
        self._retry = retry
        self._secrets: Cache[str, str] = Cache(seconds=CACHE_SECONDS, clock=clock)

    @property
    def readable(self) -> bool:
        """Whether this function is meant to read it."""
        return bool(self._secret_id)

    def secret(self) -> str:
        """The part of the platform key after its dot."""

        def read() -> str:
            answer = self._retry.call(self._client().get_secret_value, SecretId=self._secret_id)
            return str(answer["SecretString"])

        return self._secrets.get(self._secret_id, read)

    def sealing_key(self) -> bytes:
        """A key for the platform admin's own tokens."""
        return hashlib.sha256(b"towpath platform tokens\x00" + self.secret().encode()).digest()


class Authentication:
    """Knows callers by their keys."""

    def __init__(self, *, state: StateTable, platform: PlatformSecret, clock: Clock) -> None:
        self._state = state
        self._platform = platform
        self._rows: Cache[str, Row | None] = Cache(seconds=CACHE_SECONDS, clock=clock)

    def caller(self, header: str | None) -> Caller:
        """The principal of a request.

        Raises:
            Unauthenticated: The key is missing, malformed, unknown or revoked; which of them is not told.
            Unavailable: Whether it is valid cannot be found out now.
        """
        key = ApiKey.parse(header)
        if key is None:
            raise Unauthenticated
        if key.client_id == keys.PLATFORM and self._platform.readable:
            return self._platform_caller(key)
        row, known_before = self._row(key.client_id)
        if known_before and not _fits(key, row):
            # It may have been rotated since the row was read: a new key is good at once.
            self._rows.forget(key.client_id)
            row, _ = self._row(key.client_id)
        if row is None or not _fits(key, row):
            raise Unauthenticated
        return read_client(row).caller()

    def _row(self, client_id: str) -> tuple[Row | None, bool]:
        """A client's row, and whether it was remembered; that there is none is not."""
        loads: list[Row | None] = []

        def load() -> Row | None:
            loads.append(self._state.get(keys.client(client_id), keys.CLIENT))
            return loads[0]

        row = self._rows.get(client_id, load)
        if row is None:
            self._rows.forget(client_id)
        return row, not loads

    def forget(self, client_id: str) -> None:
        """Let this process see a change of a client at once."""
        self._rows.forget(client_id)

    def _platform_caller(self, key: ApiKey) -> Caller:
        try:
            expected = ApiKey(keys.PLATFORM, self._platform.secret()).hash()
        except (BlobMissing, EdgeError) as error:
            raise Unavailable("The platform key cannot be checked now.") from error
        if not key.matches(expected):
            raise Unauthenticated
        self._rows.get(keys.PLATFORM, lambda: self._leave_hash(expected))
        return Caller("platform", "", keys.PLATFORM, "platform admin")

    def _leave_hash(self, expected: bytes) -> Row:
        row: Row = {
            "pk": keys.client(keys.PLATFORM),
            "sk": keys.CLIENT,
            "hash": expected,
            "client_id": keys.PLATFORM,
            "tenant_id": "",
            "name": "platform admin",
            "role": "platform",
            "permissions": [],
            "created_at": 0,
        }
        try:
            self._state.put(row, condition="attribute_not_exists(#pk) OR #hash <> :hash", values={"hash": expected})
        except ConditionFailed:
            return row
        return row


def _fits(key: ApiKey, row: Row | None) -> bool:
    stored = row["hash"] if row else None
    return isinstance(stored, bytes) and key.matches(stored)
