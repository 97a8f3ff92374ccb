"""What operations cost: calls, capacity units, bytes, and the tables, buckets, keys and secrets they touch.

    with Ledger() as ledger:
        with ledger.operation("enqueue") as cost:
            handler(event, context)
    assert cost.calls == {"dynamodb.BatchWriteItem": 1}
    assert cost.write_units == 3
    print(ledger)

An operation is charged with every call that any client in any thread makes while its block is open, so the threads an
operation starts are counted, and operations that run at the same time are not told apart. Every attempt counts, also
those the SDK repeats and those that a fault (`tools.faults`) answers.

Capacity units come from the best source there is. On moto, whose own figures mean nothing, they are computed by
DynamoDB's rules from the items as they stood before and after. Other engines are asked for the units of writes; the
units of reads are computed from what was read, since few engines price a read by its size. Where even that cannot be
exact, as with a filter, the figure is the least it can have been and the call is listed in `inexact`.
"""

import collections
import dataclasses
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import Any

from tools import moto_threads
from tools.calls import Call, Outcome, Proceed, Watcher, watching
from tools.charges import READS, WRITES, Write, charge_reads, charge_writes, received, resources, sent, writes_of


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one or more operations cost.

    Attributes:
        calls: Number of attempts by `service.Operation`.
        read_units: DynamoDB read capacity units.
        write_units: DynamoDB write capacity units.
        bytes_sent: Bytes of request bodies.
        bytes_received: Bytes of answer bodies.
        resources: Names of the tables, buckets, keys and secrets.
        inexact: The calls whose units are a lower bound only.
    """

    calls: Mapping[str, int] = dataclasses.field(default_factory=dict)
    read_units: float = 0.0
    write_units: float = 0.0
    bytes_sent: int = 0
    bytes_received: int = 0
    resources: frozenset[str] = frozenset()
    inexact: frozenset[str] = frozenset()

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            dict(collections.Counter(self.calls) + collections.Counter(other.calls)),
            self.read_units + other.read_units,
            self.write_units + other.write_units,
            self.bytes_sent + other.bytes_sent,
            self.bytes_received + other.bytes_received,
            self.resources | other.resources,
            self.inexact | other.inexact,
        )

    def __str__(self) -> str:
        calls = ", ".join(f"{count} x {name}" for name, count in sorted(self.calls.items())) or "no calls"
        least = "at least " if self.inexact else ""
        return (
            f"{calls}; {least}{self.read_units:g} read and {self.write_units:g} write units; "
            f"{self.bytes_sent} bytes out, {self.bytes_received} in"
        )


class Operation:
    """One named operation that is being charged, or has been; its figures grow until its block ends."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cost = Cost()
        self._lock = threading.Lock()

    def charge(self, cost: Cost) -> None:
        """Add to what it cost so far."""
        with self._lock:
            self.cost += cost

    @property
    def calls(self) -> Mapping[str, int]:
        """Number of attempts by `service.Operation`."""
        return self.cost.calls

    @property
    def read_units(self) -> float:
        """DynamoDB read capacity units."""
        return self.cost.read_units

    @property
    def write_units(self) -> float:
        """DynamoDB write capacity units."""
        return self.cost.write_units

    @property
    def bytes_sent(self) -> int:
        """Bytes of request bodies."""
        return self.cost.bytes_sent

    @property
    def bytes_received(self) -> int:
        """Bytes of answer bodies."""
        return self.cost.bytes_received

    @property
    def resources(self) -> frozenset[str]:
        """Names of the tables, buckets, keys and secrets."""
        return self.cost.resources

    @property
    def inexact(self) -> frozenset[str]:
        """The calls whose units are a lower bound only."""
        return self.cost.inexact

    def __str__(self) -> str:
        return f"{self.name}: {self.cost}"


class Ledger(Watcher):
    """Charges named operations with the calls made while they are open. A context manager; see the module."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._open: tuple[Operation, ...] = ()
        self._lock = threading.Lock()
        self._watching: AbstractContextManager[None] | None = None

    def __enter__(self) -> "Ledger":
        self._watching = watching(self, outermost=True)
        self._watching.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watching is not None:
            self._watching.__exit__(kind, error, trace)

    @contextmanager
    def operation(self, name: str) -> Iterator[Operation]:
        """Charge what is done in this block to a new operation of this name; blocks may be nested."""
        operation = Operation(name)
        with self._lock:
            self._open = (*self._open, operation)
            self.operations.append(operation)
        try:
            yield operation
        finally:
            with self._lock:
                self._open = tuple(one for one in self._open if one is not operation)

    def total(self, name: str) -> Cost:
        """What all operations of this name cost together."""
        return sum((one.cost for one in self.operations if one.name == name), Cost())

    def __str__(self) -> str:
        counts = collections.Counter(operation.name for operation in self.operations)
        return "\n".join(f"{count} x {name}: {self.total(name)}" for name, count in counts.items())

    def prepare(self, service: str, operation: str, request: dict[str, Any]) -> None:
        """Ask an engine whose figures mean something for what the call consumed."""
        if service == "dynamodb" and operation in READS | WRITES and not moto_threads.answers(request["url"]):
            document = {"ReturnConsumedCapacity": "TOTAL", **json.loads(request["body"])}
            request["body"] = json.dumps(document).encode()

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Make the call and charge it."""
        operations = self._open
        if not operations:
            return proceed(call)
        outcome: Outcome = (None, None)
        writes = writes_of(call)
        try:
            outcome = proceed(call)
        finally:
            cost = _cost(call, outcome, writes)
            for operation in operations:
                operation.charge(cost)
        return outcome


def _cost(call: Call, outcome: Outcome, writes: list[Write]) -> Cost:
    answer, _ = outcome
    cost = Cost({call.name: 1}, bytes_sent=sent(call), resources=resources(call))
    if answer is None:
        return cost
    _, parsed = answer
    reading, reading_exact = charge_reads(call, parsed)
    writing, writing_exact = charge_writes(call, parsed, writes)
    return dataclasses.replace(
        cost,
        read_units=reading,
        write_units=writing,
        bytes_received=received(answer),
        inexact=frozenset() if reading_exact and writing_exact else frozenset({call.name}),
    )
