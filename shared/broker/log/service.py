"""Enqueue, poll, commit: what queue/v1 does with messages."""

from collections.abc import Sequence

import xxhash

from broker import jsontext, keys, times
from broker.caller import Caller
from broker.crypto import Scope
from broker.errors import (
    NotNow,
    PayloadTooDeep,
    PayloadTooLarge,
    Throttled,
    TooManyEntries,
    Unavailable,
    ValidationFailed,
)
from broker.ids import Ids, moment
from broker.jsontext import Raw
from broker.log.commit import Commits
from broker.log.cursor import Cursor
from broker.log.definitions import Definitions, Log
from broker.log.models import (
    ENTRIES_MOST,
    CommitAnswer,
    EnqueueAnswer,
    EnqueueEntry,
    EnqueueResult,
    MessageAnswer,
    PartitionStats,
    PollAnswer,
    StatsAnswer,
)
from broker.records import Records, Sealed, store_blobs, weigh
from broker.tokens import Tokens
from edge import BlobStore, Edge, EdgeError, EdgeTable, EdgeUnavailable, Position
from edge.threads import side_by_side

VALUE_MOST = 1024 * 1024
COUNTED_MOST = 10_000
_AFTER_ALL_IDS = "~"


def partition_of(key: str, *, partitions: int) -> int:
    """Where messages of a key go: unsigned xxHash32 of its UTF-8 bytes, seed 0, modulo the partitions."""
    return xxhash.xxh32_intdigest(key.encode(), seed=0) % partitions


class LogService:
    """The messages of all logs."""

    def __init__(
        self, *, definitions: Definitions, edges: EdgeTable, blobs: BlobStore, records: Records, tokens: Tokens
    ) -> None:
        self.definitions = definitions
        self._edges = edges
        self._blobs = blobs
        self._records = records
        self._tokens = tokens
        self._commits = Commits(edges=edges, blobs=blobs)

    def enqueue(
        self, caller: Caller, namespace: str, queue: str, *, entries: Sequence[EnqueueEntry], ids: Ids
    ) -> EnqueueAnswer:
        """Append messages, each to the partition of its key, and say where each went.

        Raises:
            NotFound, Forbidden, QueueDisabled: As `Definitions.find_enabled`.
            PayloadTooDeep, PayloadTooLarge, TooManyEntries: An entry is over a limit; nothing was stored.
            Throttled, Unavailable: Nothing could be stored; `results` says so for every entry.
        """
        log = self.definitions.find_enabled(caller, namespace, queue, action="publish")
        if len(entries) > ENTRIES_MOST:
            raise TooManyEntries(f"At most {ENTRIES_MOST} messages fit one request.")
        values = [_value_text(entry, index=index) for index, entry in enumerate(entries)]
        partitions = [partition_of(entry.key, partitions=log.partitions) for entry in entries]
        records = [
            self._records.seal(
                value,
                tenant_id=log.tenant_id,
                queue_id=log.queue_id,
                source=keys.log_source(log.queue_id, partition=partition),
                seq=entry.seq,
                record_id=ids(),
            )
            for entry, value, partition in zip(entries, values, partitions, strict=True)
        ]
        failures = self._store(records)
        results = [
            _result(record, partition=partition, failure=failure)
            for record, partition, failure in zip(records, partitions, failures, strict=True)
        ]
        accepted = sum(failure is None for failure in failures)
        if not accepted and failures[0] is not None:
            raise _refusal_of(failures[0])(results=results)
        return {"accepted": accepted, "results": results}

    def poll(
        self,
        caller: Caller,
        namespace: str,
        queue: str,
        *,
        partition: int,
        offset: int | None,
        until: int | None,
        limit: int,
        cursor: str | None,
    ) -> PollAnswer:
        """Read one partition forward from an offset (exclusive) or a cursor, up to `until` (inclusive).

        Committing the offset or the cursor of the answer deletes nothing that was not in it or before it.

        Raises:
            NotFound, Forbidden, QueueDisabled: As `Definitions.find_enabled`.
            InvalidToken: The cursor is not of this partition.
        """
        log = self.definitions.find_enabled(caller, namespace, queue, action="consume")
        _check_partition(log, partition)
        previous = self._open(log, partition, cursor) if cursor is not None else None
        if previous and offset is not None:
            raise ValidationFailed.of("cursor", "cannot be combined with offset")
        page = self._edges.scan(
            keys.log_source(log.queue_id, partition=partition),
            after=previous.offset if previous else offset,
            resume=previous.last if previous else None,
            until=until,
            limit=limit,
            weigh=weigh,
        )
        if not page.edges:
            return {"messages": [], "offset": page.offset, "hasNext": False, "cursor": cursor}
        start = None if offset is None else Position(offset, _AFTER_ALL_IDS)
        positions = [edge.position for edge in page.edges]
        reached = Cursor.after(positions, offset=page.offset, start=start, previous=previous)
        return {
            "messages": self._messages(log, partition, page.edges),
            "offset": page.offset,
            "hasNext": page.has_next,
            "cursor": self._seal(log, partition, reached),
        }

    def commit(
        self, caller: Caller, namespace: str, queue: str, *, partition: int, offset: int | None, cursor: str | None
    ) -> CommitAnswer:
        """Delete a prefix for real: every message up to an offset, or what the polls behind a cursor returned.

        Raises:
            NotFound, Forbidden, QueueDisabled: As `Definitions.find_enabled`.
            InvalidToken: The cursor is not of this partition.
            EdgeUnavailable: Storage gave out half-way; what was deleted stays so, and the commit can be repeated.
        """
        log = self.definitions.find_enabled(caller, namespace, queue, action="consume")
        _check_partition(log, partition)
        if (offset is None) == (cursor is None):
            raise ValidationFailed.of("offset", "give either offset or cursor")
        source = keys.log_source(log.queue_id, partition=partition)
        if cursor is None:
            done = self._commits.offset(source, until=offset)
        else:
            done = self._commits.cursor(source, cursor=self._open(log, partition, cursor))
        answer: CommitAnswer = {"namespace": namespace, "queue": queue, "partition": partition, "committed": done.count}
        if not done.finished:
            answer["hasNext"] = True
        if done.rest is not None:
            answer["cursor"] = self._seal(log, partition, done.rest)
        return answer

    def stats(self, caller: Caller, namespace: str, queue: str) -> StatsAnswer:
        """What each partition holds; counts above 10,000 are approximate."""
        log = self.definitions.find(caller, namespace, queue, action=None)
        partitions = side_by_side(self._partition_stats, list(enumerate(log.sources())))
        return {"namespace": namespace, "queue": queue, "partitions": partitions}

    def _store(self, records: Sequence[Sealed]) -> list[EdgeError | None]:
        lost = store_blobs(records, blobs=self._blobs)
        ready = [record.edge for record in records if record.edge.id not in lost]
        stored = dict(zip((edge.id for edge in ready), self._edges.insert_many(ready), strict=True))
        return [lost.get(record.edge.id) or stored.get(record.edge.id) for record in records]

    def _messages(self, log: Log, partition: int, edges: Sequence[Edge]) -> list[MessageAnswer]:
        values = self._records.open_all(edges, tenant_id=log.tenant_id, queue_id=log.queue_id)
        log.count("Unreadable", sum(value is None for value in values))
        return [_message(edge, value, partition=partition) for edge, value in zip(edges, values, strict=True)]

    def _open(self, log: Log, partition: int, cursor: str) -> Cursor:
        return Cursor.decode(self._tokens.open(cursor, scope=_cursor_scope(log, partition)))

    def _seal(self, log: Log, partition: int, cursor: Cursor) -> str:
        return self._tokens.seal(cursor.encode(), scope=_cursor_scope(log, partition))

    def _partition_stats(self, numbered: tuple[int, str]) -> PartitionStats:
        number, source = numbered
        positions = self._edges.positions(source, most=COUNTED_MOST + 1)
        more = len(positions) > COUNTED_MOST
        last = self._edges.last(source) if more else None
        highest = last.position if last else positions[-1] if positions else None
        oldest = min((moment(position.id) for position in positions), default=None)
        return {
            "partition": number,
            "messages": min(len(positions), COUNTED_MOST),
            "approximate": more,
            "lowest_seq": positions[0].seq if positions else None,
            "highest_seq": highest.seq if highest else None,
            "oldest_enqueued_at": None if oldest is None else times.text(oldest),
        }


