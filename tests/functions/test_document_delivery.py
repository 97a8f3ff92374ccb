"""Subscriptions and delivery: subscription_put, subscription_read, subscription_delete, subscriber_list,
subscriber_delete, document_deliver."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.documents import outbox
from tests.functions.documents import CSV, DocumentClient
from tests.processes import Process, Tenant
from tests.worlds import ManualClock, World
from tools import faults
from tools.ledger import Ledger


@pytest.fixture
def owner(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant(platform_key=platform_key)


@pytest.fixture
def other(timed: Process, platform_key: str) -> Tenant:
    return timed.tenant("other", platform_key=platform_key)


@pytest.fixture
def source(timed: Process, owner: Tenant) -> DocumentClient:
    return DocumentClient(timed, owner.key, "source").create(allow_subscriptions=True)


@pytest.fixture
def target(timed: Process, other: Tenant, source: DocumentClient) -> DocumentClient:
    """A queue of another tenant that subscribed to the source."""
    client = DocumentClient(timed, other.key, "target").create()
    client.subscribe(source)
    return client


def deliver(process: Process) -> int:
    return int(process.run("document_deliver")["done"])


def test_a_copy_is_the_same_document_under_another_key(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World
) -> None:
    sent = source.upload(name="%E2%82%AC.csv", description="d")
    assert target.listed() == []
    assert deliver(timed) == 1
    (copy,) = target.listed()
    for member in ("name", "description", "content_type", "size", "sha256"):
        assert copy[member] == sent[member]
    assert copy["document_id"] != sent["document_id"]
    assert target.download(copy["document_id"]) == CSV.encode()
    assert target.download(copy["document_id"], accept="application/json")
    objects = world.client("s3")
    bodies = [objects.get_object(Bucket=world.bucket, Key=key)["Body"].read() for key in world.objects()]
    assert len(set(bodies)) == 2
    source.delete(sent["document_id"])
    assert target.download(copy["document_id"]) == CSV.encode()


def test_each_upload_is_delivered_once_also_after_the_copy_was_deleted(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World
) -> None:
    source.upload()
    assert [deliver(timed), deliver(timed)] == [1, 0]
    (copy,) = target.listed()
    target.delete(copy["document_id"])
    assert deliver(timed) == 0
    assert target.listed() == []
    assert len(world.objects()) == 1


def test_the_state_of_a_subscription_can_be_seen(
    timed: Process, source: DocumentClient, target: DocumentClient
) -> None:
    subscription = target.subscription()
    assert subscription["source_queue_id"] == source.queue_id
    assert (subscription["state"], subscription["delivered"], subscription["pending"]) == ("active", 0, 0)
    source.upload()
    source.upload()
    assert target.subscription()["pending"] == 2
    (seen,) = source.subscribers()
    assert seen["queue_id"] == target.queue_id
    assert (seen["subscription_id"], seen["pending"]) == (subscription["subscription_id"], 2)
    deliver(timed)
    assert (target.subscription()["delivered"], target.subscription()["pending"]) == (2, 0)
    assert (source.subscribers()[0]["delivered"], source.subscribers()[0]["state"]) == (2, "active")


def test_a_new_subscription_gets_later_uploads_only(
    timed: Process, source: DocumentClient, other: Tenant, target: DocumentClient
) -> None:
    source.upload(name="before")
    late = DocumentClient(timed, other.key, "late").create()
    late.subscribe(source)
    source.upload(name="after")
    deliver(timed)
    assert late.names() == ["after"]
    assert target.names() == ["before", "after"]


def test_subscribing_again_changes_nothing_and_another_source_replaces(
    timed: Process, source: DocumentClient, target: DocumentClient, owner: Tenant
) -> None:
    first = target.subscription()["subscription_id"]
    again = target.try_subscribe(source.queue_id)
    assert (again.status, again.json["subscription_id"]) == (200, first)
    second = DocumentClient(timed, owner.key, "second").create(allow_subscriptions=True)
    source.upload(name="from source, too late")
    replaced = target.try_subscribe(second.queue_id)
    assert replaced.status == 200
    assert replaced.json["subscription_id"] != first
    assert source.subscribers() == []
    second.upload(name="second")
    source.upload(name="source")
    deliver(timed)
    assert target.names() == ["second"]


def test_either_side_ends_a_subscription(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World
) -> None:
    source.upload(name="pending")
    assert target.call("subscription_delete").status == 204
    assert target.call("subscription_delete").problem == (404, "not_found")
    assert target.call("subscription_read").problem == (404, "not_found")
    assert source.subscribers() == []
    deliver(timed)
    assert target.listed() == []
    subscription_id = target.subscribe(source)
    path = {"subscription_id": subscription_id}
    assert target.call("subscriber_delete", path=path).problem == (404, "not_found")
    assert source.call("subscriber_delete", path=path).status == 204
    assert source.call("subscriber_delete", path=path).problem == (404, "not_found")
    assert target.call("subscription_read").problem == (404, "not_found")
    source.upload(name="later")
    deliver(timed)
    assert target.listed() == []
    left = [row["pk"]["S"] for row in world.rows(world.state_table)]
    assert [pk for pk in left if pk.startswith(("outbox", "deliveries", "copies", "subscribers"))] == []


def test_k1_what_may_not_be_subscribed_to_is_not_there(
    timed: Process, source: DocumentClient, owner: Tenant, other: Tenant
) -> None:
    closed = DocumentClient(timed, owner.key, "closed").create()
    target = DocumentClient(timed, other.key, "target").create()
    answers = [
        target.try_subscribe(one) for one in (closed.queue_id, "01M8PN364DD2R63REC5XWVZK5Q", "closed", source.queue)
    ]
    assert {answer.problem for answer in answers} == {(404, "not_found")}
    assert len({answer.body for answer in answers}) == 1
    own = DocumentClient(timed, owner.key, "own").create()
    assert own.try_subscribe(closed.queue_id).status == 201


def test_a_source_is_another_queue_of_the_same_type(timed: Process, source: DocumentClient, owner: Tenant) -> None:
    assert source.try_subscribe(source.queue_id).fields == ["source_queue_id"]
    texts = DocumentClient(timed, owner.key, "texts").create("text_document")
    assert texts.try_subscribe(source.queue_id).fields == ["source_queue_id"]
    assert source.call("subscription_put", body={}).fields == ["source_queue_id"]


def test_a_full_subscriber_fails_nothing_and_is_tried_again(
    timed: Process, source: DocumentClient, other: Tenant, target: DocumentClient
) -> None:
    small = DocumentClient(timed, other.key, "small").create(max_queue_depth=1)
    small.subscribe(source)
    for name in ("a", "b"):
        source.upload(name=name)
    deliver(timed)
    assert (target.names(), small.names()) == (["a", "b"], ["a"])
    state = small.subscription()
    assert (state["state"], state["delivered"], state["pending"]) == ("full", 1, 1)
    assert "max_queue_depth" in state["detail"]
    assert deliver(timed) == 0
    small.delete(small.listed()[0]["document_id"])
    assert deliver(timed) == 1
    assert small.names() == ["b"]
    assert (small.subscription()["state"], small.subscription()["pending"]) == ("active", 0)


def test_a_subscriber_that_drops_its_oldest_takes_all(timed: Process, source: DocumentClient, other: Tenant) -> None:
    ring = DocumentClient(timed, other.key, "ring").create(max_queue_depth=2, overflow_policy="drop_oldest_append")
    ring.subscribe(source)
    for name in ("a", "b", "c"):
        source.upload(name=name)
    assert deliver(timed) == 3
    assert ring.names() == ["b", "c"]


def test_a_disabled_subscriber_gets_its_copies_later(
    timed: Process, source: DocumentClient, target: DocumentClient
) -> None:
    target.call("queue_disable")
    source.upload()
    assert deliver(timed) == 0
    assert target.subscription()["state"] == "disabled"
    target.call("queue_enable")
    assert deliver(timed) == 1


@pytest.mark.parametrize("policy", ["delete", "purge"])
def test_copies_still_to_be_made_survive_their_source(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World, policy: str
) -> None:
    sent = source.upload(name="kept")
    if policy == "delete":
        source.delete(sent["document_id"])
    else:
        assert source.call("queue_purge").status == 202
    assert source.listed() == []
    assert deliver(timed) == 1
    (copy,) = target.listed()
    assert target.download(copy["document_id"]) == CSV.encode()
    assert len(world.objects()) == 1


def test_copies_survive_the_deletion_of_their_source_s_queue(
    timed: Process, source: DocumentClient, target: DocumentClient, clock: ManualClock, world: World
) -> None:
    source.upload()
    queue_id = source.queue_id
    source.call("queue_delete")
    timed.run("queue_sweep")
    assert deliver(timed) == 1
    timed.run("queue_sweep")
    assert target.call("subscription_read").problem == (404, "not_found")
    deliver(timed)
    clock.advance(seconds=70)
    timed.run("queue_sweep")
    assert [row for row in world.rows(world.state_table) if queue_id in str(row)] == []
    assert len(world.objects()) == 1
    assert target.download(target.listed()[0]["document_id"]) == CSV.encode()


def test_a_deleted_subscriber_is_forgotten(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World, clock: ManualClock
) -> None:
    source.upload()
    target.call("queue_delete")
    assert deliver(timed) == 0
    assert source.subscribers() == []
    timed.run("queue_sweep")
    clock.advance(seconds=70)
    timed.run("queue_sweep")
    deliver(timed)
    left = [row["pk"]["S"] for row in world.rows(world.state_table)]
    assert [pk for pk in left if pk.startswith(("outbox", "deliveries", "copies", "subscribers"))] == []


def test_loops_end(timed: Process, source: DocumentClient, other: Tenant) -> None:
    names = ["b", "c"]
    ring = [source]
    for name in names:
        client = DocumentClient(timed, other.key, name).create(allow_subscriptions=True)
        client.subscribe(ring[-1])
        ring.append(client)
    source.subscribe(ring[-1])
    for number, client in enumerate(ring):
        client.upload(name=f"from{number}")
    for _ in range(6):
        deliver(timed)
    for client in ring:
        assert sorted(client.names()) == ["from0", "from1", "from2"]
        assert client.subscription()["pending"] == 0


def test_two_queues_that_subscribe_to_each_other(
    timed: Process, source: DocumentClient, target: DocumentClient
) -> None:
    body = {"settings": {"allow_subscriptions": True}}
    assert target.call("queue_update", body=body).status == 200
    source.subscribe(target)
    source.upload(name="a")
    target.upload(name="b")
    assert [deliver(timed), deliver(timed), deliver(timed)] == [2, 0, 0]
    assert (source.names(), target.names()) == (["a", "b"], ["b", "a"])


def test_many_subscribers_cost_the_upload_nothing(
    timed: Process, source: DocumentClient, other: Tenant, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "CHUNK", 3)
    clients = [DocumentClient(timed, other.key, f"t{number}").create() for number in range(8)]
    for client in clients:
        client.subscribe(source)
    source.upload(name="warm")
    with ledger.operation("upload") as cost:
        source.upload(name="counted")
    assert cost.calls == {"s3.PutObject": 1, "dynamodb.GetItem": 1, "dynamodb.TransactWriteItems": 1}
    assert deliver(timed) == 16
    assert all(client.names() == ["warm", "counted"] for client in clients)


def test_deliveries_side_by_side_make_each_copy_once(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World
) -> None:
    for number in range(6):
        source.upload(name=f"n{number}")
    timed.handler("document_deliver")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: deliver(timed), range(4)))
    made.append(deliver(timed))
    assert sum(made) == 6
    assert sorted(target.names()) == [f"n{number}" for number in range(6)]
    assert (target.subscription()["delivered"], target.subscription()["pending"]) == (6, 0)
    assert len(world.objects()) == 12


def test_storage_that_fails_one_subscriber_holds_up_no_other(
    timed: Process, source: DocumentClient, target: DocumentClient, other: Tenant
) -> None:
    second = DocumentClient(timed, other.key, "second").create()
    second.subscribe(source)
    source.upload()
    queue_id = target.queue_id
    with faults.failing(faults.THROTTLED, times=None, service="s3", where=lambda call: queue_id in call.request.url):
        assert deliver(timed) == 1
    assert (second.names(), target.names()) == (["prices.csv"], [])
    assert target.subscription()["state"] == "failing"
    assert deliver(timed) == 1
    assert target.subscription()["state"] == "active"


def test_l1_a_document_that_does_not_open_is_not_delivered(
    timed: Process, source: DocumentClient, target: DocumentClient, world: World
) -> None:
    broken, _ = source.upload(name="broken"), source.upload(name="good")
    key = f"document/{source.queue_id}/{broken['document_id']}"
    world.client("s3").put_object(Bucket=world.bucket, Key=key, Body=b"not sealed")
    assert deliver(timed) == 1
    assert target.names() == ["good"]
    state = target.subscription()
    assert (state["delivered"], state["pending"], state["failed"]) == (1, 0, 1)
    assert deliver(timed) == 0


def test_subscriptions_are_the_admin_s_business(timed: Process, other: Tenant, target: DocumentClient) -> None:
    client = DocumentClient(timed, timed.client_key(other, ("*", "publish consume")), "target")
    for reply in (
        client.try_subscribe(target.queue_id),
        client.call("subscription_read"),
        client.call("subscription_delete"),
        client.call("subscriber_list"),
        client.call("subscriber_delete"),
    ):
        assert reply.problem == (403, "forbidden")


def test_k2_another_tenant_s_subscription_is_not_there(
    timed: Process, source: DocumentClient, target: DocumentClient, platform_key: str
) -> None:
    stranger = timed.tenant("stranger", platform_key=platform_key)
    own = DocumentClient(timed, stranger.key, "own").create()
    path = {"subscription_id": target.subscription()["subscription_id"]}
    assert own.call("subscriber_delete", path=path).problem == (404, "not_found")
    assert DocumentClient(timed, stranger.key, source.queue_id).call("subscriber_list").problem == (404, "not_found")
    assert len(source.subscribers()) == 1


def test_a_subscription_lives_on_when_its_source_allows_no_more(
    timed: Process, other: Tenant, source: DocumentClient, target: DocumentClient
) -> None:
    held = target.subscription()
    late = DocumentClient(timed, other.key, "late").create()
    assert source.call("queue_update", body={"settings": {"allow_subscriptions": False}}).status == 200
    again = target.try_subscribe(source.queue_id)
    assert (again.status, again.json) == (200, held)
    refused = late.try_subscribe(source.queue_id)
    assert refused.problem == (404, "not_found")
    assert target.call("subscription_delete").status == 204
    assert target.try_subscribe(source.queue_id).body == refused.body
