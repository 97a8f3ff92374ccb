"""To-many queues without HTTP: several nodes, each with services and a clock of its own, over one storage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker.caller import Caller
from broker.crypto import Vault
from broker.errors import BrokerError
from broker.ids import MonotonicIds
from broker.listing import Lister
from broker.queues.contents import Content, Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.kinds import Payload
from broker.queues.models import ConsumeRequest, LeaseRequest, NackRequest, SettleRequest
from broker.queues.primarykeys import PrimaryKeys
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.settings import OneToManySettings
from broker.streams.burying import Burying
from broker.streams.consumers import Consumers
from broker.streams.consuming import Consuming
from broker.streams.draft import Draft
from broker.streams.expiry import Expiry
from broker.streams.holders import Holders
from broker.streams.keeping import Keeping
from broker.streams.leases import Leases
from broker.streams.letters import Letters
from broker.streams.models import SeekRequest
from broker.streams.places import Places
from broker.streams.publishing import Publishing
from broker.streams.reading import Reader
from broker.streams.redriven import Redriven
from broker.streams.remains import Remains
from broker.streams.retention import Retention
from broker.streams.room import Room
from broker.streams.seeking import Seeking
from broker.streams.service import Streams
from broker.streams.settling import Settling
from broker.streams.tail import Tails
from broker.tokens import Tokens
from edge import BlobStore, EdgeTable, Retry, StateTable
from tests.worlds import START, Engine, World

TENANT = "01KB9Z0000000000000000000T"


class OneKey:
    """Data keys of tenants, without KMS."""

    def current(self, tenant_id: str) -> tuple[int, bytes]:  # noqa: ARG002  # all have the same
        return 1, b"k" * 32

    def version(self, tenant_id: str, version: int) -> bytes | None:  # noqa: ARG002  # as above
        return b"k" * 32 if version == 1 else None


def stream_queue(queue_id: str = "01KB9Z0000000000000000000Q", **settings: Any) -> Queue:
    """A queue that no registry knows."""
    model = OneToManySettings.model_validate(settings)
    return Queue(TENANT, queue_id, "news", "one_to_many", None, model, enabled=True, created_at=START, updated_at=START)


def consumer_id(name: str) -> str:
    """A client id for a name of one character."""
    return f"01KB9Z000000000000000000C{name.upper()}"


def caller(name: str) -> Caller:
    return Caller("client", TENANT, consumer_id(name))


@dataclass(frozen=True)
class _Known:
    """A registry of one queue."""

    queue: Queue

    def find(self, *_: object, **__: object) -> Queue:
        return self.queue

    load = find


@dataclass
class Node:
    """The services of one process.

    Attributes:
        world: Where the tables are.
        clock: This process's time.
        client: Its DynamoDB client, the world's by default.
    """

    world: World | Engine
    clock: Callable[[], int]
    retry: Retry | None = None

    def __post_init__(self) -> None:
        retry = self.retry or Retry(sleep=lambda _: None)
        dynamodb = self.world.client("dynamodb")
        self.state = StateTable(self.world.state_table, client=dynamodb, retry=retry)
        self.edges = EdgeTable(self.world.edges_table, client=dynamodb, retry=retry)
        bucket = self.world.resources.environment.get("BUCKET", "")  # dynalite has none
        self.blobs = BlobStore(bucket, client=self.world.client("s3") if bucket else None, retry=retry)
        self.ids = MonotonicIds(self.clock)
        stored: dict[str, Any] = {"state": self.state, "edges": self.edges}
        vault = Vault(OneKey())
        contents = Contents(vault=vault, blobs=self.blobs)
        self.tokens = Tokens(vault)
        self.letters = DeadLetters(**stored, contents=contents, vault=vault, tokens=self.tokens)
        self.tails = Tails(**stored, clock=self.clock)
        self.consumers = Consumers(state=self.state, clock=self.clock)
        letters = Letters(dead_letters=self.letters, state=self.state, blobs=self.blobs, vault=vault, ids=self.ids)
        expiry = Expiry(consumers=self.consumers, letters=letters)
        self.retention = Retention(edges=self.edges, tails=self.tails, expiry=expiry, clock=self.clock)
        self.reader = Reader(edges=self.edges, tails=self.tails, clock=self.clock)
        holders = Holders(state=self.state, primary_keys=PrimaryKeys(state=self.state), clock=self.clock)
        self.redriven = Redriven(**stored, blobs=self.blobs, clock=self.clock)
        self.burying = Burying(**stored, letters=letters, redriven=self.redriven, clock=self.clock)
        room = Room(state=self.state, tails=self.tails, retention=self.retention, retry=retry, clock=self.clock)
        receipts = Receipts(state=self.state, clock=self.clock)
        self.publishing = Publishing(
            **stored, contents=contents, tails=self.tails, room=room, holders=holders, receipts=receipts
        )
        leases = Leases(Tokens(vault))
        self.remains = Remains(
            **stored,
            blobs=self.blobs,
            holders=holders,
            redriven=self.redriven,
            dead_letters=self.letters,
            clock=self.clock,
        )
        self.keeping = Keeping(
            tails=self.tails,
            consumers=self.consumers,
            reader=self.reader,
            redriven=self.redriven,
            remains=self.remains,
            dead_letters=self.letters,
            clock=self.clock,
        )
        self.seeking = Seeking(edges=self.edges)
        self.streams = Streams(
            consuming=Consuming(
                consumers=self.consumers,
                reader=self.reader,
                redriven=self.redriven,
                burying=self.burying,
                expiry=expiry,
                contents=contents,
                leases=leases,
                clock=self.clock,
            ),
            settling=Settling(**stored, leases=leases, letters=letters, redriven=self.redriven, clock=self.clock),
            publishing=self.publishing,
            redriven=self.redriven,
            contents=contents,
        )

    def publish(self, queue: Queue, **members: Any) -> str:
        """Publish a message; returns its id."""
        value = members or {"n": 1}
        payload = Payload(value, str(value).replace("'", '"').encode())
        return self.publishing.publish(queue, payload, ids=self.ids).message_id

    def append(self, queue: Queue, message_id: str, *, key: str | None = None) -> str:
        """Append a message under an id of one's choice."""
        draft = Draft(message_id, Content(b'{"n":1}'), key=key)
        return self.publishing.append(queue, draft).message_id

    def consume(self, queue: Queue, name: str, *, limit: int = 1) -> Any:
        """What a consumer gets; no messages while it holds some."""
        return self.streams.consume(queue, ConsumeRequest(max_messages=limit), caller=caller(name))

    def seek(self, queue: Queue, name: str, target: str) -> None:
        """Move a consumer, as the tenant admin."""
        places = Places(
            registry=_Known(queue),  # type: ignore[arg-type]  # it is asked for this queue only
            lister=Lister(state=self.state, tokens=self.tokens),
            consumers=self.consumers,
            seeking=self.seeking,
            redriven=self.redriven,
            reader=self.reader,
            clock=self.clock,
        )
        places.seek(Caller("admin", TENANT, consumer_id("0")), queue.name, consumer_id(name), SeekRequest(seek=target))

    def ack(self, queue: Queue, name: str, message: Any) -> None:
        self.streams.ack(queue, message["message_id"], LeaseRequest(lease_id=message["lease_id"]), caller=caller(name))

    def nack(self, queue: Queue, name: str, message: Any, **body: Any) -> None:
        request = NackRequest(lease_id=message["lease_id"], **body)
        self.streams.nack(queue, message["message_id"], request, caller=caller(name))

    def settle(self, queue: Queue, name: str, messages: Any) -> None:
        """Ack messages in one call."""
        acks = [{"message_id": message["message_id"], "lease_id": message["lease_id"]} for message in messages]
        results = self.streams.settle(queue, SettleRequest.model_validate({"acks": acks}), caller=caller(name))
        assert [result["status"] for result in results] == [200] * len(messages)

    def drain(self, queue: Queue, name: str, *, limit: int = 10) -> list[str]:
        """Consume and ack until there is nothing; returns the ids."""
        seen: list[str] = []
        while messages := self.consume(queue, name, limit=limit)["messages"]:
            for message in messages:
                self.ack(queue, name, message)
                seen.append(message["message_id"])
        return seen


def code_of(call: Callable[[], object]) -> str:
    """The code that a call is refused with; empty when it is not."""
    try:
        call()
    except BrokerError as error:
        return error.code
    return ""
