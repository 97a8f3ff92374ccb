"""A name just freed: log_create and queue_create wait until no warm process remembers the queue that had it."""

from tests.functions.logs import LogClient
from tests.functions.queues import QueueClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock


def test_no_message_goes_to_the_log_that_had_the_name_before(tenant: Tenant, clock: ManualClock) -> None:
    here, elsewhere = Process(clock=clock), Process(clock=clock)
    log, remembered = LogClient(here, tenant.key).create(), LogClient(elsewhere, tenant.key)
    remembered.enqueue_seqs(1)
    clock.advance(seconds=1)
    log.call("log_disable")
    clock.advance(seconds=3)
    assert log.call("log_delete").status == 204
    log.create()
    assert here.waits == [2.5]  # five seconds after it was disabled, and half a one for clocks that differ
    remembered.enqueue_seqs(2)
    assert log.seqs() == [2]
    here.run("queue_sweep")
    assert log.seqs() == [2]


def test_a_name_freed_long_ago_is_given_at_once(tenant: Tenant, clock: ManualClock) -> None:
    process = Process(clock=clock)
    log = LogClient(process, tenant.key).create()
    log.call("log_disable")
    clock.advance(seconds=6)
    log.call("log_delete")
    log.create()
    LogClient(process, tenant.key, "never-used").create()
    assert process.waits == []


def test_a_queue_s_name_waits_too(tenant: Tenant, clock: ManualClock) -> None:
    here, elsewhere = Process(clock=clock), Process(clock=clock)
    queue, remembered = QueueClient(here, tenant.key).create(), QueueClient(elsewhere, tenant.key)
    old = remembered.call("queue_read").json["queue_id"]
    assert queue.call("queue_delete").status == 204
    assert remembered.call("queue_read").json["queue_id"] == old
    queue.create()
    assert here.waits == [5.5]
    assert remembered.call("queue_read").json["queue_id"] not in {None, old}
