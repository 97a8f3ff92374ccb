"""Metrics are added up over a call and written once, at its end, also when it fails."""

import functools
import json

import pytest

from broker.metrics import count, counting

count_here = functools.partial(count, kind="log", tenant_id="t1", queue_id="q1")


@pytest.fixture(autouse=True)
def _written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    monkeypatch.setenv("POWERTOOLS_SERVICE_NAME", "towpath")


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_call_writes_one_line_per_queue(capsys: pytest.CaptureFixture[str]) -> None:
    with counting():
        count_here("Unreadable", 2)
        count_here("Unreadable")
        count("Unreadable", 5, kind="log", tenant_id="t1", queue_id="q2")
    first, second = lines(capsys)
    assert (first["Unreadable"], first["type"], first["queue_id"], first["tenant_id"]) == ([3.0], "log", "q1", "t1")
    assert (second["Unreadable"], second["queue_id"]) == ([5.0], "q2")


def test_the_namespace_and_the_dimensions_are_what_alarms_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    with counting():
        count_here("Unreadable")
    (line,) = lines(capsys)
    described = json.loads(json.dumps(line["_aws"]))["CloudWatchMetrics"][0]
    assert described["Namespace"] == "Towpath"
    assert sorted(described["Dimensions"][0]) == ["service", "type"]


def test_nothing_counted_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with counting():
        count_here("Unreadable", 0)
    assert lines(capsys) == []


def test_a_call_that_fails_writes_what_it_counted(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        with counting():
            count_here("Unreadable")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(lines(capsys)) == 1


def test_calls_side_by_side_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    with counting():
        count_here("Unreadable")
        with counting():
            count_here("Unreadable", 7)
    assert [line["Unreadable"] for line in lines(capsys)] == [[7.0], [1.0]]
