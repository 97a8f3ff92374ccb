"""Requests through routes, events, functions and answers, without sockets."""

import io
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.fakes import ECHO, default_route, route, write_project
from tools.serving.answers import PAYLOAD_BYTES
from tools.serving.console import Console, WithoutMetrics
from tools.serving.events import HttpRequest
from tools.serving.functions import Failed, Returned, Runtime, TimedOut
from tools.serving.gateway import Gateway, Served
from tools.serving.routes import RouteTable
from tools.serving.schedules import Schedules
from tools.serving.template import Template, read_template

FUNCTIONS: dict[str, tuple[str, dict[str, object]]] = {
    "pet_echo": (ECHO, route("POST", "/pets/{pet}")),
    "pet_fail": ("def handler(event, context):\n    raise KeyError('secret')", route("GET", "/fail")),
    "pet_exit": ("def handler(event, context):\n    sys.exit(3)", route("GET", "/exit")),
    "pet_broken": ("import no_such_module", route("GET", "/broken")),
    "pet_slow": (
        "released = __import__('threading').Event()\ndef handler(event, context):\n    released.wait(30)",
        route("GET", "/slow") | {"Timeout": 30},
    ),
    "pet_context": (
        """
        IMPORTED_AS = os.environ["NAME"]
        count = 0

        def handler(event, context):
            global count
            count += 1
            return {
                "function_name": context.function_name,
                "memory_limit_in_mb": context.memory_limit_in_mb,
                "remaining": context.get_remaining_time_in_millis(),
                "arn": context.invoked_function_arn,
                "request_id": context.aws_request_id,
                "count": count,
                "imported_as": IMPORTED_AS,
                "event": event,
            }
        """,
        route("GET", "/context")
        | {"Timeout": 7, "MemorySize": 256, "Environment": {"Variables": {"NAME": "own"}}}
        | {
            "Events": {
                "Route": {"Type": "HttpApi", "Properties": {"Method": "GET", "Path": "/context"}},
                "Every": {"Type": "Schedule", "Properties": {"Schedule": "rate(1 minute)"}},
            }
        },
    ),
    "route_missing": ("def handler(event, context):\n    return {'statusCode': 404, 'body': 'none'}", default_route()),
}


@pytest.fixture
def template(tmp_path: Path) -> Iterator[Template]:
    before = set(sys.modules)
    yield read_template(write_project(tmp_path, FUNCTIONS))
    for name in set(sys.modules) - before:
        if name.startswith("functions.pet_"):
            del sys.modules[name]


@pytest.fixture
def runtime(template: Template) -> Runtime:
    environments = {f.logical_id: {k: str(v) for k, v in f.environment.items()} for f in template.functions}
    return Runtime(region="us-east-1", environments=environments)


@pytest.fixture
def gateway(template: Template, runtime: Runtime) -> Gateway:
    return Gateway(RouteTable(template.functions), runtime, template.stage, now_ms=lambda: 1_000)


def send(gateway: Gateway, method: str, path: str, *, body: bytes = b"", content_type: str = "") -> Served:
    headers = (("Host", "localhost"), ("Content-Type", content_type))
    return gateway.serve(HttpRequest(method, path, "", "HTTP/1.1", headers, body, "127.0.0.1", 3000))


def test_a_request_reaches_its_function_and_the_answer_comes_back(gateway: Gateway) -> None:
    served = send(gateway, "POST", "/pets/a%20b", body=b"{}", content_type="application/json")
    assert (served.answer.status, served.function) == (200, "pet_echo")
    event = json.loads(served.answer.body)
    assert event["pathParameters"] == {"pet": "a b"}
    assert event["body"] == "{}"
    assert event["requestContext"]["timeEpoch"] == 1_000
    assert event["requestContext"]["requestId"] == served.request_id
    assert len(served.request_id) == 16


def test_what_no_route_takes_goes_to_the_default_route(gateway: Gateway) -> None:
    for method, path in (("GET", "/pets/1"), ("BREW", "/pets/1"), ("POST", "/pets/"), ("POST", "/pets/a%2Fb")):
        assert send(gateway, method, path).function == "route_missing"


def test_without_a_default_route_the_gateway_answers_itself(tmp_path: Path) -> None:
    template = read_template(write_project(tmp_path, {"pet_echo": (ECHO, route("GET", "/a"))}))
    gateway = Gateway(RouteTable(template.functions), Runtime("us-east-1", {}), "$default")
    served = send(gateway, "GET", "/b")
    assert (served.answer.status, served.answer.body) == (404, b'{"message":"Not Found"}')


