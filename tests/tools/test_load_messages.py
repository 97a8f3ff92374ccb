"""The eyes of the load test on messages: they see what must not be, and take what is promised for no fault."""

import itertools
from typing import Any

import pytest

from tests.journals import Line, line, noted, told
from tools.loading.journal import Entry
from tools.loading.verdicts import log, messages

SENT = line("sent")
STORED = line("stored", message_id="A")


def got(delivery: int = 1, name: str = "1-0", **members: Any) -> Line:
    return line("got", name, **{"delivery": delivery, "message_id": "A", "key": "k", "joined": [None] * 3, **members})


def ack(delivery: int = 1, name: str = "1-0", **members: Any) -> list[Line]:
    return [line(what, name, delivery=delivery, **members) for what in ("acking", "acked")]


CUT = line("interrupted", asked="POST /queues/q/messages")


@pytest.mark.parametrize(
    ("lines", "faults"),
    [
        ([SENT, STORED, got(), *ack()], []),
        ([SENT, got(), STORED, *ack()], []),
        ([SENT, STORED, got(), got(2), *ack(2)], []),
        ([SENT, STORED], ["1-0 is lost"]),
        ([SENT, STORED, got()], ["1-0 is lost"]),
        ([SENT, STORED, got(), line("acking", delivery=1)], []),  # killed before it heard the answer
        ([SENT, STORED, got(), line("acking", delivery=1), line("refused", delivery=1)], ["1-0 is lost"]),
        ([SENT], []),
        ([SENT, STORED, got(), got(), *ack()], ["1-0 was given to two as delivery 1"]),
        ([SENT, STORED, got(), *ack(), got(2)], ["1-0 came again after it was acked as delivery 1"]),
        # A process that was stalled with the first delivery notes it after others were done with the second.
        ([SENT, STORED, got(2), *ack(2), got(by=2)], []),
        # A second delivery that is noted before the first one's ack was still given out beside a lease that held.
        ([SENT, STORED, got(), got(2), *ack()], ["1-0 came again after it was acked as delivery 1"]),
        # A publish that was cut short is repeated with its Idempotency-Key: it must not be stored twice.
        ([SENT, CUT, got(), *ack(), STORED], []),
        ([SENT, CUT, got(), *ack(), STORED, got(), *ack()], ["1-0 was given to two as delivery 1"]),
        ([SENT, STORED, got(message_id="B"), *ack()], ["1-0 came under two ids"]),
        ([got(), *ack()], ["1-0 was never sent"]),
    ],
)
def test_a_message_is_settled_once(lines: list[Line], faults: list[str]) -> None:
    assert told(messages.of_queue(noted(*lines), order="none")) == faults


LOOKUP = {"queue": "lookup", "key": ["a"], "version": "V"}


@pytest.mark.parametrize(
    ("joined", "right"),
    [
        (["a", "a@1", LOOKUP], True),
        (["a", "a@0", LOOKUP], False),
        (["a", None, LOOKUP], False),
        (["a", "a@1", None], False),
        (["a", "a@1", {**LOOKUP, "key": ["b"]}], False),
    ],
)
def test_a_message_carries_its_item(joined: list[Any], *, right: bool) -> None:
    lines = [line("sent", joined=["a", "a@1"]), STORED, got(joined=joined), *ack()]
    assert (messages.of_queue(noted(*lines), order="none") == []) is right


def lived(name: str, *, key: str = "k") -> dict[str, list[Line]]:
    """Publishing a message, getting it, and acking it."""
    return {
        "publish": [line("sent", name), line("stored", name, message_id=name)],
        "get": [got(name=name, message_id=name, key=key)],
        "ack": ack(name=name),
    }


def woven(order: str, *lives: dict[str, list[Line]]) -> list[Entry]:
    """The steps of several messages in an order such as `publish0 publish1 get1`."""
    steps = [lives[int(word[-1])][word[:-1]] for word in order.split()]
    return noted(*itertools.chain.from_iterable(steps))


@pytest.mark.parametrize(
    ("second", "order", "faults"),
    [
        ("1-5", "get0 ack0 get1 ack1", []),
        ("1-5", "get0 get1 ack0 ack1", ["1-5 was given out while 1-0 of the same key was in flight"]),
        ("1-5", "get1 ack1 get0 ack0", ["1-0 came after 1-5, which was sent later"]),
        ("2-0", "get1 ack1 get0 ack0", []),
    ],
)
def test_a_key_is_worked_off_in_order(second: str, order: str, faults: list[str]) -> None:
    lines = woven(f"publish0 publish1 {order}", lived("1-0"), lived(second))
    assert told(messages.of_queue(lines, order="lanes")) == faults


def test_keys_do_not_wait_for_each_other() -> None:
    lines = woven("publish0 publish1 get1 get0 ack0 ack1", lived("1-0"), lived("1-1", key="l"))
    assert messages.of_queue(lines, order="lanes") == []


def test_an_ack_that_was_refused_frees_no_key() -> None:
    lives = lived("1-0"), {**lived("1-5"), "stale": [line(one, "1-0", delivery=1) for one in ("acking", "refused")]}
    again = {"take": [got(2, by=2)], "settle": ack(2, by=2)}
    lines = woven("publish0 publish1 get0 stale1 take2 get1 settle2 ack1", *lives, again)
    assert told(messages.of_queue([{**one, "message_id": one["id"]} for one in lines], order="lanes")) == [
        "1-5 was given out while 1-0 of the same key was in flight"
    ]


def test_a_stream_keeps_the_order_of_each_producer() -> None:
    lives = lived("1-0"), lived("1-1")
    assert messages.of_queue(woven("publish0 publish1 get0 get1 ack1 ack0", *lives), order="stream") == []
    assert told(messages.of_queue(woven("publish0 publish1 get1 get0 ack1 ack0", *lives), order="stream")) == [
        "1-0 came after 1-1, which was sent later"
    ]


POLLED = line("got", message_id="A")
COMMITTED = line("acked")
REWRITTEN = {"fault": "answer lost", "put": ["log#Q#0#00001#A"]}


@pytest.mark.parametrize(
    ("lines", "struck", "faults"),
    [
        ([SENT, STORED, POLLED, POLLED, COMMITTED], [], []),
        ([SENT, POLLED, COMMITTED, STORED], [], []),
        ([SENT, STORED], [], ["1-0 is lost"]),
        ([SENT, STORED, POLLED, COMMITTED, POLLED], [], ["1-0 came again after it was committed"]),
        ([SENT, STORED, POLLED, COMMITTED, POLLED], [REWRITTEN], []),
        (
            [SENT, STORED, POLLED, COMMITTED, POLLED],
            [{**REWRITTEN, "fault": "timeout"}],
            ["1-0 came again after it was committed"],
        ),
        ([SENT, CUT, POLLED, COMMITTED, STORED, POLLED], [], []),
        ([SENT, STORED, POLLED, line("got", message_id="B")], [], ["1-0 is there under two ids"]),
        ([POLLED], [], ["1-0 was never sent"]),
    ],
)
def test_a_log_gives_all_and_nothing_again(lines: list[Line], struck: list[Entry], faults: list[str]) -> None:
    assert told(log.of_log(noted(*lines), struck=struck)) == faults
