from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.worlds import Engine, Engines, World
from tools import faults, tables
from tools.ledger import Cost, Ledger


def row(pk: str, sk: str = "row", body: int = 0, **attributes: str) -> dict[str, Any]:
    texts = {name: {"S": value} for name, value in attributes.items()}
    return {"pk": {"S": pk}, "sk": {"S": sk}, "body": {"B": bytes(body)}, **texts}


def key(pk: str, sk: str = "row") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def query(engine: Engine, pk: str, **more: Any) -> dict[str, Any]:
    condition = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": pk}}}
    return {"TableName": engine.state_table, "ConsistentRead": True, **condition, **more}


def test_calls_and_resources_are_counted(world: World, ledger: Ledger) -> None:
    dynamodb, s3, kms = world.client("dynamodb"), world.client("s3"), world.client("kms")
    with ledger.operation("store") as cost:
        dynamodb.put_item(TableName=world.state_table, Item=row("p"))
        dynamodb.put_item(TableName=world.state_table, Item=row("p", "other"))
        s3.put_object(Bucket=world.bucket, Key="k", Body=b"x" * 500)
        kms.generate_data_key(KeyId=world.resources.names["TenantKeys"], KeySpec="AES_256")
        world.client("secretsmanager").get_secret_value(SecretId=world.resources.names["PlatformSecret"])
    assert cost.calls == {
        "dynamodb.PutItem": 2,
        "s3.PutObject": 1,
        "kms.GenerateDataKey": 1,
        "secretsmanager.GetSecretValue": 1,
    }
    names = world.resources.names
    assert cost.resources == {world.state_table, world.bucket, names["TenantKeys"], names["PlatformSecret"]}
    assert (cost.read_units, cost.write_units, cost.inexact) == (0, 2, frozenset())


def test_only_what_happens_in_the_block_is_charged(world: World, ledger: Ledger) -> None:
    dynamodb = world.client("dynamodb")
    dynamodb.put_item(TableName=world.state_table, Item=row("p"))
    with ledger.operation("outer") as outer:
        with ledger.operation("inner") as inner:
            dynamodb.put_item(TableName=world.state_table, Item=row("p"))
        dynamodb.get_item(TableName=world.state_table, Key=key("p"))
    dynamodb.put_item(TableName=world.state_table, Item=row("p"))
    assert inner.cost.calls == {"dynamodb.PutItem": 1}
    assert outer.cost.calls == {"dynamodb.PutItem": 1, "dynamodb.GetItem": 1}
    assert (outer.read_units, outer.write_units) == (0.5, 1)


def test_the_threads_of_an_operation_are_charged_to_it(world: World, ledger: Ledger) -> None:
    dynamodb = world.client("dynamodb")
    with ledger.operation("batches") as cost, ThreadPoolExecutor(8) as pool:
        list(
            pool.map(lambda n: dynamodb.put_item(TableName=world.state_table, Item=row(f"p{n}", body=1500)), range(40))
        )
    assert cost.calls == {"dynamodb.PutItem": 40}
    assert cost.write_units == 80


def test_operations_of_one_name_add_up(world: World, ledger: Ledger) -> None:
    for n in range(3):
        with ledger.operation("put"):
            world.client("dynamodb").put_item(TableName=world.state_table, Item=row(f"p{n}"))
    assert ledger.total("put").calls == {"dynamodb.PutItem": 3}
    assert ledger.total("nothing") == Cost()
    assert str(ledger).startswith("3 x put: 3 x dynamodb.PutItem; 0 read and 3 write units; ")


