"""Bodies too big for an item, as objects in one bucket."""

import functools
from collections.abc import Sequence
from typing import Any

from edge.clients import make_client
from edge.errors import BlobMissing, EdgeUnavailable
from edge.retry import Retry, remaining_seconds
from edge.threads import side_by_side

DELETE_BATCH = 1000
_STOP_SECONDS = 2.0
LIST_PAGE = 1000


class BlobStore:
    """Whole objects by key. Keys are made of ids only; contents are opaque and already encrypted."""

    def __init__(self, bucket: str, *, client: Any = None, retry: Retry | None = None) -> None:
        self._bucket = bucket
        self._retry = retry or Retry()
        self._given = client

    @functools.cached_property
    def client(self) -> Any:
        """The S3 client, made at first use: most calls never need it."""
        return self._given or make_client("s3")

    def put(self, key: str, body: bytes) -> None:
        """Store an object; it is durable when this returns, and replaces one under the same key."""
        self._retry.call(self.client.put_object, Bucket=self._bucket, Key=key, Body=body)

    def get(self, key: str) -> bytes:
        """The object's bytes.

        Raises:
            BlobMissing: There is none.
        """

        def read() -> bytes:
            answer = self.client.get_object(Bucket=self._bucket, Key=key)
            return answer["Body"].read()  # type: ignore[no-any-return]  # botocore is untyped

        return self._retry.call(read)  # type: ignore[no-any-return]  # as above

    def get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        """The objects' bytes in the order of the keys, None where there is none, read side by side."""

        def get(key: str) -> bytes | None:
            try:
                return self.get(key)
            except BlobMissing:
                return None

        return side_by_side(get, keys)

    def put_many(self, objects: Sequence[tuple[str, bytes]]) -> list[EdgeUnavailable | None]:
        """Store objects side by side; one answer each, in order: None, or why it may not be there."""

        def put(entry: tuple[str, bytes]) -> EdgeUnavailable | None:
            try:
                self.put(entry[0], entry[1])
            except EdgeUnavailable as error:
                return error
            return None

        return side_by_side(put, objects)

    def listed(self, prefix: str, *, after: str = "", limit: int = LIST_PAGE) -> list[tuple[str, int]]:
        """Objects whose keys begin with `prefix` and come after `after`, in order: key, and when it was stored.

        At most `limit` of them, 1 to 1000; none are left when there are fewer. Moments are epoch milliseconds.
        """
        answer = self._retry.call(
            self.client.list_objects_v2, Bucket=self._bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit
        )
        return [(entry["Key"], round(entry["LastModified"].timestamp() * 1000)) for entry in answer.get("Contents", ())]

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; ones that are not there are no error."""
        for start in range(0, len(keys), DELETE_BATCH):
            batch = keys[start : start + DELETE_BATCH]
            objects = {"Objects": [{"Key": key} for key in batch], "Quiet": True}
            answer = self._retry.call(self.client.delete_objects, Bucket=self._bucket, Delete=objects)
            if answer.get("Errors"):
                raise EdgeUnavailable(f"{len(answer['Errors'])} objects were not deleted")

    def delete_under(self, prefix: str) -> bool:
        """Remove every object whose key begins with `prefix`; False when time ran out before the last one.

        This finds also what a process left that died between a row and its object.
        """
        while True:
            page = self._retry.call(self.client.list_objects_v2, Bucket=self._bucket, Prefix=prefix)
            self.delete([entry["Key"] for entry in page.get("Contents", ())])
            if not page.get("IsTruncated"):
                return True
            if remaining_seconds() < _STOP_SECONDS:
                return False
