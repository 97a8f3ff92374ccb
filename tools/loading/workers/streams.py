"""The producer of messages that are joined with items, some of which come later than the messages that name them."""

import itertools
import os

from tools.loading.api import Api
from tools.loading.journal import Journal
from tools.loading.workers.messages import publish

LOOKUP = "lookup"
"""The key_value queue that is looked up."""
_ROUND, _WAITING = 4, 2


def put_item(api: Api, journal: Journal, *, sku: str, stamp: str) -> None:
    """Publish an item, repeated until it is answered."""
    journal.note("item sent", id=sku, stamp=stamp)
    path, body = f"/queues/{LOOKUP}/messages", {"sku": sku, "stamp": stamp}
    status, answer = api.insist("POST", path, body)
    if status in (200, 201):
        journal.note("item stored", id=sku, stamp=stamp, version=answer["version"])
    else:
        journal.note("defect", asked=f"POST {path}", answer=f"{status} {answer}", id=sku)


def produce(api: Api, journal: Journal, queue: str) -> None:
    """Publish rounds of messages until the parent ends it: two wait for an item of their own, two find one.

    No other process writes these items, so it is known which version each message has to be joined with.
    """
    own, stamp = f"{queue}-{os.getpid()}", ""
    for number in itertools.count():
        turn, step = divmod(number, _ROUND)
        late = f"{own}-{turn}"
        if step == 0 and turn % 3 == 0:
            stamp = f"{own}@{turn}"
            put_item(api, journal, sku=own, stamp=stamp)
        if step == _WAITING:
            put_item(api, journal, sku=late, stamp=late)
        sku = own if step == _ROUND - 1 else late
        name = f"{os.getpid()}-{number}"
        journal.note("sent", id=name, joined=[sku, stamp if sku == own else late])
        status = publish(api, journal, queue, name=name, number=number, body={"id": name, "sku": sku})
        expected = "pending_enrichment" if step < _WAITING else "queued"
        if status not in ("", expected):
            journal.note("defect", asked=f"POST {queue}", answer=f"it is {status}, not {expected}", id=name)