def test_reads_are_charged_by_size(engine: Engine, ledger: Ledger, pk: str) -> None:
    dynamodb = engine.client()
    dynamodb.put_item(TableName=engine.state_table, Item=row(pk, "a", body=5000, rank="r"))
    dynamodb.put_item(TableName=engine.state_table, Item=row(pk, "b", body=5000))
    with ledger.operation("query") as cost:
        dynamodb.query(**query(engine, pk))
    assert (cost.read_units, cost.inexact) == (3, frozenset())
    with ledger.operation("index") as cost:
        dynamodb.query(**query(engine, pk, IndexName="by_rank"))
    assert (cost.read_units, cost.inexact) == (1, frozenset())
    with ledger.operation("get") as cost:
        dynamodb.get_item(TableName=engine.state_table, Key=key(pk, "a"))
        dynamodb.get_item(TableName=engine.state_table, Key=key(pk, "none"), ConsistentRead=True)
    assert cost.read_units == 1 + 1
    keys = [key(pk, "a"), key(pk, "b"), key(pk, "none")]
    with ledger.operation("batch") as cost:
        dynamodb.batch_get_item(RequestItems={engine.state_table: {"Keys": keys, "ConsistentRead": True}})
    assert cost.read_units == 2 + 2 + 1
    with ledger.operation("transaction") as cost:
        dynamodb.transact_get_items(TransactItems=[{"Get": {"TableName": engine.state_table, "Key": k}} for k in keys])
    assert cost.read_units == 2 * (2 + 2 + 1)


def test_dynalite_prices_reads_as_we_do(engines: Engines, ledger: Ledger, pk: str) -> None:
    dynalite = engines("dynalite")
    for n in range(7):
        dynalite.client().put_item(TableName=dynalite.state_table, Item=row(pk, f"{n}", body=3000))
    priced = dynalite.client().query(**query(dynalite, pk), ReturnConsumedCapacity="TOTAL")["ConsumedCapacity"]
    with ledger.operation("query") as cost:
        dynalite.client().query(**query(dynalite, pk))
    assert cost.read_units == priced["CapacityUnits"] == 6
    with ledger.operation("projection") as cost:
        dynalite.client().query(**query(dynalite, pk, ProjectionExpression="pk"))
    assert cost.read_units == 6


def test_a_projection_is_charged_by_the_whole_items(world: World, engines: Engines, ledger: Ledger) -> None:
    moto = engines("moto")
    for n in range(3):
        moto.client().put_item(TableName=world.state_table, Item=row("p", f"{n}", body=4000))
    with ledger.operation("keys") as cost:
        moto.client().query(**query(moto, "p", ProjectionExpression="pk, sk"))
    assert (cost.read_units, cost.inexact) == (3, frozenset())
    with ledger.operation("half the keys") as cost:
        moto.client().query(**query(moto, "p", ProjectionExpression="sk"))
    assert (cost.read_units, cost.inexact) == (1, frozenset({"dynamodb.Query"}))
    assert "at least 1 read" in str(cost)


def test_what_a_filter_hides_is_not_known(world: World, engines: Engines, ledger: Ledger) -> None:
    moto = engines("moto")
    moto.client().put_item(TableName=world.state_table, Item=row("p", body=9000))
    filtered = query(moto, "p", FilterExpression="attribute_exists(absent)")
    with ledger.operation("filter") as cost:
        moto.client().query(**filtered)
    assert cost.inexact == {"dynamodb.Query"}


def writes(engine: Engine, pk: str) -> list[tuple[str, dict[str, Any]]]:
    """Writes of every kind, each upon what those before it left."""
    table = {"TableName": engine.state_table}
    set_rank = {
        "UpdateExpression": "SET #rank = :rank",
        "ExpressionAttributeNames": {"#rank": "rank"},
        "ExpressionAttributeValues": {":rank": {"S": "r2"}},
    }
    absent = {"ConditionExpression": "attribute_not_exists(pk)"}
    return [
        ("put_item", {**table, "Item": row(pk, "a", body=2000)}),
        ("put_item", {**table, "Item": row(pk, "b", rank="r", sort="s")}),
        ("put_item", {**table, "Item": row(pk, "a")}),
        ("update_item", {**table, "Key": key(pk, "b"), **set_rank}),
        ("update_item", {**table, "Key": key(pk, "a"), **set_rank}),
        ("update_item", {**table, "Key": key(pk, "c"), **set_rank}),
        ("delete_item", {**table, "Key": key(pk, "c")}),
        ("delete_item", {**table, "Key": key(pk, "never")}),
        (
            "batch_write_item",
            {
                "RequestItems": {
                    engine.state_table: [
                        {"PutRequest": {"Item": row(pk, "d", body=1500)}},
                        {"PutRequest": {"Item": row(pk, "e", sort="s")}},
                        {"DeleteRequest": {"Key": key(pk, "b")}},
                    ],
                    engine.edges_table: [{"PutRequest": {"Item": {"source": {"S": pk}, "seq": {"S": "1"}}}}],
                }
            },
        ),
        (
            "transact_write_items",
            {
                "TransactItems": [
                    {"Put": {**table, "Item": row(pk, "f", body=1500, rank="r"), **absent}},
                    {"Update": {**table, "Key": key(pk, "e"), **set_rank}},
                    {"Delete": {**table, "Key": key(pk, "d")}},
                ]
            },
        ),
    ]


