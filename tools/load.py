"""A bounded load test: `make load`, two minutes. Faults are injected, workers are killed; nothing may be lost.

    python -m tools.load --seconds 120

Traffic over log, to-one, to-many and series queues comes from several processes against the local server on ministack,
whose storage throttles, times out, loses answers, and whose functions die. Checked is that every message that was
acknowledged is delivered, that none comes again after its ack and no delivery goes to two, that points are counted
once, that we answer no 5xx but 503, and that the server's memory does not grow.
"""

import argparse
import contextlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tools.engine_process import ROOT, free_port
from tools.loading import verdict
from tools.loading.workers import Api, Journal
from tools.ministack import ministack
from tools.serving.credentials import Credentials, read_credentials

DRAIN_SECONDS = 45.0
GROWTH = 1.25  # of resident memory from a third of the way to the end
WARM_SECONDS = 20.0  # a shorter run says nothing about memory: functions are still being imported
WORKERS = [
    ("produce", "log"),
    ("follow", "log"),
    ("produce", "to_one"),
    ("produce", "to_one"),
    ("consume", "to_one"),
    ("consume", "to_one"),
    ("produce", "to_many"),
    ("consume", "to_many"),
    ("produce", "series"),
]
SETTINGS: dict[str, tuple[str, dict[str, object]]] = {
    "to_one": ("one_to_one", {"visibility_key": ["key"], "consume_ttl_seconds": 2, "max_deliveries": 1000}),
    "to_many": ("one_to_many", {"consume_ttl_seconds": 2, "max_deliveries": 1000}),
    "series": (
        "time_series",
        {"interval_seconds": 86400, "aggregation_fields": ["n"], "timestamp_field": "at"},
    ),
}


@dataclass
class Outcome:
    """What came of it: faults that must not be, and figures to show."""

    faults: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", Credentials]]:
    for name in ("functions", "layers", "shared"):
        (folder / name).symlink_to(ROOT / name)
    template = Path(shutil.copy(ROOT / "template.yaml", folder))
    port = free_port()
    with ministack() as backend:
        environment = {"PATH": "/usr/bin:/bin", "PORT": str(port), "TEMPLATE": str(template), "BACKEND": backend}
        command = [sys.executable, "-m", "tools.loading.server"]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        try:
            yield process, _ready(process, port=port, kept=folder / ".local" / "credentials.json")
        finally:
            process.terminate()
            process.wait(30)


def _ready(process: "subprocess.Popen[bytes]", *, port: int, kept: Path) -> Credentials:
    for _ in range(600):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            if (credentials := read_credentials(kept)) is not None:
                return credentials
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("the server did not start")


def _memory(process: "subprocess.Popen[bytes]") -> int:
    """Resident kilobytes."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0])


def run(*, seconds: float, kill_every: float = 5.0) -> Outcome:
    """Make traffic for so long, then let the consumers finish, and look at what was noted."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="towpath-load-") as scratch, _server(_folder(scratch)) as (server, who):
        folder = Path(scratch)
        api = Api(who.url, who.tenant_key, Journal(str(folder / "setup.journal")))
        api.insist("POST", "/queue/v1/namespaces/load/queues", {"queue": "log", "partitions": 1})
        for name, (kind, settings) in SETTINGS.items():
            assert api.insist("POST", "/queues", {"name": name, "type": kind, "settings": settings})[0] == 201
        server.send_signal(signal.SIGUSR1)
        rng, numbers = random.Random(2), iter(range(10_000))

        def start(role: str, queue: str) -> "subprocess.Popen[bytes]":
            journal = folder / f"{queue}.{role}.{next(numbers)}.journal"
            command = [
                sys.executable,
                "-m",
                "tools.loading.workers",
                role,
                queue,
                who.url,
                who.tenant_key,
                str(journal),
            ]
            return subprocess.Popen(command, cwd=ROOT)

        workers = [start(role, queue) for role, queue in WORKERS]
        try:
            begun, killed, memory = time.monotonic(), 0, 0
            while (passed := time.monotonic() - begun) < seconds:
                time.sleep(min(kill_every, max(0.1, seconds - passed)))
                victim = rng.randrange(len(workers))
                workers[victim].kill()
                workers[victim].wait()
                workers[victim] = start(*WORKERS[victim])
                killed += 1
                memory = memory or (_memory(server) if passed > max(WARM_SECONDS, seconds / 3) else 0)
            grown = _memory(server) / memory if memory else 1.0
            for (role, _), worker in zip(WORKERS, workers, strict=True):
                if role == "produce":
                    worker.kill()
            server.send_signal(signal.SIGUSR2)
            _drain(folder)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        _judge(outcome, folder, api, seconds=seconds)
        api.close()
        if grown > GROWTH:
            outcome.faults.append(f"memory grew to {grown:.2f} of what it was")
        outcome.figures |= {"workers killed": killed, "memory, end over warm": round(grown, 2)}
    return outcome


def _folder(scratch: str) -> Path:
    project = Path(scratch) / "project"
    project.mkdir()
    return project


def _drain(folder: Path) -> None:
    """Wait until consumers have got all that was stored."""
    until = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < until:
        queues = ("log", "to_one", "to_many")
        left = [fault for queue in queues for fault in verdict.of_queue(folder.glob(f"{queue}.*.journal"), once=False)]
        if not any(fault.endswith("is lost") for fault in left):
            return
        time.sleep(0.5)


def _judge(outcome: Outcome, folder: Path, api: Api, *, seconds: float) -> None:
    for queue in ("log", "to_one", "to_many", "series"):
        files = list(folder.glob(f"{queue}.*.journal"))
        faults = verdict.of_queue(files, once=queue in ("to_one", "to_many"))
        outcome.faults += [f for f in faults if queue != "series" or not f.endswith("is lost")]
        outcome.figures[f"{queue}: stored"] = verdict.count(files, "stored")
    points = list(folder.glob("series.*.journal"))
    _, answer = api.insist("GET", "/queues/series/buckets")
    counted = sum(bucket["fields"]["n"]["count"] for bucket in answer["buckets"])
    least, most = (verdict.count(points, what) for what in ("stored", "sent"))
    if not least <= counted <= most:
        outcome.faults.append(f"{counted} points are counted of {least} that were stored and {most} that were sent")
    statuses = verdict.answers(folder.glob("*.journal"))
    outcome.figures["answers"] = dict(sorted(statuses.items()))
    outcome.figures["answers a second"] = round(sum(statuses.values()) / seconds)


def main() -> int:
    """The command line; exits 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Two minutes of mixed traffic with faults injected.")
    parser.add_argument("--seconds", type=float, default=120)
    outcome = run(seconds=parser.parse_args().seconds)
    for name, figure in outcome.figures.items():
        print(f"{name}: {figure}")
    for fault in outcome.faults[:50]:
        print(f"FAULT {fault}")
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
