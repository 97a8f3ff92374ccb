"""BatchWriteItem, with what it takes to have all of a batch processed."""

from typing import Any

from edge.errors import EdgeUnavailable
from edge.retry import Retry

WRITE_BATCH = 25
"""Requests that one call may carry."""


class Unprocessed(Exception):
    """Part of a batch is not known to be written.

    Attributes:
        items: The items of the put requests among them.
        error: Why.
    """

    def __init__(self, requests: list[dict[str, Any]], error: EdgeUnavailable) -> None:
        super().__init__(str(error))
        self.items = [request["PutRequest"]["Item"] for request in requests if "PutRequest" in request]
        self.error = error


class BatchWriter:
    """Puts and deletes of one table, up to `WRITE_BATCH` in a call."""

    def __init__(self, table: str, *, client: Any, retry: Retry) -> None:
        self._table = table
        self._client = client
        self._retry = retry

    def write(self, requests: list[dict[str, Any]]) -> None:
        """Carry out one batch, asking again for what the service leaves unprocessed.

        Raises:
            Unprocessed: The attempts or the time were used up first.
        """
        attempt = 0
        lost: list[bool] = []
        while True:
            try:
                answer = self._retry.call(
                    self._client.batch_write_item,
                    on_lost=lambda: lost.append(True),
                    RequestItems={self._table: requests},
                )
                requests = answer.get("UnprocessedItems", {}).get(self._table, [])
                if not requests:
                    return
                self._retry.pause_or_raise(attempt)
            except EdgeUnavailable as error:
                # What the last answer leaves unprocessed may stand all the same, by an earlier attempt.
                error.maybe_done = error.maybe_done or bool(lost)
                raise Unprocessed(requests, error) from error
            attempt += 1
