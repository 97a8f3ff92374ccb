"""The partitioned log: enqueue, poll and commit, large messages, repeated requests; and its end."""

from tests.journeys.callers import Product

LOGS = "/queue/v1/namespaces/shop/queues"


def log(product: Product) -> None:
    """The life of a log."""
    admin, _ = product.tenant()
    for queue in ("orders", "returns"):
        admin("POST", LOGS, body={"queue": queue, "partitions": 1})
    page = admin("GET", f"{LOGS}?limit=1")
    admin("GET", f"{LOGS}?limit=1&next_token={page['next_token']}")
    orders = f"{LOGS}/orders"
    admin("GET", orders)
    admin("GET", f"{orders}/partitions")
    # The last is too big for an item.
    messages = [{"key": "k", "seq": seq, "value": "x" * length} for seq, length in ((2, 2), (1, 1), (3, 500_000))]
    for _ in range(2):
        enqueued = admin("POST", f"{orders}/messages", body={"messages": messages}, idempotency_key="once")
        assert enqueued["accepted"] == 3
    admin("GET", f"{orders}/stats")
    page = admin("GET", f"{orders}/partitions/0/poll?limit=2")
    assert [message["value"] for message in page["messages"]] == ["x", "xx"]
    rest = admin("GET", f"{orders}/partitions/0/poll?cursor={page['cursor']}")
    assert [len(message["value"]) for message in rest["messages"]] == [500_000]
    for cursor in (page["cursor"], rest["cursor"]):
        admin("DELETE", f"{orders}/partitions/0/messages?cursor={cursor}")
    assert admin("GET", f"{orders}/partitions/0/poll")["messages"] == []

    admin("POST", f"{orders}/messages", body={"messages": messages})
    admin("PUT", f"{orders}/disable")
    admin("PUT", f"{orders}/enable")
    admin("PUT", f"{orders}/disable")
    admin("DELETE", orders, expect=204)
    assert product.schedule("queue_sweep") >= 1
