"""queue/v1 against a list: several producers, equal and late seqs, commits of both kinds, faults and deaths anywhere.

Every message is delivered at least once before it can be deleted; order holds; results align with requests. The sizes
that matter (batches, pages, runs) are made small, so that a few messages meet all of them.
"""

import contextlib
import itertools
from collections.abc import Callable
from typing import Any, ClassVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from edge import EdgeTable
from tests.functions.logs import LogClient
from tests.processes import Process, Reply
from tests.properties.log_model import AFTER_ALL_IDS, Partition, Place, Poll
from tests.worlds import START, ManualClock, World
from tools import faults, moto_threads, tables
from tools.calls import Call

MOST, HEAVIEST = 4, 200
KINDS = {
    "throttled": faults.THROTTLED,
    "lost": faults.LOST,
    "server error": faults.SERVER_ERROR,
    "server error afterwards": faults.SERVER_ERROR_AFTER,
    "timeout": faults.TIMEOUT,
    "unprocessed": faults.unprocessed(done=1),
    "killed": faults.KILLED,
    "killed after": faults.KILLED_AFTER,
}

faulty = st.dictionaries(st.integers(1, 6), st.sampled_from(sorted(KINDS)), min_size=1, max_size=3)
plans = st.sampled_from([False, False, True]).flatmap(lambda fails: faulty if fails else st.just({}))
outages = st.booleans()
"""Whether the faults of a plan go on for ever, which no retry outlasts."""
seqs = st.sampled_from([-(2**63), -1, 0, 0, 1, 1, 2, 2, 3, 4, 2**63 - 1])
sizes = st.sampled_from([0, 0, 0, 50, 150])
some_entries = st.lists(st.tuples(seqs, sizes), min_size=1, max_size=6)


