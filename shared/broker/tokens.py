"""Tokens given out to be handed back: opaque, and good only for the tenant, queue and purpose they were made for."""

import base64
import binascii
import re

from broker.crypto import Scope, Unreadable, Vault
from broker.errors import InvalidToken

_ALPHABET = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class Tokens:
    """Seals small texts into URL-safe tokens."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def seal(self, content: bytes, *, scope: Scope) -> str:
        """The token of a content."""
        return base64.urlsafe_b64encode(self._vault.seal(content, scope=scope)).rstrip(b"=").decode("ascii")

    def open(self, token: str, *, scope: Scope) -> bytes:
        """The content of a token.

        Raises:
            InvalidToken: It was altered, or made for another scope.
        """
        if not _ALPHABET.fullmatch(token):
            raise InvalidToken
        try:
            envelope = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            if base64.urlsafe_b64encode(envelope).rstrip(b"=") != token.encode("ascii"):
                raise InvalidToken
            return self._vault.open(envelope, scope=scope)
        except (binascii.Error, Unreadable) as error:
            raise InvalidToken from error
