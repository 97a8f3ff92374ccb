"""The producer and the one consumer of a log."""

import itertools
import os
import time

from tools.loading.api import Api
from tools.loading.journal import Journal
from tools.loading.workers.messages import IDLE_SECONDS

LOG = "/queue/v1/namespaces/load/queues/log"


def enqueue(api: Api, journal: Journal, _: str) -> None:
    """Enqueue messages one by one, each under an Idempotency-Key, until the parent ends it."""
    for number in itertools.count():
        name = f"{os.getpid()}-{number}"
        body = {"messages": [{"key": "k", "seq": time.time_ns(), "value": name}]}
        journal.note("sent", id=name)
        status, answer = api.insist("POST", f"{LOG}/messages", body, name=name, Idempotency_Key=name)
        if status != 200:
            journal.note("defect", asked=f"POST {LOG}/messages", answer=f"{status} {answer}", id=name)
        elif answer["accepted"] == 1:
            journal.note("stored", id=name, message_id=answer["results"][0]["id"])


def follow(api: Api, journal: Journal, _: str) -> None:
    """Poll the log from its beginning, and commit what was seen."""
    place = f"{LOG}/partitions/0"
    while True:
        began = time.monotonic()
        status, page = api.ask("GET", f"{place}/poll?limit=50")
        if status != 200 or not page["messages"]:
            time.sleep(IDLE_SECONDS)
            continue
        for message in page["messages"]:
            journal.note("got", id=message["value"], message_id=message["id"], began=began)
        status, answer = api.insist("DELETE", f"{place}/messages?cursor={page['cursor']}")
        if status != 200:
            journal.note("defect", asked=f"DELETE {place}/messages", answer=f"{status} {answer}")
            continue
        for message in page["messages"]:
            journal.note("acked", id=message["value"])
