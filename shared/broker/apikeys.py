"""API keys: `<client_id>.<secret>`, of which only a hash of the secret is stored.

The secrets are 256 random bits, so a plain SHA-256 is as good as a slow hash and costs nothing per request.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key, taken apart."""

    client_id: str
    secret: str

    @classmethod
    def new(cls, client_id: str) -> "ApiKey":
        """A key with a new secret."""
        return cls(client_id, secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, header: str | None) -> "ApiKey | None":
        """The key of an Authorization header, bare or as Bearer; None when it is none, as what is not ASCII."""
        words = (header or "").split()
        if len(words) == 2 and words[0].lower() == "bearer":
            words = words[1:]
        if len(words) != 1 or not words[0].isascii():
            return None
        client_id, dot, secret = words[0].partition(".")
        return cls(client_id, secret) if dot and client_id and secret and len(words[0]) <= 512 else None

    def text(self) -> str:
        """As the caller sends it."""
        return f"{self.client_id}.{self.secret}"

    def hash(self) -> bytes:
        """What is stored of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()

    def matches(self, stored: bytes) -> bool:
        """Whether the stored hash is of this secret; takes as long either way."""
        return hmac.compare_digest(self.hash(), stored)