EXPECTED = [2, 3, 2, 3, 2, 2, 2, 1, 2 + 2 + 3 + 1, (4 + 1) + (2 + 1) + 4]


def test_writes_are_charged_by_the_rules(engine: Engine, ledger: Ledger, pk: str) -> None:
    dynamodb, units = engine.client(), []
    for operation, request in writes(engine, pk):
        with ledger.operation(operation) as cost:
            getattr(dynamodb, operation)(**request)
        assert cost.inexact == frozenset()
        units.append(cost.write_units)
    assert units == EXPECTED


def test_failed_conditions_are_charged_and_other_errors_are_not(world: World, ledger: Ledger) -> None:
    dynamodb = world.client("dynamodb")
    dynamodb.put_item(TableName=world.state_table, Item=row("p", body=2500))
    put = {"TableName": world.state_table, "Item": row("p"), "ConditionExpression": "attribute_not_exists(pk)"}
    with ledger.operation("condition") as cost, pytest.raises(ClientError):
        dynamodb.put_item(**put)
    assert cost.write_units == 3
    with ledger.operation("transaction") as cost, pytest.raises(ClientError):
        dynamodb.transact_write_items(TransactItems=[{"Put": put}])
    assert cost.write_units == 6
    with ledger.operation("throttled") as cost, faults.failing(faults.THROTTLED), pytest.raises(ClientError):
        dynamodb.put_item(**put)
    assert (cost.calls, cost.write_units) == ({"dynamodb.PutItem": 1}, 0)


def test_what_a_batch_leaves_is_not_charged(world: World, ledger: Ledger) -> None:
    requests = [{"PutRequest": {"Item": row(f"p{n}")}} for n in range(10)]
    with ledger.operation("batch") as cost, faults.failing(faults.unprocessed(done=4)):
        world.client("dynamodb").batch_write_item(RequestItems={world.state_table: requests})
    assert cost.write_units == 4


def test_bytes_are_those_of_the_bodies(engine: Engine, ledger: Ledger) -> None:
    s3 = engine.client("s3")
    with ledger.operation("put") as put:
        s3.put_object(Bucket=engine.bucket, Key="bytes", Body=b"x" * 3000)
    with ledger.operation("get") as get:
        assert len(s3.get_object(Bucket=engine.bucket, Key="bytes")["Body"].read()) == 3000
    assert put.bytes_sent == 3000
    assert (get.bytes_sent, get.bytes_received) == (0, 3000)
    dynamodb = engine.client()
    with ledger.operation("item") as item:
        dynamodb.put_item(TableName=engine.state_table, Item=row("bytes", body=3000))
    assert 4000 < item.bytes_sent < 4400, "binary travels as base64"


def test_attempts_that_the_sdk_repeats_count(world: World, ledger: Ledger) -> None:
    patient = boto3.client(
        "dynamodb", region_name=tables.REGION, config=Config(retries={"total_max_attempts": 2, "mode": "standard"})
    )
    with ledger.operation("get") as cost, faults.failing(faults.LOST):
        patient.get_item(TableName=world.state_table, Key=key("p"))
    assert cost.calls == {"dynamodb.GetItem": 2}
