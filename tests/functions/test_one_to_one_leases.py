"""What late calls are told of leases that mean nothing any more, and consumers that take longer than a lease."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.functions.queues import QueueClient
from tests.processes import Process, Reply
from tests.worlds import ManualClock
from tools.calls import Call, Outcome, Proceed, Watcher, watching

LOST, EXPIRED = (409, "lease_lost"), (410, "lease_expired")
DONE = 200
MESSAGE = {"id": 1, "v": 1}

shapes = pytest.mark.parametrize(
    "keys",
    [{}, {"primary_key": "id"}, {"visibility_key": "v"}, {"visibility_key": "v", "primary_key": "id"}],
    ids=["alone", "alone-keyed", "shared", "shared-keyed"],
)


@pytest.fixture
def make(timed: Process, platform_key: str) -> Callable[..., QueueClient]:
    """Makes a queue that holds one message."""
    owner = timed.tenant(platform_key=platform_key)

    def made(**settings: Any) -> QueueClient:
        queue = QueueClient(timed, owner.key).create(**settings)
        queue.publish(MESSAGE)
        return queue

    return made


def told(reply: Reply) -> Any:
    return reply.status if reply.status == DONE else reply.problem


@shapes
def test_a_lease_of_before_the_redrive_means_nothing_after_it(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    queue = make(**keys)
    old = queue.one()
    queue.nack(old, dead_letter=True)
    assert told(queue.try_ack(old)) == LOST
    clock.advance(seconds=1)
    assert queue.call("dlq_redrive", body={}).status == DONE
    assert told(queue.try_ack(old)) == LOST
    new = queue.one()
    assert new["message_id"] == old["message_id"]
    assert [told(late) for late in (queue.try_ack(old), queue.try_nack(old), queue.try_extend(old, seconds=9))] == [
        LOST
    ] * 3
    assert [told(queue.try_ack(new)) for _ in range(2)] == [DONE, DONE]
    assert told(queue.try_ack(old)) == LOST


@shapes
def test_a_lease_that_ran_out_stays_run_out_until_somebody_takes_the_redriven_message(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    queue = make(**keys, consume_ttl_seconds=5, max_deliveries=1)
    old = queue.one()
    clock.advance(seconds=6)
    queue.process.run("lease_reap")
    assert told(queue.try_ack(old)) == EXPIRED
    assert queue.call("dlq_redrive", body={}).status == DONE
    assert told(queue.try_ack(old)) in (EXPIRED, LOST)
    assert len(queue.consume()) == 1
    assert told(queue.try_ack(old)) == LOST


@shapes
def test_a_dead_letter_that_is_deleted_is_not_acked(make: Callable[..., QueueClient], keys: dict[str, Any]) -> None:
    queue = make(**keys)
    old = queue.one()
    queue.nack(old, dead_letter=True)
    assert queue.call("dlq_purge").status == 204
    assert told(queue.try_ack(old)) == LOST
    assert told(queue.try_nack(old, dead_letter=True)) == DONE


@shapes
def test_a_lease_that_ran_out_before_its_message_left_is_told_so(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    aged = make(**keys, consume_ttl_seconds=1, max_message_age_seconds=2)
    late = aged.one()
    clock.advance(seconds=3)
    assert aged.consume() == []
    assert [told(aged.try_ack(late)), told(aged.try_nack(late))] == [EXPIRED, EXPIRED]


@shapes
def test_a_lease_whose_message_made_room_is_told_that_it_ran_out(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    queue = make(**keys, consume_ttl_seconds=1, max_queue_depth=1, overflow_policy="drop_oldest_append")
    late = queue.one()
    clock.advance(seconds=2)
    queue.publish({"id": 2, "v": 2})
    assert [told(queue.try_ack(late)), told(queue.try_nack(late))] == [EXPIRED, EXPIRED]


@shapes
def test_a_nack_is_repeated_also_when_the_message_was_taken_again(
    make: Callable[..., QueueClient], keys: dict[str, Any]
) -> None:
    queue = make(**keys)
    first = queue.one()
    queue.nack(first)
    second = queue.one()
    assert told(queue.try_nack(first)) == DONE
    assert told(queue.try_ack(first)) == LOST
    queue.nack(second)
    assert told(queue.try_nack(first)) == LOST  # a later one has been settled since
    assert queue.one()["delivery"] == 3


class SlowStorage(Watcher):
    """Storage that takes two seconds for every lease."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        outcome = proceed(call)
        if call.operation == "UpdateItem":
            self._clock.advance(seconds=2)
        return outcome


@pytest.mark.parametrize("keys", [{}, {"visibility_key": "v"}])
def test_no_lease_is_handed_over_that_has_run_out(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    queue = make(**keys, consume_ttl_seconds=5, max_deliveries=100)
    for number in range(2, 12):
        queue.publish({"id": number, "v": number})
    seen: set[int] = set()
    for _ in range(12):
        with watching(SlowStorage(clock)):
            page = queue.consume(max_messages=10)
        found = [message["payload"]["id"] for message in page]
        assert len(found) == len(set(found))
        for message in page:
            queue.ack(message)  # no time has passed since the answer, so each lease still holds
            seen.add(message["payload"]["id"])
    assert seen == set(range(1, 12))


def test_while_it_is_in_flight_a_message_past_its_age_holds_its_key(
    make: Callable[..., QueueClient], clock: ManualClock
) -> None:
    for number, keys in enumerate(({"primary_key": "id"}, {"primary_key": "id", "visibility_key": "v"})):
        queue = make(**keys, max_message_age_seconds=2, consume_ttl_seconds=10)
        held = queue.one()
        clock.advance(seconds=4)
        assert queue.try_publish(MESSAGE).problem == (409, "duplicate_key"), number
        queue.ack(held)
        queue.publish(MESSAGE)
        assert queue.call("queue_delete").status == 204
        clock.advance(seconds=6)


@shapes
def test_what_was_delivered_before_is_not_counted_past_its_age(
    make: Callable[..., QueueClient], keys: dict[str, Any], clock: ManualClock
) -> None:
    queue = make(**keys, max_message_age_seconds=10, consume_ttl_seconds=3)
    queue.publish({"id": 2, "v": 2})
    late, delayed = queue.consume(max_messages=2)
    queue.nack(delayed, delay_seconds=100)
    clock.advance(seconds=9)
    assert queue.stats()["depth"] == 2
    clock.advance(seconds=1)
    assert (queue.stats()["depth"], queue.stats()["delayed"], queue.consume()) == (0, 0, [])
    assert told(queue.try_ack(late)) == EXPIRED
