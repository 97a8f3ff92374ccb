"""Dead letters: messages set aside with the reason, to be seen, redriven or deleted.

A dead letter is an edge, in the order of failing, and a row by which its entry id leads there; both are written in the
transaction that takes the message out of its queue, and removed in the one that puts it back.
"""

from collections.abc import Sequence

from broker import keys
from broker.crypto import Scope, Vault
from broker.errors import BrokerError, InvalidToken, NotFound
from broker.ids import Ids
from broker.listing import Listing, PageRequest
from broker.queues.contents import ANSWER_MOST, Content, Contents, weight
from broker.queues.kinds import Published
from broker.queues.letters import DeadLetter, Redrives, letter_answer, letter_edge, open_letter
from broker.queues.models import DeadLetterAnswer, RedriveRequest
from broker.queues.queue import Queue
from broker.tokens import Tokens
from edge import Edge, EdgeTable, Operation, Position, Row, StateTable, TransactionRefused, remaining_seconds

COUNT_MOST = 10_000
REDRIVE_MOST = 100
_READ = 25
_ID_MOST = 200
_STOP_SECONDS = 3.0


class DeadLetters:
    """The dead letters of all queues."""

    def __init__(
        self, *, state: StateTable, edges: EdgeTable, contents: Contents, vault: Vault, tokens: Tokens
    ) -> None:
        self._state = state
        self._edges = edges
        self._contents = contents
        self._vault = vault
        self._tokens = tokens

    def entry_operations(self, queue_id: str, letter: DeadLetter, *, tenant_id: str) -> list[Operation]:
        """Set a message aside, once; for the transaction that takes it out of the queue.

        The first operation refuses when there is a dead letter of this entry id already.
        """
        edge = letter_edge(letter, tenant_id=tenant_id, queue_id=queue_id, vault=self._vault)
        row: Row = {"pk": keys.dead(queue_id), "sk": letter.entry_id, "failed_at": letter.failed_at}
        return [
            self._state.put_operation(row, condition="attribute_not_exists(#pk)"),
            self._edges.insert_operation(edge),
        ]

    def listed(self, queue: Queue, request: PageRequest) -> Listing[DeadLetterAnswer]:
        """A page of dead letters, oldest first; it ends early, with a token, at 4 MiB.

        Raises:
            InvalidToken: The token is of another list.
        """
        scope = Scope(queue.tenant_id, queue.queue_id, "dlq")
        resume = None
        if request.next_token is not None:
            resume = _position(self._tokens.open(request.next_token, scope=scope).decode())
        page = self._edges.scan(
            keys.dead_letters(queue.queue_id),
            resume=resume,
            limit=request.limit,
            max_run=request.limit,
            max_weight=ANSWER_MOST,
            weigh=lambda edge: weight(edge.attributes),
        )
        letters = [self._read(queue, edge) for edge in page.edges]
        contents = self._open(queue, letters)
        token = None
        if page.has_next and page.resume is not None:
            token = self._tokens.seal(page.resume.text().encode(), scope=scope)
        return Listing([letter_answer(*pair) for pair in zip(letters, contents, strict=True)], token)

    def count(self, queue_id: str) -> int:
        """How many there are, counted up to 10,001."""
        return len(self._edges.positions(keys.dead_letters(queue_id), most=COUNT_MOST + 1))

    def redrive_one(self, queue: Queue, entry_id: str, *, by: Redrives, ids: Ids) -> Published:
        """Put one dead letter back into the queue.

        Raises:
            NotFound: There is none of this id.
            BrokerError: The queue refuses the message; the letter stays.
        """
        letter = self._find(queue, entry_id)
        (content,) = self._open(queue, [letter])
        return by.redrive(queue, letter, content, removal=self.removal_operations(queue.queue_id, letter), ids=ids)

    def redrive(
        self, queue: Queue, request: RedriveRequest, *, by: Redrives, ids: Ids
    ) -> list[tuple[str, Published | BrokerError]]:
        """Put dead letters back into the queue: those named, or the oldest (of one reason), at most `limit`.

        Returns one outcome per letter tried. It ends early when time does; what was not tried is not in the answer.
        """
        limit = request.limit or REDRIVE_MOST
        if request.entry_ids is not None:
            wanted = list(dict.fromkeys(request.entry_ids))[:limit]
            letters: list[DeadLetter | str] = [self._find_or_id(queue, entry_id) for entry_id in wanted]
        else:
            letters = list(self._oldest(queue, reason=request.reason, limit=limit))
        outcomes: list[tuple[str, Published | BrokerError]] = []
        for letter in letters:
            if remaining_seconds() < _STOP_SECONDS:
                break
            if isinstance(letter, str):
                outcomes.append((letter, NotFound()))
            elif request.reason is None or letter.reason == request.reason:
                outcomes.append((letter.entry_id, self._redrive(queue, letter, by=by, ids=ids)))
        return outcomes

    def delete(self, queue: Queue, entry_id: str) -> None:
        """Delete one for good.

        Raises:
            NotFound: There is none of this id.
        """
        letter = self._find(queue, entry_id)
        try:
            self._state.transact(self.removal_operations(queue.queue_id, letter))
        except TransactionRefused as error:
            raise NotFound(f"There is no dead letter {entry_id}.") from error
        self._contents.discard([letter.body])

    def empty(self, queue_id: str) -> bool:
        """Delete all, as far as time allows; True when nothing is left. Repeatable."""
        source = keys.dead_letters(queue_id)
        while True:
            found = self._edges.scan(source, limit=_READ, max_run=_READ).edges
            if not found:
                return True
            if remaining_seconds() < _STOP_SECONDS:
                return False
            rows = [self._state.delete_operation(keys.dead(queue_id), edge.id) for edge in found]
            edges = [self._edges.delete_operation(source, edge.position) for edge in found]
            self._state.transact(rows + edges)
            self._contents.discard([edge.attributes for edge in found])

    def removal_operations(self, queue_id: str, letter: DeadLetter) -> list[Operation]:
        """Take a dead letter away; the first operation refuses when it is gone already."""
        position = Position(letter.failed_at, letter.entry_id)
        return [
            self._edges.delete_operation(keys.dead_letters(queue_id), position, must_exist=True),
            self._state.delete_operation(keys.dead(queue_id), letter.entry_id),
        ]

    def _redrive(self, queue: Queue, letter: DeadLetter, *, by: Redrives, ids: Ids) -> Published | BrokerError:
        (content,) = self._open(queue, [letter])
        removal = self.removal_operations(queue.queue_id, letter)
        try:
            return by.redrive(queue, letter, content, removal=removal, ids=ids)
        except BrokerError as error:
            return error

    def _find_or_id(self, queue: Queue, entry_id: str) -> DeadLetter | str:
        try:
            return self._find(queue, entry_id)
        except NotFound:
            return entry_id

    def _find(self, queue: Queue, entry_id: str) -> DeadLetter:
        row = self._state.get(keys.dead(queue.queue_id), entry_id) if 0 < len(entry_id) <= _ID_MOST else None
        if row is not None:
            failed_at = int(str(row["failed_at"]))
            source = keys.dead_letters(queue.queue_id)
            before = Position(failed_at, _just_before(entry_id))
            for edge in self._edges.scan(source, resume=before, until=failed_at, limit=1, max_run=1).edges:
                if edge.id == entry_id:
                    return self._read(queue, edge)
        raise NotFound(f"There is no dead letter {entry_id}.")

    def _oldest(self, queue: Queue, *, reason: str | None, limit: int) -> list[DeadLetter]:
        found: list[DeadLetter] = []
        resume: Position | None = None
        while len(found) < limit and remaining_seconds() > _STOP_SECONDS:
            page = self._edges.scan(keys.dead_letters(queue.queue_id), resume=resume, limit=_READ, max_run=_READ)
            letters = [self._read(queue, edge) for edge in page.edges]
            found += [letter for letter in letters if reason is None or letter.reason == reason]
            resume = page.resume
            if not page.has_next:
                break
        return found[:limit]

    def _open(self, queue: Queue, letters: Sequence[DeadLetter]) -> list[Content | None]:
        return self._contents.open_all(
            [(letter.message_id, letter.body) for letter in letters],
            tenant_id=queue.tenant_id,
            queue_id=queue.queue_id,
        )

    def _read(self, queue: Queue, edge: Edge) -> DeadLetter:
        return open_letter(edge, tenant_id=queue.tenant_id, queue_id=queue.queue_id, vault=self._vault)


def _position(text: str) -> Position:
    try:
        return Position.parse(text)
    except ValueError as error:
        raise InvalidToken from error


def _just_before(entry_id: str) -> str:
    """A text that no other id lies between and this one."""
    return entry_id[:-1] + chr(ord(entry_id[-1]) - 1) + "~"
