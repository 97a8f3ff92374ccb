"""Cold starts: importing a function, as a ratio to importing boto3 and making a DynamoDB client."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.measure import table

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
FLOOR = "import boto3; boto3.session.Session().client('dynamodb')"
TIMED = "import time; started = time.process_time()\n{}\nprint((time.process_time() - started) * 1000)"
ENVIRONMENT = {
    "AWS_LAMBDA_FUNCTION_NAME": "bench",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "EDGES_TABLE": "edges",
    "STATE_TABLE": "state",
    "BUCKET": "bucket",
    "KMS_KEY_ID": "key",
    "POWERTOOLS_SERVICE_NAME": "bench",
    "POWERTOOLS_METRICS_NAMESPACE": "Towpath",
}


def cpu_milliseconds(code: str, *, function: str = "") -> float:
    """CPU time of a piece of code in a new interpreter, in milliseconds; start of the interpreter not counted."""
    folders = [ROOT / "layers" / "edge", ROOT / "shared", ROOT / "functions" / function]
    path = os.pathsep.join(str(folder) for folder in folders)
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", TIMED.format(code)], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stdout.splitlines()[-1])


def ratios(functions: list[str], *, rounds: int = ROUNDS) -> dict[str, float]:
    """The median of each function's import over the median of the floor, measured in turns."""
    floor: list[float] = []
    times: dict[str, list[float]] = {function: [] for function in functions}
    for _ in range(rounds + 1):
        floor.append(cpu_milliseconds(FLOOR))
        for function in functions:
            times[function].append(cpu_milliseconds("import app", function=function))
    return {name: statistics.median(taken[1:]) / statistics.median(floor[1:]) for name, taken in times.items()}


def run() -> None:
    """Measure the functions people wait for."""
    functions = ["health_read", "log_enqueue", "log_poll", "log_commit", "message_publish", "queue_consume"]
    table([[name, ratio] for name, ratio in ratios(functions).items()], head=["function", "cold import / floor"])
