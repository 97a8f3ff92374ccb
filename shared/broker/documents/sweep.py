"""The sweep of the bucket: objects without a row go after a day, documents with their age when it is over.

Object keys begin with the queue's id and end with a document's, so that the bucket is walked queue by queue, in the
order of time. A run goes on where the one before ended.
"""

from collections.abc import Callable

from broker.documents import keys
from broker.documents.expiry import is_expired
from broker.documents.store import Store
from broker.errors import NotFound
from broker.ids import Clock, is_ulid
from broker.queues.depth import Depth
from broker.queues.queue import Queue
from edge import BlobStore, Row, StateTable, remaining_seconds

GRACE_SECONDS = 24 * 3600
"""Objects younger than this may still be waiting for their row."""

LOOKED_AT_SECONDS = 3 * GRACE_SECONDS
"""Objects older than this were looked at before, and are again only in a thorough walk."""

THOROUGH_SECONDS = 7 * GRACE_SECONDS
"""How often a walk looks at every object."""

_STOP_SECONDS = 5.0


class ObjectSweep:
    """The scheduled walk; bounded by the time left, harmless when run twice.

    Args:
        state: The rows.
        blobs: The bucket.
        store: Documents.
        depth: The counters of limited queues, which are put right on the way.
        find_queue: A queue by its id alone as it is now; raises NotFound.
        clock: The time.
    """

    def __init__(
        self,
        *,
        state: StateTable,
        blobs: BlobStore,
        store: Store,
        depth: Depth,
        find_queue: Callable[[str], Queue],
        clock: Clock,
    ) -> None:
        self._state = state
        self._blobs = blobs
        self._store = store
        self._depth = depth
        self._find_queue = find_queue
        self._clock = clock

    def run(self) -> int:
        """Walk on until the end of the bucket, or of the time; returns how many objects were removed."""
        mark = self._state.get(keys.SWEEPS, keys.OBJECTS) or {"after": "", "thorough_at": 0}
        after, thorough_at = str(mark["after"]), int(str(mark["thorough_at"]))
        removed = 0
        while remaining_seconds() > _STOP_SECONDS:
            found = self._blobs.listed(keys.BLOBS, after=after)
            thorough = self._clock() - thorough_at > THOROUGH_SECONDS * 1000
            by_queue: dict[str, list[tuple[str, int]]] = {}
            for key, stored_at in found:
                queue_id, _, document_id = key.removeprefix(keys.BLOBS).partition("/")
                if is_ulid(document_id):
                    by_queue.setdefault(queue_id, []).append((document_id, stored_at))
            for queue_id, objects in by_queue.items():
                removed += self._sweep(queue_id, objects, thorough=thorough)
            after = found[-1][0] if found else ""
            if not found and thorough:
                thorough_at = self._clock()
            self._state.put({"pk": keys.SWEEPS, "sk": keys.OBJECTS, "after": after, "thorough_at": thorough_at})
            if not found:
                break
        return removed

    def _sweep(self, queue_id: str, objects: list[tuple[str, int]], *, thorough: bool) -> int:
        now = self._clock()
        try:
            queue: Queue | None = self._find_queue(queue_id)
        except NotFound:
            queue = None
        expired = {one for one, _ in objects if queue is not None and is_expired(one, queue=queue, now=now)}
        suspects = {one for one, stored_at in objects if _is_suspect(now - stored_at, thorough=thorough)}
        asked = sorted(expired | suspects)
        rows = dict(zip(asked, self._state.get_many([(keys.documents(queue_id), one) for one in asked]), strict=True))
        removed = 0
        if queue is not None:
            doomed = [row for one, row in rows.items() if row is not None and one in expired]
            removed += self._store.discard(queue_id, self._store.remove_rows(queue, doomed))
            self._count(queue)
        orphans: list[Row] = [
            {"sk": one, "watched": True} for one, row in rows.items() if row is None and one in suspects
        ]
        return removed + self._store.discard(queue_id, orphans)

    def _count(self, queue: Queue) -> None:
        """Put the counter of a queue right where its limit came or went while documents did."""
        if queue.settings.model_dump().get("max_queue_depth") is None:
            self._depth.forget(queue.queue_id)
        else:
            self._depth.repair(queue.queue_id, count=lambda: self._store.count(queue.queue_id))


def _is_suspect(age: int, *, thorough: bool) -> bool:
    """Whether an object of this age, in milliseconds, is asked for its row: once in its life as a rule."""
    return age > GRACE_SECONDS * 1000 and (thorough or age < LOOKED_AT_SECONDS * 1000)
