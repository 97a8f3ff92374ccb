"""What a cold start may import, and what it may cost: CPU of importing a function over that of boto3 and one client."""

import json
import os
import subprocess
import sys

import pytest

from bench.cold import ENVIRONMENT, ROOT, cpu_milliseconds
from tests.template.repository import functions

FUNCTIONS = [
    "health_read",
    "tenant_create",
    "client_list",
    "log_enqueue",
    "log_poll",
    "message_publish",
    "queue_consume",
]
# Each is imported when a call first needs it.
LATE = [
    "aws_lambda_powertools.utilities.idempotency",
    "broker.http.idempotency",
    "broker.lanes",
    "broker.streams",
    "broker.items",
    "broker.series",
    "broker.documents",
]
# Nothing that is imported for these needs it.
NEVER = ["moto", "pytest", "requests", "tests", "tools"]
BUDGET = 1.8
ROUNDS = 5
FLOOR = "import boto3; boto3.session.Session().client('dynamodb')"


def imported(function: str) -> set[str]:
    """The modules that a fresh interpreter holds after importing a function."""
    path = os.pathsep.join(str(ROOT / folder) for folder in ("layers/edge", "shared", f"functions/{function}"))
    code = "import app, json, sys; print(json.dumps(sorted(sys.modules)))"
    environment = {"PATH": os.environ["PATH"], **ENVIRONMENT, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nothing_is_imported_before_it_is_needed(function: str) -> None:
    modules = imported(function)
    early = [name for name in (*LATE, *NEVER) if any(one == name or one.startswith(f"{name}.") for one in modules)]
    assert early == []


@pytest.fixture(scope="module")
def floor() -> float:
    """CPU milliseconds of what every function needs, by the best of several rounds."""
    return min(cpu_milliseconds(FLOOR) for _ in range(ROUNDS))


@pytest.mark.parametrize("function", [function.name for function in functions()])
def test_a_cold_start_stays_within_its_budget(floor: float, function: str) -> None:
    """By the best of several rounds: a busy machine makes single ones slower, never faster."""
    rounds = range(3 * ROUNDS)  # all of them only where the first were slow
    assert any(cpu_milliseconds("import app", function=function) <= BUDGET * floor for _ in rounds)