class LogMachine(RuleBasedStateMachine):
    world: ClassVar[World]
    polls = Bundle("polls")

    def __init__(self) -> None:
        super().__init__()
        self.world.wipe()
        self.small = contextlib.ExitStack()
        self.small.enter_context(patch("edge.edges.WRITE_BATCH", 2))
        self.small.enter_context(patch("edge.edges._NEXT_READ", 2))
        self.small.enter_context(
            patch.dict(EdgeTable.scan.__kwdefaults__, {"max_run": MOST, "max_weight": HEAVIEST}, clear=False)
        )
        self.clocks = [ManualClock(), ManualClock(START - 5000), ManualClock(START + 5000)]
        self.processes = [Process(clock=clock) for clock in self.clocks]
        self.key = self.processes[0].tenant(platform_key=f"platform.{self.world.platform_key}").key
        LogClient(self.processes[0], self.key).create()
        self.partition = Partition()

    def teardown(self) -> None:
        """Drain what is left: all that was promised has been delivered."""
        try:
            client = LogClient(Process(), self.key)
            while (page := client.poll(limit=MOST))["messages"]:
                for message in page["messages"]:
                    self.partition.given(message)
                client.commit(cursor=page["cursor"])
            assert self.stored() == []
            assert set(self.partition.numbers) <= self.partition.delivered | self.partition.deleted
        finally:
            self.small.close()

    def stored(self) -> list[Place]:
        """What is stored, as someone sees it who looks into the table."""
        keys = [key.partition("#") for key in moto_threads.range_keys(self.world.edges_table, region=tables.REGION)]
        return [(int(seq) - 2**63, message_id) for seq, _, message_id in keys]

    def run(
        self, call: Callable[[LogClient], Reply], *, process: int, plan: dict[int, str], outage: bool
    ) -> Reply | None:
        """Make a call under faults; None when the process died of them, and a new one took its place."""
        numbers = itertools.count(1)

        def choose(call: Call) -> faults.Fault | None:
            number = next(numbers)
            if outage and plan:
                number = max((at for at in plan if at <= number), default=0)
            kind = plan.get(number, "")
            return None if kind == "unprocessed" and "Batch" not in call.operation else KINDS.get(kind)

        try:
            with faults.choosing(choose):
                reply = call(LogClient(self.processes[process], self.key))
        except faults.Killed:
            self.processes[process] = Process(clock=self.clocks[process])
            return None
        assert reply.status in ((200, 503) if plan else (200,))
        return reply

    @initialize(entries=st.lists(st.tuples(seqs, sizes), min_size=8, max_size=14))
    def there_are_messages(self, entries: list[tuple[int, int]]) -> None:
        self.enqueue(0, entries, {}, outage=False)

    @rule(process=st.integers(0, 2), entries=some_entries, plan=plans, outage=outages)
    def enqueue(self, process: int, entries: list[tuple[int, int]], plan: dict[int, str], *, outage: bool) -> None:
        before = set(self.stored())
        numbers = self.partition.send([seq for seq, _ in entries])
        messages = [
            {"key": "k", "seq": seq, "value": {"n": number, "pad": "x" * size}}
            for number, (seq, size) in zip(numbers, entries, strict=True)
        ]
        reply = self.run(lambda log: log.try_enqueue(*messages), process=process, plan=plan, outage=outage)
        after = set(self.stored())
        assert before <= after
        assert len(after - before) <= len(messages)
        if reply is None or (reply.status == 503 and "results" not in reply.json):
            self.partition.maybe |= set(numbers)
            return
        results = reply.json["results"]
        self.partition.told(numbers, results)
        created = [(seq, result["id"]) for (seq, _), result in zip(entries, results, strict=True) if result["id"]]
        assert set(created) <= after - before
        if reply.status == 200:
            assert reply.json["accepted"] == len(created) > 0
        if all(result.get("error") != "unavailable" for result in results):
            assert len(after - before) == len(created)

    @rule(
        target=polls,
        previous=st.none() | polls,
        by_cursor=st.booleans(),
        limit=st.integers(1, MOST),
        until=st.none() | seqs,
        process=st.integers(0, 2),
        plan=plans,
        outage=outages,
    )
    def poll(
        self,
        previous: Poll | None,
        limit: int,
        until: int | None,
        process: int,
        plan: dict[int, str],
        *,
        by_cursor: bool,
        outage: bool,
    ) -> Any:
        by_cursor = by_cursor and previous is not None and previous.cursor is not None
        query: dict[str, Any] = {"limit": limit} | ({} if until is None else {"until": until})
        start: Place | None = None
        if previous is not None and by_cursor:
            query["cursor"], start = previous.cursor, previous.last
        elif previous is not None and previous.offset is not None:
            query["offset"], start = previous.offset, (previous.offset, AFTER_ALL_IDS)
        else:
            previous = None
        before = self.stored()
        reply = self.run(lambda log: log.try_poll(**query), process=process, plan=plan, outage=outage)
        assert self.stored() == before
        if reply is None or reply.status == 503:
            return multiple()
        page = reply.json
        offset = previous.offset if previous else None
        self.partition.check_page(page, stored=before, start=start, until=until, limit=limit, most=MOST, offset=offset)
        for message in page["messages"]:
            self.partition.given(message)
        returned = [(message["seq"], message["id"]) for message in page["messages"]]
        return Poll(
            start=start,
            last=returned[-1] if returned else start,
            there=frozenset(message_id for _, message_id in before),
            returned=frozenset(message_id for _, message_id in returned),
            offset=page["offset"],
            cursor=page["cursor"],
            earlier=(*previous.earlier, previous) if previous else (),
            by_cursor=by_cursor,
        )

    @rule(page=polls, by_cursor=st.booleans(), process=st.integers(0, 2), plan=plans, outage=outages)
    def commit(self, page: Poll, process: int, plan: dict[int, str], *, by_cursor: bool, outage: bool) -> None:
        place: dict[str, Any] = {"cursor": page.cursor} if by_cursor else {"offset": page.offset}
        if None in place.values():
            return
        before = self.stored()
        reply = self.run(lambda log: log.try_commit(**place), process=process, plan=plan, outage=outage)
        after = set(self.stored())
        gone = [each for each in before if each not in after]
        assert after <= set(before)
        for seq, message_id in gone:
            if by_cursor:
                assert message_id in page.chain
                assert message_id in self.partition.delivered
            else:
                assert page.offset is not None
                assert seq <= page.offset
                assert message_id in self.partition.delivered or page.missed((seq, message_id))
        self.partition.deleted |= {message_id for _, message_id in gone}
        if reply is not None and reply.status == 200:
            assert reply.json["committed"] == len(gone)
            if by_cursor:
                assert page.returned.isdisjoint(message_id for _, message_id in after)
            else:
                assert page.offset is not None
                assert all(seq > page.offset for seq, _ in after)

    @rule(
        target=polls,
        limits=st.lists(st.integers(1, MOST), min_size=1, max_size=3),
        late=some_entries,
        early=st.booleans(),
        by_cursor=st.booleans(),
        process=st.integers(0, 2),
        plan=plans,
    )
    def read_on_and_commit_after_others_came(
        self,
        limits: list[int],
        late: list[tuple[int, int]],
        process: int,
        plan: dict[int, str],
        *,
        early: bool,
        by_cursor: bool,
    ) -> Any:
        """A consumer follows a chain of cursors, while a producer is late, between its polls or after them."""
        reached = None
        for number, limit in enumerate(limits):
            page = self.poll(reached, limit, None, 0, {}, by_cursor=True, outage=False)
            reached = page
            if early and number == 0:
                self.enqueue(process, late, {}, outage=False)
        if not early:
            self.enqueue(process, late, {}, outage=False)
        assert reached is not None
        self.commit(reached, process, plan, by_cursor=by_cursor, outage=False)
        return reached

    @rule(process=st.integers(0, 2), milliseconds=st.integers(0, 3000))
    def time_passes(self, process: int, milliseconds: int) -> None:
        self.clocks[process].advance(milliseconds=milliseconds)

    @invariant()
    def what_was_accepted_stands_until_a_commit_takes_it(self) -> None:
        there = {message_id for _, message_id in self.stored()}
        assert set(self.partition.numbers) <= there | self.partition.deleted
        assert there.isdisjoint(self.partition.deleted)


def test_a_log_behaves_like_a_list_whatever_fails(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LogMachine, "world", world, raising=False)
    # No shrinking: with a fault at every call that takes minutes, and the run that failed is short enough to be read.
    run_state_machine_as_test(
        LogMachine,
        settings=settings(
            max_examples=20,
            stateful_step_count=20,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
