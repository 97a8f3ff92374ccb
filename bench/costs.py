"""What a million operations cost: units and calls counted by the ledger, times the list prices of us-east-1.

The table is the one of docs/operations.md; a test keeps the two the same.
"""

import math
import os
from dataclasses import dataclass

from bench.priced import KINDS, Scheduled
from tests.processes import Process
from tests.worlds import ManualClock, moto_world
from tools.ledger import Cost, Ledger

# US dollars for a million of each; on demand, the first tier, without free allowances.
API_REQUEST = 1.00
LAMBDA_REQUEST = 0.20
LAMBDA_GB_SECOND = 16.6667
READ_UNIT = 0.125
WRITE_UNIT = 0.625
OBJECT_WRITE = 5.00
OBJECT_READ = 0.40
KEY_REQUEST = 3.00
LOG_KILOBYTE = 0.50

MEMORY_GB = 1.0
HANDLER_SECONDS = 0.005  # our own work, as make bench measures it, on Lambda's slower processor
CALL_SECONDS = 0.005  # one AWS call inside a region
LOG_KILOBYTES = 0.65  # the access log's line and Lambda's own three


@dataclass(frozen=True)
class Row:
    """One operation: whose, what, what one of it uses, and whether it is a request."""

    kind: str
    operation: str
    cost: Cost
    request: bool = True

    @property
    def calls(self) -> int:
        """AWS calls."""
        return sum(self.cost.calls.values())

    @property
    def dollars(self) -> float:
        """For a million of them."""
        calls = self.cost.calls
        seconds = HANDLER_SECONDS + self.calls * CALL_SECONDS
        return (
            (API_REQUEST + LAMBDA_REQUEST + LOG_KILOBYTE * LOG_KILOBYTES) * self.request
            + LAMBDA_GB_SECOND * MEMORY_GB * seconds
            + READ_UNIT * self.cost.read_units
            + WRITE_UNIT * self.cost.write_units
            + OBJECT_WRITE * calls.get("s3.PutObject", 0)
            + OBJECT_READ * calls.get("s3.GetObject", 0)
            + KEY_REQUEST * sum(count for name, count in calls.items() if name.startswith("kms."))
        )

    def __str__(self) -> str:
        units = f"{self.cost.read_units:g} | {self.cost.write_units:g}"
        return (
            f"| {self.kind} | {self.operation} | {self.calls} | {units} | {math.ceil(self.dollars * 100) / 100:.2f} |"
        )


HEAD = "| type | operation | AWS calls | read units | write units | US$ per million |\n|---|---|---|---|---|---|"


def measure(process: Process, *, clock: ManualClock, key: str) -> list[Row]:
    """Every operation of every type, once, warm.

    Args:
        process: Where the functions run; its world is empty but for the tenant.
        clock: The process's; it moves little, so that what is warm stays warm.
        key: The key of a tenant's admin.
    """
    rows = []
    with Ledger() as ledger:
        for kind, steps in KINDS.items():
            for operation, call in steps(process, key):
                clock.advance(milliseconds=1)
                if isinstance(call, Scheduled):
                    rows.append(Row(kind, operation, _one_more(call, ledger), request=False))
                    continue
                with ledger.operation(operation) as charged:
                    reply = call()
                if reply.status >= 400:
                    raise RuntimeError(f"{kind}, {operation}: {reply}")
                rows.append(Row(kind, operation, charged.cost))
    return rows


def _one_more(work: Scheduled, ledger: Ledger) -> Cost:
    """What a run that does two things uses beyond a run that does one."""
    runs = []
    for count in (1, 2):
        for _ in range(count):
            work.prepare()
        with ledger.operation("run") as charged:
            work.run()
        runs.append(charged.cost)
    one, two = runs
    return Cost(
        {name: count - one.calls[name] for name, count in two.calls.items()},
        two.read_units - one.read_units,
        two.write_units - one.write_units,
    )


def report(rows: list[Row]) -> str:
    """The table, as Markdown."""
    return "\n".join([HEAD, *map(str, rows)])


def run() -> None:
    """Print the table."""
    with moto_world() as world:
        os.environ["POWERTOOLS_LOG_LEVEL"] = "WARNING"  # the schedules have a line for each run
        clock = ManualClock()
        process = Process(clock=clock)
        tenant = process.tenant(platform_key=f"platform.{world.platform_key}")
        print(report(measure(process, clock=clock, key=tenant.key)))
