"""Least privilege: what each function uses on the journeys is what its policies grant, and no more."""

from collections import defaultdict

import pytest

from tests.journeys.in_process import product_in_process
from tests.journeys.routes import JOURNEYS
from tests.processes import Process
from tests.template.repository import functions, template
from tests.worlds import World
from tools.calls import watching
from tools.rights import Right, Rights, granted

GRANTED = granted(template())
by_function = pytest.mark.parametrize("function", [function.name for function in functions()])


@pytest.fixture(scope="module")
def used(world: World) -> dict[str, set[Right]]:
    """What each function uses when all journeys are made, each function in a process of its own, cold at first."""
    world.wipe()
    rights = Rights(world.resources)
    processes: dict[str, Process] = defaultdict(Process)
    product = product_in_process(
        template(), platform_key=f"platform.{world.platform_key}", process_of=processes.__getitem__
    )
    with watching(rights):
        for journey in JOURNEYS.values():
            journey(product)
    return rights.used


@by_function
def test_nothing_is_missing(used: dict[str, set[Right]], function: str) -> None:
    allowed: set[Right] = set().union(*GRANTED[function].values())
    assert used.get(function, set()) - allowed == set()


LARGE = {("s3:GetObject", "Bucket/payload/*"), ("s3:ListBucket", "Bucket")}
FREES = {("s3:DeleteObject", "Bucket/payload/*")}
FREES_DOCUMENTS = {("s3:DeleteObject", "Bucket/document/*")}
MANY: set[Right] = {("dynamodb:BatchGetItem", "State")}
SORTED = {("dynamodb:Query", "State/index/by_sort")}
SELDOM: dict[str, set[Right]] = {
    "queue_sweep": MANY | {("dynamodb:DeleteItem", "Edges"), ("dynamodb:UpdateItem", "State")},  # a purge cut short
    "dlq_list": LARGE,  # a dead letter too big for a row
    "dlq_delete": FREES,
    "dlq_purge": FREES,
    "consumer_seek": FREES | {("dynamodb:BatchWriteItem", "Edges")},  # drops what was redriven to the consumer
    "consumer_forget": FREES | {("dynamodb:BatchWriteItem", "Edges")},
    "item_read": MANY,  # a key in a path that reads as a number too
    "item_delete": MANY | FREES,
    "item_delete_by_key": FREES,
    "item_updates": LARGE,
    "item_sweep": FREES  # expired items, which leave a tombstone
    | {("dynamodb:DeleteItem", "State"), ("dynamodb:PutItem", "State"), ("dynamodb:Query", "State/index/by_rank")},
    "document_upload": MANY,  # a full queue that drops its oldest
    "document_list": MANY | SORTED,  # a filter by name or by time
    "subscription_put": {("dynamodb:DeleteItem", "State")},  # in place of a subscription whose source is gone
    "document_deliver": FREES_DOCUMENTS | SORTED,  # a copy that is not wanted any more
    "object_sweep": MANY | FREES_DOCUMENTS | SORTED | {("dynamodb:Query", "State"), ("dynamodb:UpdateItem", "State")},
}
"""What functions use only in cases that no journey meets."""


@by_function
def test_nothing_is_to_spare(used: dict[str, set[Right]], function: str) -> None:
    own = GRANTED[function].get("own", set())
    assert own - used.get(function, set()) == SELDOM.get(function, set())


@pytest.mark.parametrize("policy", template().resources_of("AWS::IAM::ManagedPolicy"))
def test_a_shared_policy_grants_nothing_that_none_of_its_users_needs(used: dict[str, set[Right]], policy: str) -> None:
    users = [function for function, policies in GRANTED.items() if policy in policies]
    needed: set[Right] = set().union(*(used.get(function, set()) for function in users))
    assert GRANTED[users[0]][policy] - needed == set()
