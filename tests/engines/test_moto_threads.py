import copy
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.table import Table

from tests.worlds import World
from tools import moto_threads, tables

THREADS = 8


@pytest.fixture
def dynamodb(world: World) -> Any:
    return world.client("dynamodb")


def in_threads(work: Callable[[int], object], count: int) -> list[object]:
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, range(count)))


def key(name: str) -> dict[str, Any]:
    return {"pk": {"S": name}, "sk": {"S": "row"}}


def number(dynamodb: Any, world: World, name: str) -> int:
    item = dynamodb.get_item(TableName=world.state_table, Key=key(name), ConsistentRead=True)["Item"]
    return int(item["n"]["N"])


def add(dynamodb: Any, world: World, name: str) -> None:
    dynamodb.update_item(
        TableName=world.state_table,
        Key=key(name),
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
    )


def put(world: World, name: str, n: int, **condition: Any) -> dict[str, Any]:
    return {"Put": {"TableName": world.state_table, "Item": {**key(name), "n": {"N": str(n)}}, **condition}}


def test_adds_of_many_threads_are_all_counted(world: World, dynamodb: Any) -> None:
    in_threads(lambda _: add(dynamodb, world, "counter"), 200)
    assert number(dynamodb, world, "counter") == 200


def test_each_version_is_won_once(world: World, dynamodb: Any) -> None:
    dynamodb.put_item(TableName=world.state_table, Item={**key("row"), "n": {"N": "0"}})

    def win(attempt: int) -> int:
        version = attempt // THREADS
        try:
            dynamodb.update_item(
                TableName=world.state_table,
                Key=key("row"),
                UpdateExpression="SET n = :next",
                ConditionExpression="n = :seen",
                ExpressionAttributeValues={":next": {"N": str(version + 1)}, ":seen": {"N": str(version)}},
            )
        except ClientError:
            return 0
        return 1

    wins = in_threads(win, 25 * THREADS)
    assert sum(map(int, map(str, wins))) == number(dynamodb, world, "row")


def test_failing_transactions_undo_nothing_of_others(world: World, dynamodb: Any) -> None:
    def work(turn: int) -> None:
        if turn % 2:
            add(dynamodb, world, "counter")
            return
        actions = [
            put(world, f"trace{turn}", 1),
            put(world, "absent", 1, ConditionExpression="attribute_exists(pk)"),
        ]
        with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
            dynamodb.transact_write_items(TransactItems=actions)

    in_threads(work, 100)
    assert number(dynamodb, world, "counter") == 50
    assert [row["pk"]["S"] for row in world.rows(world.state_table)] == ["counter"]


def test_a_cancelled_transaction_leaves_no_trace(world: World, dynamodb: Any) -> None:
    for name in ("updated", "replaced", "deleted"):
        dynamodb.put_item(TableName=world.state_table, Item={**key(name), "n": {"N": "1"}, "b": {"B": b"\x00\xff"}})
    before = world.rows(world.state_table)
    table = {"TableName": world.state_table}
    add_one = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException) as cancelled:
        dynamodb.transact_write_items(
            TransactItems=[
                {"Update": {**table, "Key": key("updated"), **add_one}},
                {"Update": {**table, "Key": key("made"), **add_one}},
                put(world, "replaced", 2),
                put(world, "put", 1),
                {"Delete": {**table, "Key": key("deleted")}},
                {"ConditionCheck": {**table, "Key": key("none"), "ConditionExpression": "attribute_exists(pk)"}},
            ]
        )
    codes = [reason["Code"] for reason in cancelled.value.response["CancellationReasons"]]
    assert codes == ["None"] * 5 + ["ConditionalCheckFailed"]
    assert world.rows(world.state_table) == before


def test_an_invalid_transaction_leaves_no_trace(world: World, dynamodb: Any) -> None:
    with pytest.raises(ClientError, match="multiple operations on one item"):
        dynamodb.transact_write_items(TransactItems=[put(world, "a", 1), put(world, "b", 1), put(world, "a", 2)])
    assert world.rows(world.state_table) == []


