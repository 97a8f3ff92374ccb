"""Encryption per tenant: AES-256-GCM under data keys that KMS wraps.

Envelope: format (1 byte), key version (4), nonce (12), ciphertext and tag. The associated data binds it to tenant,
queue, purpose and record, so that a ciphertext moved elsewhere does not open.
"""

import os
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_FORMAT = 1
_HEADER = 5
_NONCE = 12
OVERHEAD = _HEADER + _NONCE + 16
"""Bytes by which an envelope is longer than what is in it."""


class Unreadable(Exception):
    """This record does not open: altered, cut short, moved here from elsewhere, or sealed under a lost key."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a record belongs; none of it may change while the record lives.

    Attributes:
        tenant_id: Whose it is.
        queue_id: The queue's id, or empty.
        purpose: What kind of record, e.g. `log`, `lease`.
        record_id: Its id, or what else makes it this one.
    """

    tenant_id: str
    queue_id: str
    purpose: str
    record_id: str = ""

    def associated_data(self) -> bytes:
        """Each part with its length before it, so that no two scopes share a text."""
        parts = [part.encode() for part in (self.tenant_id, self.queue_id, self.purpose, self.record_id)]
        return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


class DataKeys(Protocol):
    """Where data keys come from."""

    def current(self, tenant_id: str) -> tuple[int, bytes]:
        """The version and the 32 bytes to seal with now."""

    def version(self, tenant_id: str, version: int) -> bytes | None:
        """The 32 bytes of a version, None when there never was one."""


class Vault:
    """Seals and opens records."""

    def __init__(self, keys: DataKeys) -> None:
        self._keys = keys

    def seal(self, plaintext: bytes, *, scope: Scope) -> bytes:
        """The envelope of a record.

        Raises:
            EdgeUnavailable: The tenant's key cannot be had now; nothing is sealed under anything else.
        """
        version, key = self._keys.current(scope.tenant_id)
        header = bytes([_FORMAT]) + version.to_bytes(4, "big")
        nonce = os.urandom(_NONCE)
        return header + nonce + AESGCM(key).encrypt(nonce, plaintext, header + scope.associated_data())

    def open(self, envelope: bytes, *, scope: Scope) -> bytes:
        """What is in an envelope.

        Raises:
            Unreadable: It is not an envelope of this scope.
            EdgeUnavailable: The tenant's key cannot be had now.
        """
        if len(envelope) < OVERHEAD or envelope[0] != _FORMAT:
            raise Unreadable("not an envelope")
        header, nonce, sealed = envelope[:_HEADER], envelope[_HEADER : _HEADER + _NONCE], envelope[_HEADER + _NONCE :]
        key = self._keys.version(scope.tenant_id, int.from_bytes(header[1:], "big"))
        if key is None:
            raise Unreadable("sealed under a key that does not exist")
        try:
            return AESGCM(key).decrypt(nonce, sealed, header + scope.associated_data())
        except InvalidTag as error:
            raise Unreadable("altered, or moved here from elsewhere") from error
