"""Cases of queues that deliver, and of their dead letters, that no journey meets."""

from tests.functions.seldom_stage import (
    LARGE,
    Stage,
    lease,
    letters,
    publish,
    publish_together,
    queue,
    reject,
    take,
)

DROPS = {"overflow_policy": "drop_oldest_append"}


def large_dead_letters(stage: Stage) -> None:
    """Dead letters too large for a row: listed, put back, deleted."""
    admin = stage.admin()
    path = queue(admin, "orders", "one_to_one")
    publish(admin, path, *({"n": n, "text": LARGE} for n in range(3)))
    for _ in range(3):
        reject(admin, path)
    first, second, _ = letters(admin, path)
    assert first["payload"]["text"] == LARGE
    admin("POST", f"{path}/dlq/{first['entry_id']}/redrive")
    assert admin("POST", f"{path}/dlq/redrive", body={"entry_ids": [second["entry_id"]]})["redriven"] == 1
    reject(admin, path)
    admin("DELETE", f"{path}/dlq/{letters(admin, path)[-1]['entry_id']}", expect=204)
    admin("DELETE", f"{path}/dlq", expect=204)


def large_dead_letters_of_many(stage: Stage) -> None:
    """What a to-many consumer gives up is copied, since others have yet to read it: whoever notices makes the copy."""
    admin = stage.admin()
    path = queue(admin, "news", "one_to_many", start_from="earliest", max_deliveries=1, consume_ttl_seconds=30)
    publish(admin, path, *({"n": n, "text": LARGE} for n in range(4)))
    reject(admin, path)
    admin("POST", f"{path}/settle", body={"acks": [], "nacks": [lease(take(admin, path)[0])]})
    take(admin, path)
    stage.wait(60)
    take(admin, path)  # sets the last one aside
    stage.wait(60)
    assert stage.run("stream_retain") == 1
    assert len(letters(admin, path)) == 4


def given_back_once_too_often(stage: Stage) -> None:
    """A reason that was kept until fewer deliveries were allowed."""
    admin = stage.admin()
    path = queue(admin, "news", "one_to_many", start_from="earliest")
    publish(admin, path, {"n": 1})
    (message,) = take(admin, path)
    body = {"lease_id": message["lease_id"], "reason": "not yet"}
    admin("POST", f"{path}/messages/{message['message_id']}/nack", body=body)
    admin("PATCH", path, body={"settings": {"max_deliveries": 1}})
    stage.wait(60)
    assert stage.run("stream_retain") == 1
    assert letters(admin, path)[0]["detail"] == "not yet"


def redriven_to_a_consumer(stage: Stage) -> None:
    """Messages given back to one consumer go when it is moved or forgotten."""
    admin = stage.admin()
    path = queue(admin, "news", "one_to_many", start_from="earliest")
    publish(admin, path, *({"n": n, "text": LARGE} for n in range(3)))
    for _ in range(3):
        reject(admin, path)
    assert admin("POST", f"{path}/dlq/redrive", body={})["redriven"] == 3
    consumer = f"{path}/consumers/{admin('GET', f'{path}/consumers')['consumers'][0]['client_id']}"
    held = take(admin, path, most=2)
    admin("POST", f"{path}/settle", body={"acks": [lease(held[0])], "nacks": []})
    admin("PATCH", consumer, body={"seek": "latest"})
    admin("DELETE", consumer, expect=204)


def consumers_by_the_page(stage: Stage) -> None:
    """A list of consumers that has a second page."""
    admin = stage.admin()
    path = queue(admin, "news", "one_to_many")
    for _ in range(2):
        reader = stage.product.client(admin, actions="consume")
        assert reader.ask("POST", f"{path}/consume", body=b"{}").status == 204
    page = admin("GET", f"{path}/consumers?limit=1")
    admin("GET", f"{path}/consumers?limit=1&next_token={page['next_token']}")


def limit_set_later(stage: Stage) -> None:
    """A limit that is new when a dead letter comes back counts what is there, and lets the oldest go."""
    admin = stage.admin()
    for name, redrive in (("first", "dlq/{}/redrive"), ("second", "dlq/redrive")):
        path = queue(admin, name, "one_to_one")
        publish(admin, path, {"n": 1})
        reject(admin, path)
        publish(admin, path, {"n": 2, "text": LARGE})
        admin("PATCH", path, body={"settings": {"max_queue_depth": 1, **DROPS}})
        admin("POST", f"{path}/{redrive.format(letters(admin, path)[0]['entry_id'])}", body={})
        assert take(admin, path)[0]["payload"] == {"n": 1}
        admin("PATCH", path, body={"settings": {"max_queue_depth": None, "overflow_policy": None}})