def test_a_transaction_copies_only_what_it_touches(
    world: World, dynamodb: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynamodb.put_item(TableName=world.state_table, Item=key("bystander"))
    (bystander,) = dynamodb_backends[moto_threads.ACCOUNT][tables.REGION].tables[world.state_table].all_items()
    copied: list[object] = []

    def copy_of(item: object, _: object) -> object:
        copied.append(item)
        return item

    monkeypatch.setattr(type(bystander), "__deepcopy__", copy_of, raising=False)
    dynamodb.transact_write_items(TransactItems=[put(world, "one", 1)])
    assert copied == []
    copy.deepcopy([bystander])
    assert copied == [bystander], "copies are seen"


def test_a_repeated_token_is_done_once(world: World, dynamodb: Any) -> None:
    only_once = put(world, "row", 1, ConditionExpression="attribute_not_exists(pk)")
    for _ in range(2):
        dynamodb.transact_write_items(TransactItems=[only_once], ClientRequestToken="token")
    with pytest.raises(dynamodb.exceptions.IdempotentParameterMismatchException):
        dynamodb.transact_write_items(TransactItems=[put(world, "row", 2)], ClientRequestToken="token")
    assert number(dynamodb, world, "row") == 1


def test_the_token_of_a_cancelled_transaction_is_free(world: World, dynamodb: Any) -> None:
    request = [put(world, "row", 1, ConditionExpression="attribute_not_exists(pk)")]
    dynamodb.put_item(TableName=world.state_table, Item=key("row"))
    with pytest.raises(dynamodb.exceptions.TransactionCanceledException):
        dynamodb.transact_write_items(TransactItems=request, ClientRequestToken="again")
    dynamodb.delete_item(TableName=world.state_table, Key=key("row"))
    dynamodb.transact_write_items(TransactItems=request, ClientRequestToken="again")
    assert number(dynamodb, world, "row") == 1


def test_a_query_reads_its_own_partition(world: World, dynamodb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        for sk in ("1", "2"):
            row = {"pk": {"S": name}, "sk": {"S": sk}, "rank": {"S": f"r{sk}"}}
            dynamodb.put_item(TableName=world.state_table, Item=row)
    monkeypatch.delattr(Table, "all_items")
    for index in ({}, {"IndexName": "by_rank"}):
        answer = dynamodb.query(
            TableName=world.state_table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": "b"}},
            ConsistentRead=True,
            **index,
        )
        assert [(item["pk"]["S"], item["sk"]["S"]) for item in answer["Items"]] == [("b", "1"), ("b", "2")]


def test_a_batch_has_at_most_25_requests(world: World, dynamodb: Any) -> None:
    requests = [{"PutRequest": {"Item": key(f"row{n}")}} for n in range(26)]
    with pytest.raises(ClientError, match="ValidationException"):
        dynamodb.batch_write_item(RequestItems={world.state_table: requests})
    assert world.rows(world.state_table) == []


def test_a_batch_names_an_item_once(world: World, dynamodb: Any) -> None:
    requests = [{"PutRequest": {"Item": {**key("row"), "n": {"N": "1"}}}}, {"DeleteRequest": {"Key": key("row")}}]
    with pytest.raises(ClientError, match="duplicates"):
        dynamodb.batch_write_item(RequestItems={world.state_table: requests})


def test_nothing_is_remembered_but_what_is_stored(world: World, dynamodb: Any) -> None:
    s3 = world.client("s3")

    def cycle(turn: int) -> None:
        names = [f"passing{turn}", f"other{turn}"]
        add(dynamodb, world, names[0])
        dynamodb.transact_write_items(TransactItems=[put(world, names[1], 1)])
        dynamodb.get_item(TableName=world.state_table, Key=key(f"absent{turn}"))
        for name in names:
            dynamodb.delete_item(TableName=world.state_table, Key=key(name))
        s3.put_object(Bucket=world.bucket, Key="same", Body=b"x" * 1000)
        assert len(s3.get_object(Bucket=world.bucket, Key="same")["Body"].read()) == 1000

    def objects_after(turns: range) -> int:
        for turn in turns:
            cycle(turn)
        gc.collect()
        return len(gc.get_objects())

    warm = objects_after(range(20))
    assert objects_after(range(20, 80)) - warm < 60, "less than one object stays behind per turn"
