"""Envelopes and tokens: they open where they were made for, and nowhere else."""

import dataclasses
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.crypto import OVERHEAD, Scope, Unreadable, Vault
from broker.errors import InvalidToken
from broker.tokens import Tokens


class Keys:
    """Two versions of a key per tenant, the second one current."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int], bytes] = {}
        self.newest = 2

    def current(self, tenant_id: str) -> tuple[int, bytes]:
        return self.newest, self._key(tenant_id, self.newest)

    def version(self, tenant_id: str, version: int) -> bytes | None:
        return self._key(tenant_id, version) if version <= self.newest else None

    def _key(self, tenant_id: str, version: int) -> bytes:
        return self._made.setdefault((tenant_id, version), os.urandom(32))


HERE = Scope("tenant", "queue", "log", "record")
ELSEWHERE = [dataclasses.replace(HERE, **{field.name: "other"}) for field in dataclasses.fields(Scope)]
ELSEWHERE += [
    Scope("tenan", "tqueue", "log", "record"),
    Scope("tenant", "queuelog", "", "record"),
    Scope("tenant", "queue", "logrecord", ""),
    Scope("tenant", "", "queuelog", "record"),
    Scope("queue", "tenant", "log", "record"),
]


@pytest.fixture
def keys() -> Keys:
    return Keys()


@pytest.fixture
def vault(keys: Keys) -> Vault:
    return Vault(keys)


@pytest.mark.parametrize("content", [b"", b"x", b"\x00" * 1000, b"\xaa\x00\x9by\n"])
def test_what_was_sealed_opens(vault: Vault, content: bytes) -> None:
    envelope = vault.seal(content, scope=HERE)
    assert vault.open(envelope, scope=HERE) == content
    assert len(envelope) == len(content) + OVERHEAD
    assert content not in envelope or len(content) < 2


def test_two_seals_of_one_content_differ(vault: Vault) -> None:
    assert len({vault.seal(b"x", scope=HERE)[5:17] for _ in range(100)}) == 100


@pytest.mark.parametrize("scope", ELSEWHERE, ids=str)
def test_elsewhere_it_does_not_open(vault: Vault, scope: Scope) -> None:
    with pytest.raises(Unreadable):
        vault.open(vault.seal(b"x", scope=HERE), scope=scope)


def test_no_bit_may_change_and_no_byte_be_missing(vault: Vault) -> None:
    envelope = vault.seal(b"content", scope=HERE)
    for at in range(len(envelope) * 8):
        altered = bytearray(envelope)
        altered[at // 8] ^= 1 << at % 8
        with pytest.raises(Unreadable):
            vault.open(bytes(altered), scope=HERE)
    for size in range(len(envelope)):
        with pytest.raises(Unreadable):
            vault.open(envelope[:size], scope=HERE)
    with pytest.raises(Unreadable):
        vault.open(envelope + b"x", scope=HERE)


def test_old_versions_open_and_unknown_ones_do_not(vault: Vault, keys: Keys) -> None:
    old = vault.seal(b"old", scope=HERE)
    keys.newest = 3
    new = vault.seal(b"new", scope=HERE)
    assert (vault.open(old, scope=HERE), vault.open(new, scope=HERE)) == (b"old", b"new")
    keys.newest = 2
    with pytest.raises(Unreadable):
        vault.open(new, scope=HERE)


@given(st.binary(max_size=200))
def test_garbage_does_not_open(content: bytes) -> None:
    with pytest.raises(Unreadable):
        Vault(Keys()).open(content, scope=HERE)


def test_scopes_never_share_their_text() -> None:
    texts = [scope.associated_data() for scope in [HERE, *ELSEWHERE]]
    assert len(set(texts)) == len(texts)


# Tokens


def test_a_token_is_url_safe_and_opens(vault: Vault) -> None:
    tokens = Tokens(vault)
    for size in range(20):
        token = tokens.seal(bytes(size), scope=HERE)
        assert token.isascii()
        assert token.replace("-", "").replace("_", "").isalnum()
        assert tokens.open(token, scope=HERE) == bytes(size)


@pytest.mark.parametrize("scope", ELSEWHERE, ids=str)
def test_a_token_is_invalid_elsewhere(vault: Vault, scope: Scope) -> None:
    tokens = Tokens(vault)
    with pytest.raises(InvalidToken):
        tokens.open(tokens.seal(b"x", scope=HERE), scope=scope)


def test_a_token_has_one_writing(vault: Vault) -> None:
    tokens = Tokens(vault)
    for size in range(6):
        token = tokens.seal(bytes(size), scope=HERE)
        for other in (token + "=", token + "A", " " + token, token + "\n", token[:-1], token + "==", token.swapcase()):
            with pytest.raises(InvalidToken):
                tokens.open(other, scope=HERE)
        for last in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_":
            if last != token[-1]:
                with pytest.raises(InvalidToken):
                    tokens.open(token[:-1] + last, scope=HERE)


@pytest.mark.parametrize("token", ["", "a", "abc+", "abc/", "é", "\u0661", "A" * 5, "=", "%00", "a b"])
def test_what_is_no_token(vault: Vault, token: str) -> None:
    with pytest.raises(InvalidToken):
        Tokens(vault).open(token, scope=HERE)
