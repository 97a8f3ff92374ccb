"""Lists of State rows by page, with a `next_token` bound to the tenant, the queue and the filter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from broker.crypto import Scope
from broker.errors import InvalidToken
from broker.tokens import Tokens
from edge import Row, StateTable

T = TypeVar("T")

LIMIT_DEFAULT, LIMIT_MOST = 50, 200


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """One page; no token on the last one."""

    items: list[T]
    next_token: str | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """How much to list, and from where."""

    limit: int = LIMIT_DEFAULT
    next_token: str | None = None


class Lister:
    """Pages through the rows of one hash key in the order of their range key."""

    def __init__(self, *, state: StateTable, tokens: Tokens) -> None:
        self._state = state
        self._tokens = tokens

    def page(self, pk: str, *, prefix: str, scope: Scope, request: PageRequest, read: Callable[[Row], T]) -> Listing[T]:
        """One page of the rows whose range key begins with `prefix`.

        Args:
            pk: The hash key.
            prefix: What range keys begin with; may be empty.
            scope: What the token is bound to; its record id names the filter.
            request: Limit and token of the caller.
            read: Makes a listed thing of a row.

        Raises:
            InvalidToken: The token is of another list.
        """
        start: Row | None = None
        if request.next_token is not None:
            last = self._tokens.open(request.next_token, scope=scope).decode()
            if not last.startswith(prefix):
                raise InvalidToken
            start = {"pk": pk, "sk": last}
        page = (
            self._state.query(pk, prefix=prefix, limit=request.limit + 1, start=start)
            if prefix
            else (self._state.query(pk, limit=request.limit + 1, start=start))
        )
        rows = page.rows[: request.limit]
        more = len(page.rows) > request.limit or page.next is not None
        token = self._tokens.seal(str(rows[-1]["sk"]).encode(), scope=scope) if more and rows else None
        return Listing([read(row) for row in rows], token)
