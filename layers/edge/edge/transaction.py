"""Two or more items that must change together, or not at all."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edge.retry import Retry


@dataclass(frozen=True, slots=True)
class Operation:
    """One write or check of a transaction, made by `StateTable.*_operation` and `EdgeTable.*_operation`."""

    kind: str
    request: dict[str, Any]


def transact(client: Any, *, operations: Sequence[Operation], retry: Retry) -> None:
    """Carry out all operations (1 to 100, each on another item), or none.

    A lost answer is harmless: every attempt carries the same request token, which the service honours for ten
    minutes.

    Raises:
        TransactionRefused: A condition did not hold; nothing was written.
        EdgeUnavailable: Conflicts, throttling or failures outlasted the retries.
    """
    retry.call(
        client.transact_write_items,
        TransactItems=[{operation.kind: operation.request} for operation in operations],
        ClientRequestToken=secrets.token_hex(16),
    )