def _value_text(entry: EnqueueEntry, *, index: int) -> bytes:
    try:
        jsontext.check_depth(entry.value)
    except PayloadTooDeep as error:
        raise PayloadTooDeep(f"messages.{index}.value is nested more than {jsontext.MAX_DEPTH} levels deep.") from error
    text = jsontext.dumps(entry.value)
    if len(text) > VALUE_MOST:
        raise PayloadTooLarge(f"messages.{index}.value is over {VALUE_MOST} bytes.")
    return text


def _result(record: Sealed, *, partition: int, failure: EdgeError | None) -> EnqueueResult:
    if failure is None:
        return {"partition": partition, "id": record.edge.id, "status": "CREATED"}
    return {"partition": partition, "id": None, "status": "FAILED", "error": _refusal_of(failure).code}


def _refusal_of(failure: EdgeError) -> type[NotNow]:
    """Throttled says that the entry is not stored; where an answer was lost, only that this is not known."""
    surely_not = isinstance(failure, EdgeUnavailable) and failure.throttled and not failure.maybe_done
    return Throttled if surely_not else Unavailable


def _message(edge: Edge, value: bytes | None, *, partition: int) -> MessageAnswer:
    answer: MessageAnswer = {"partition": partition, "id": edge.id, "seq": edge.seq, "value": None}
    if value is None:
        return {**answer, "error": "unreadable"}
    return {**answer, "value": Raw(value.decode())}


def _cursor_scope(log: Log, partition: int) -> Scope:
    return Scope(log.tenant_id, log.queue_id, "cursor", str(partition))


def _check_partition(log: Log, partition: int) -> None:
    if not 0 <= partition < log.partitions:
        raise ValidationFailed.of("partition", f"must be 0 to {log.partitions - 1}")