def test_a_named_stage_is_the_first_segment(template: Template, runtime: Runtime) -> None:
    gateway = Gateway(RouteTable(template.functions), runtime, "v1")
    event = json.loads(send(gateway, "POST", "/v1/pets/1").answer.body)
    assert (event["rawPath"], event["pathParameters"]) == ("/v1/pets/1", {"pet": "1"})
    assert send(gateway, "POST", "/pets/1").answer.status == 404


def test_a_path_the_gateway_cannot_decode_reaches_no_function(gateway: Gateway) -> None:
    served = send(gateway, "POST", "/pets/50%25")
    assert (served.answer.status, served.answer.body, served.function) == (400, b'{"message":"Bad Request"}', "")


@pytest.mark.parametrize("path", ["/fail", "/broken"])
def test_a_failing_function_is_an_internal_error_that_shows_nothing(gateway: Gateway, path: str) -> None:
    for _ in range(2):
        answer = send(gateway, "GET", path).answer
        assert (answer.status, answer.body) == (500, b'{"message":"Internal Server Error"}')
        assert "Traceback" in answer.problem


def test_a_function_that_exits_fails_alone(gateway: Gateway) -> None:
    answer = send(gateway, "GET", "/exit").answer
    assert (answer.status, answer.body) == (500, b'{"message":"Internal Server Error"}')


def test_a_function_that_takes_too_long_is_given_up(template: Template, runtime: Runtime) -> None:
    slow = next(f for f in template.functions if f.name == "pet_slow")
    runtime.handler(slow)
    released: threading.Event = sys.modules["functions.pet_slow.app"].__dict__["released"]
    impatient = Gateway(RouteTable(template.functions), runtime, template.stage, timeout_seconds=0.01)
    answer = send(impatient, "GET", "/slow").answer
    assert (answer.status, answer.body) == (503, b'{"message":"Service Unavailable"}')
    released.set()


def test_a_functions_own_time_limit_is_its_failure(gateway: Gateway) -> None:
    answer = gateway._answer(TimedOut(7))  # the wait itself is tested above
    assert (answer.status, answer.problem) == (500, "no answer within 7 s")


def test_an_event_larger_than_lambda_takes_is_refused(gateway: Gateway) -> None:
    fits = send(gateway, "POST", "/pets/1", body=b"a" * 3_000_000, content_type="text/plain")
    over = send(gateway, "POST", "/pets/1", body=b"a" * PAYLOAD_BYTES, content_type="text/plain")
    encoded = send(gateway, "POST", "/pets/1", body=b"a" * 5_000_000, content_type="image/png")
    assert [s.answer.status for s in (fits, over, encoded)] == [200, 413, 413]
    assert over.answer.body == b'{"message":"Request Entity Too Large"}'


def test_the_context_is_lambdas(gateway: Gateway) -> None:
    first = json.loads(send(gateway, "GET", "/context").answer.body)
    second = json.loads(send(gateway, "GET", "/context").answer.body)
    assert (first["function_name"], first["memory_limit_in_mb"], first["imported_as"]) == ("PetContext", 256, "own")
    assert first["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:PetContext"
    assert 6_000 < first["remaining"] <= 7_000
    assert first["request_id"] != second["request_id"]
    assert (first["count"], second["count"]) == (1, 2)


def test_calls_side_by_side_share_one_import(template: Template, runtime: Runtime) -> None:
    function = next(f for f in template.functions if f.name == "pet_context")
    handlers: list[object] = []
    threads = [threading.Thread(target=lambda: handlers.append(runtime.handler(function))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handlers) == 8
    assert len(set(map(id, handlers))) == 1


def test_a_schedule_calls_its_function_and_logs_one_line(template: Template, runtime: Runtime) -> None:
    lines = io.StringIO()
    schedules = Schedules(template.functions, runtime=runtime, console=Console(lines), now_ms=lambda: 1_444_323_186_000)
    function = next(f for f in template.functions if f.name == "pet_context")
    schedules.run_once(function, schedule=function.schedules[0])
    assert lines.getvalue().count("\n") == 1
    assert "SCHEDULE pet_context ok" in lines.getvalue()


def test_outcomes_are_told_apart(template: Template, runtime: Runtime) -> None:
    functions = {f.name: f for f in template.functions}
    outcomes = {
        name: runtime.invoke(functions[name], event={}, wait_seconds=20)
        for name in ("pet_context", "pet_fail", "pet_broken")
    }
    assert [type(o) for o in outcomes.values()] == [Returned, Failed, Failed]


def test_metrics_are_kept_off_the_console() -> None:
    out = io.StringIO()
    quiet = WithoutMetrics(out)
    print('{"_aws":{"CloudWatchMetrics":[]}}', file=quiet)
    print("a line", file=quiet)
    quiet.write('{"_aws":{}}\n')
    print("another", file=quiet)
    print(file=quiet)
    quiet.flush()
    assert out.getvalue() == "a line\nanother\n\n"
