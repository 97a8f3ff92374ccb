"""To-one queues without HTTP: several nodes, each with services and a clock of its own, over one storage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker import jsontext
from broker.caller import Caller
from broker.crypto import Vault
from broker.errors import BrokerError
from broker.ids import MonotonicIds
from broker.lanes.alone import Alone
from broker.lanes.consuming import Consuming
from broker.lanes.counts import Counting
from broker.lanes.departures import Departures
from broker.lanes.keeping import Keeping
from broker.lanes.leases import Leases
from broker.lanes.publishing import Publishing
from broker.lanes.room import Room
from broker.lanes.service import Lanes
from broker.lanes.settling import Settling
from broker.lanes.shared import Shared
from broker.lanes.traces import Traces
from broker.lanes.upkeep import Upkeep
from broker.queues.contents import Contents
from broker.queues.deadletters import DeadLetters
from broker.queues.depth import Depth
from broker.queues.kinds import Payload
from broker.queues.models import ConsumeRequest, ExtendRequest, LeaseRequest, NackRequest
from broker.queues.primarykeys import PrimaryKeys
from broker.queues.queue import Queue
from broker.queues.receipts import Receipts
from broker.queues.settings import OneToOneSettings
from broker.tokens import Tokens
from edge import BlobStore, EdgeTable, Retry, StateTable
from tests.streams import OneKey
from tests.worlds import START, Engine, World

TENANT = "01KB9Z0000000000000000000T"
CALLER = Caller("client", TENANT, "01KB9Z0000000000000000000C")


def lane_queue(queue_id: str = "01KB9Z0000000000000000000Q", **settings: Any) -> Queue:
    """A queue that no registry knows."""
    model = OneToOneSettings.model_validate(settings)
    return Queue(
        TENANT, queue_id, "orders", "one_to_one", None, model, enabled=True, created_at=START, updated_at=START
    )


@dataclass
class Node:
    """The services of one process.

    Attributes:
        world: Where the tables are.
        clock: This process's time.
        retry: How it retries; it does not wait by default.
        sleep: How it waits for room.
    """

    world: World | Engine
    clock: Callable[[], int]
    retry: Retry | None = None
    sleep: Callable[[float], None] = lambda _: None

    def __post_init__(self) -> None:
        retry = self.retry or Retry(sleep=lambda _: None)
        dynamodb = self.world.client("dynamodb")
        state = self.state = StateTable(self.world.state_table, client=dynamodb, retry=retry)
        edges = self.edges = EdgeTable(self.world.edges_table, client=dynamodb, retry=retry)
        blobs = BlobStore(self.world.bucket, client=self.world.client("s3"), retry=retry)
        self.ids = MonotonicIds(self.clock)
        vault = Vault(OneKey())
        contents = Contents(vault=vault, blobs=blobs)
        self.letters = DeadLetters(state=state, edges=edges, contents=contents, vault=vault, tokens=Tokens(vault))
        self.depth = Depth(state=state, clock=self.clock)
        self.counting = Counting(state=state, edges=edges)
        traces = Traces(state=state)
        departures = Departures(letters=self.letters, traces=traces, contents=contents, depth=self.depth)
        leases = Leases(Tokens(vault))
        receipts = Receipts(state=state, clock=self.clock)
        self.lanes = Lanes(
            alone=Alone(state=state, receipts=receipts),
            shared=Shared(
                state=state,
                edges=edges,
                primary_keys=PrimaryKeys(state=state),
                receipts=receipts,
                clock=self.clock,
            ),
            publishing=Publishing(
                state=state,
                contents=contents,
                depth=self.depth,
                room=Room(state=state, departures=departures),
                departures=departures,
                counting=self.counting,
                receipts=receipts,
                clock=self.clock,
                sleep=self.sleep,
            ),
            consuming=Consuming(state=state, contents=contents, departures=departures, leases=leases, clock=self.clock),
            settling=Settling(state=state, traces=traces, departures=departures, leases=leases, clock=self.clock),
            keeping=Keeping(
                state=state,
                edges=edges,
                contents=contents,
                letters=self.letters,
                departures=departures,
                clock=self.clock,
            ),
            upkeep=Upkeep(
                state=state,
                departures=departures,
                depth=self.depth,
                counting=self.counting,
                room=Room(state=state, departures=departures),
                clock=self.clock,
            ),
        )

    def publish(self, queue: Queue, **payload: Any) -> str:
        """Publish one message; returns its id."""
        message = Payload(payload, jsontext.dumps(payload))
        return self.lanes.publish(queue, message, ids=self.ids, if_match=None).message_id

    def consume(self, queue: Queue, *, limit: int = 1) -> list[Any]:
        return list(self.lanes.consume(queue, ConsumeRequest(max_messages=limit), caller=CALLER)["messages"])

    def ack(self, queue: Queue, message: Any) -> None:
        request = LeaseRequest(lease_id=message["lease_id"])
        self.lanes.ack(queue, message["message_id"], request, caller=CALLER)

    def nack(self, queue: Queue, message: Any, **how: Any) -> None:
        request = NackRequest(lease_id=message["lease_id"], **how)
        self.lanes.nack(queue, message["message_id"], request, caller=CALLER)

    def extend(self, queue: Queue, message: Any, *, seconds: int) -> None:
        request = ExtendRequest(lease_id=message["lease_id"], seconds=seconds)
        self.lanes.extend(queue, message["message_id"], request, caller=CALLER)

    def dead(self, queue: Queue) -> list[str]:
        """The ids of the dead letters."""
        source = f"dlq#{queue.queue_id}"
        return [position.id for position in self.edges.positions(source)]


def code_of(work: Callable[[], object]) -> str:
    """The code of what a call was refused with, empty when it was not."""
    try:
        work()
    except BrokerError as error:
        return error.code
    return ""
