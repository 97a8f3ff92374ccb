"""A bounded load test: `make load`, two minutes. Faults are injected, workers are killed; nothing may be lost.

    python -m tools.load --seconds 120

Traffic over queues of all types comes from two dozen processes against the local server on ministack, whose storage
throttles, times out, loses answers, and whose functions die. Checked is that what was answered as stored is delivered,
readable, counted or copied; that nothing comes again after its ack or in disorder, and nothing is stored, joined,
counted or copied but once; that what was deleted stays deleted; that we answer no 5xx but 503; and that the server's
memory does not grow.

All processes keep journals. What is found is shown with what they say about it.
"""

import argparse
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tools.engine_process import ROOT
from tools.loading.journal import Fault, Journal, entries, story
from tools.loading.judging import Judge
from tools.loading.plan import prepare
from tools.loading.running import Server, Workers, serving

START_SECONDS, DRAIN_SECONDS = 60.0, 120.0
GROWTH = 1.1  # of resident memory from a third of the way to the end
WARM_SECONDS = 20.0  # a shorter run says nothing about memory: functions are still being imported
JOURNALS = ROOT / ".local" / "load"
_FAULTS_SHOWN, _LINES_SHOWN = 20, 60


@dataclass
class Outcome:
    """What came of it: faults that must not be, and figures to show."""

    faults: list[Fault] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)


def run(folder: Path, *, seconds: float, kill_every: float = 5.0) -> Outcome:
    """Make traffic for so long, then let the consumers finish, and look at what was noted.

    Args:
        folder: An empty folder, where the journals stay.
        seconds: How long; longer until something is stored in every queue.
        kill_every: Seconds between the deaths of workers.
    """
    with serving(folder) as server:
        setup = Journal(folder / "setup.journal")
        keys = prepare(server.credentials, setup)
        setup.close()
        workers, judge = Workers(folder, keys), Judge(folder, keys)
        try:
            server.inject(True)
            warm, end = _traffic(server, workers, judge, seconds=seconds, kill_every=kill_every)
            server.inject(False)
            workers.end_sources()
            follower = workers.journal("follow", "items")
            judge.supply()
            judge.drain(follower, seconds=DRAIN_SECONDS)
            outcome = Outcome(judge.faults(follower), judge.figures(seconds=seconds))
        finally:
            workers.end()
            judge.close()
    if end > GROWTH * warm:
        outcome.faults.append(Fault("", f"the server's memory grew from {warm} to {end} MB"))
    outcome.figures |= {
        "workers killed": workers.killed,
        "memory of the server, warm and at the end, in MB": (warm, end),
    }
    return outcome


def _traffic(server: Server, workers: Workers, judge: Judge, *, seconds: float, kill_every: float) -> tuple[int, int]:
    """Let them work, and kill one now and then; returns the server's megabytes when it was warm and at the end."""
    begun, warm = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        time.sleep(min(kill_every, seconds - passed))
        workers.kill_one()
        if not warm and passed > max(WARM_SECONDS, seconds / 3):
            warm = server.memory()
    while passed < START_SECONDS and not judge.begun():  # a busy machine starts processes slowly
        time.sleep(0.5)
        passed = time.monotonic() - begun
    end = server.memory()
    return warm or end, end


def main() -> int:
    """The command line; exits 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Two minutes of mixed traffic with faults injected.")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--keep", type=Path, default=JOURNALS, help="the folder for the journals; emptied first")
    given = parser.parse_args()
    shutil.rmtree(given.keep, ignore_errors=True)
    given.keep.mkdir(parents=True)
    outcome = run(given.keep, seconds=given.seconds)
    for name, figure in outcome.figures.items():
        print(f"{name}: {figure}")
    noted = entries(given.keep.glob("*.journal")) if outcome.faults else []
    for fault in outcome.faults[:_FAULTS_SHOWN]:
        print(f"FAULT {fault}")
        for line in story(noted, fault.name)[-_LINES_SHOWN:] if fault.name else []:
            print(f"    {line}")
    if outcome.faults:
        print(f"{len(outcome.faults)} faults; the journals are in {given.keep}")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