def dropped_together(stage: Stage) -> None:
    """A batch for which a full queue lets its oldest go."""
    admin = stage.admin()
    path = queue(admin, "orders", "one_to_one", visibility_key=["customer"], max_queue_depth=2, **DROPS)
    for first in (0, 2):
        publish_together(admin, path, *({"customer": n, "text": LARGE} for n in range(first, first + 2)))
    assert [message["payload"]["customer"] for message in take(admin, path, most=10)] == [2, 3]


def acked_late(stage: Stage) -> None:
    """A message that is settled at its second delivery leaves a trace."""
    admin = stage.admin()
    path = queue(admin, "orders", "one_to_one", consume_ttl_seconds=30)
    publish(admin, path, *({"n": n, "text": LARGE} for n in range(2)))
    take(admin, path, most=2)
    stage.wait(31)
    first, second = take(admin, path, most=2)
    admin("POST", f"{path}/messages/{first['message_id']}/ack", body={"lease_id": first["lease_id"]})
    admin("POST", f"{path}/settle", body={"acks": [lease(second)], "nacks": []})


def acked_by_itself(stage: Stage) -> None:
    """Messages that leave when they are consumed."""
    admin = stage.admin()
    path = queue(admin, "orders", "one_to_one", visibility_key=["customer"], auto_ack=True)
    publish(admin, path, {"customer": 1, "text": LARGE})
    assert take(admin, path)[0]["payload"]["text"] == LARGE


def too_often_and_too_old(stage: Stage) -> None:
    """Messages out of deliveries or past their age, found by the schedules and by consumers."""
    admin = stage.admin()
    ends = {"visibility_key": ["customer"], "consume_ttl_seconds": 30}
    once = queue(admin, "once", "one_to_one", max_deliveries=1, **ends)
    publish(admin, once, {"customer": 1}, {"customer": 2})
    take(admin, once)
    stage.wait(31)
    stage.run("lease_reap")
    take(admin, once)
    stage.wait(31)
    assert admin.ask("POST", f"{once}/consume", body=b"{}").status == 204
    assert len(letters(admin, once)) == 2

    kept = queue(admin, "kept", "one_to_one", max_message_age_seconds=60, expired_to_dead_letters=True, **ends)
    gone = queue(admin, "gone", "one_to_one", max_message_age_seconds=60, consume_ttl_seconds=50)
    for path in (kept, gone):
        publish(admin, path, {"customer": 1, "text": LARGE}, {"customer": 2, "text": LARGE})
    take(admin, gone)
    stage.wait(61)
    stage.run("lease_reap")
    stage.run("message_expire")
    assert len(letters(admin, kept)) == 2
    assert admin("GET", f"{gone}/stats")["depth"] == 0


def expired_from_a_stream(stage: Stage) -> None:
    """Messages that expire before a consumer has got them."""
    admin = stage.admin()
    age = {"max_message_age_seconds": 60, "expired_to_dead_letters": True}
    path = queue(admin, "news", "one_to_many", start_from="earliest", primary_key=["n"], **age)
    publish(admin, path, *({"n": n, "text": LARGE} for n in range(2)))
    take(admin, path)
    stage.wait(61)
    assert stage.run("stream_retain") == 2
    assert len(letters(admin, path)) == 2
    stage.wait(600)
    stage.run("stream_retain")


def joined_with_much(stage: Stage) -> None:
    """Messages joined with an item too large for a row, and large ones that wait for theirs."""
    admin = stage.admin()
    prices = queue(admin, "prices", "key_value", primary_key=["sku"])
    publish(admin, prices, {"sku": "a", "text": LARGE})
    for name, kind in (("one", "stream_to_one"), ("many", "stream_to_many")):
        join = {"lookup_queue": "prices", "foreign_key": ["sku"], "primary_key": ["n"]}
        path = queue(admin, name, kind, missing_lookup="defer", defer_ttl_seconds=60, **join)
        publish(admin, path, {"sku": "a", "n": 0}, *({"sku": sku, "n": sku, "pad": LARGE} for sku in "bcd"))
        publish_together(admin, path, {"sku": "a", "n": 1})
        refusing = queue(admin, f"refusing-{name}", kind, missing_lookup="reject", **join)
        for n in (1, 2):
            admin("POST", f"{refusing}/messages", body={"sku": f"late-{name}", "n": n, "pad": LARGE}, expect=422)
        publish(admin, prices, {"sku": f"late-{name}"})
        admin("POST", f"{refusing}/dlq/{letters(admin, refusing)[0]['entry_id']}/redrive")
        assert admin("POST", f"{refusing}/dlq/redrive", body={})["redriven"] == 1
    for sku in "bc":
        stage.hurried("message_publish", admin, status=201, path={"queue": "prices"}, body={"sku": sku})
    assert stage.run("message_promote") >= 4
    for name in ("one", "many"):
        stage.hurried("queue_purge", admin, status=202, path={"queue": name})
    stage.wait(61)
    stage.run("message_promote")
