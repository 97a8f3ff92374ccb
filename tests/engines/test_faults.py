import threading
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError

from tests.worlds import Engine, World
from tools import faults, tables
from tools.faults import choosing, crash_points, failing


def key(pk: str, sk: str = "row") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def put(engine: Engine | World, dynamodb: Any, pk: str, sk: str = "row") -> None:
    dynamodb.put_item(TableName=engine.state_table, Item=key(pk, sk))


def stored(engine: Engine | World, dynamodb: Any, pk: str) -> list[str]:
    """The range keys that stand under a hash key."""
    answer = dynamodb.query(
        TableName=engine.state_table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}},
        ConsistentRead=True,
    )
    return [item["sk"]["S"] for item in answer["Items"]]


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.THROTTLED, "ProvisionedThroughputExceededException"),
        (faults.THROTTLING, "ThrottlingException"),
        (faults.CONFLICT, "TransactionConflictException"),
        (faults.SERVER_ERROR, "InternalServerError"),
    ],
    ids=str,
)
def test_a_refused_call_has_not_happened(engine: Engine, pk: str, fault: faults.Fault, code: str) -> None:
    dynamodb = engine.client()
    with failing(fault), pytest.raises(ClientError) as refused:
        put(engine, dynamodb, pk)
    assert refused.value.response["Error"]["Code"] == code
    assert stored(engine, dynamodb, pk) == []


def test_errors_have_the_type_that_clients_catch(world: World) -> None:
    dynamodb = world.client("dynamodb")
    with failing(faults.THROTTLED), pytest.raises(dynamodb.exceptions.ProvisionedThroughputExceededException):
        put(world, dynamodb, "p")


def test_no_connection_means_nothing_happened(engine: Engine, pk: str) -> None:
    dynamodb = engine.client()
    with failing(faults.TIMEOUT), pytest.raises(ConnectTimeoutError):
        put(engine, dynamodb, pk)
    assert stored(engine, dynamodb, pk) == []


def test_a_lost_answer_is_of_a_call_that_happened(engine: Engine, pk: str) -> None:
    dynamodb = engine.client()
    with failing(faults.LOST), pytest.raises(ReadTimeoutError):
        put(engine, dynamodb, pk)
    with failing(faults.SERVER_ERROR_AFTER), pytest.raises(ClientError, match="InternalServerError"):
        put(engine, dynamodb, pk, "two")
    assert stored(engine, dynamodb, pk) == ["row", "two"]


@pytest.mark.parametrize(("fault", "left"), [(faults.KILLED, ["1"]), (faults.KILLED_AFTER, ["1", "2"])], ids=str)
def test_the_dead_do_nothing_more(engine: Engine, pk: str, fault: faults.Fault, left: list[str]) -> None:
    dynamodb = engine.client()

    def operation() -> None:
        try:
            put(engine, dynamodb, pk, "1")
            put(engine, dynamodb, pk, "2")
        except Exception:  # noqa: BLE001 - what careless code does
            put(engine, dynamodb, pk, "handled")
        finally:
            put(engine, dynamodb, pk, "cleaned up")

    with failing(fault, at=2), pytest.raises(faults.Killed):
        operation()
    assert stored(engine, dynamodb, pk) == left


def test_death_reaches_the_threads(world: World) -> None:
    dynamodb, met = world.client("dynamodb"), []

    def work() -> None:
        try:
            put(world, dynamodb, "thread")
        except faults.Killed as death:
            met.append(death)

    with failing(faults.KILLED, where=lambda call: "main" in str(call.document)):
        with pytest.raises(faults.Killed):
            put(world, dynamodb, "main")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert len(met) == 1
    assert stored(world, dynamodb, "thread") == []


def test_a_cancelled_transaction_says_why(engine: Engine, pk: str) -> None:
    dynamodb = engine.client()
    actions = [{"Put": {"TableName": engine.state_table, "Item": key(pk, sk)}} for sk in ("a", "b")]
    for fault, reason in (
        (faults.CONFLICT, "TransactionConflict"),
        (faults.cancellation("ThrottlingError"), "ThrottlingError"),
    ):
        with failing(fault), pytest.raises(dynamodb.exceptions.TransactionCanceledException) as cancelled:
            dynamodb.transact_write_items(TransactItems=actions)
        assert [each["Code"] for each in cancelled.value.response["CancellationReasons"]] == [reason, "None"]
    assert stored(engine, dynamodb, pk) == []


def test_part_of_a_batch_is_left(engine: Engine, pk: str) -> None:
    dynamodb = engine.client()
    items = [{**key(pk, f"{n}"), "b": {"B": bytes([n, 255])}} for n in range(6)]
    requests: dict[str, Any] = {engine.state_table: [{"PutRequest": {"Item": item}} for item in items]}
    with failing(faults.unprocessed(done=4)):
        answer = dynamodb.batch_write_item(RequestItems=requests)
    assert answer["UnprocessedItems"] == {engine.state_table: requests[engine.state_table][4:]}
    assert stored(engine, dynamodb, pk) == ["0", "1", "2", "3"]
    assert dynamodb.batch_write_item(RequestItems=answer["UnprocessedItems"])["UnprocessedItems"] == {}
    assert stored(engine, dynamodb, pk) == ["0", "1", "2", "3", "4", "5"]
    wanted = {engine.state_table: {"Keys": [key(pk, f"{n}") for n in range(6)], "ConsistentRead": True}}
    with failing(faults.unprocessed(done=1)):
        read = dynamodb.batch_get_item(RequestItems=wanted)
    assert read["Responses"][engine.state_table] == items[:1]
    left = {engine.state_table: {"Keys": wanted[engine.state_table]["Keys"][1:], "ConsistentRead": True}}  # type: ignore[index] # the two members differ in type
    assert read["UnprocessedKeys"] == left


def test_a_batch_over_two_tables_is_left_in_order(world: World) -> None:
    edge = {"source": {"S": "s"}, "seq": {"S": "1"}}
    requests: dict[str, Any] = {
        world.state_table: [{"PutRequest": {"Item": key("p", f"{n}")}} for n in range(2)],
        world.edges_table: [{"PutRequest": {"Item": edge}}],
    }
    with failing(faults.unprocessed(done=2)):
        answer = world.client("dynamodb").batch_write_item(RequestItems=requests)
    assert answer["UnprocessedItems"] == {world.edges_table: requests[world.edges_table]}
    with failing(faults.unprocessed(done=0)), pytest.raises(ClientError, match="ProvisionedThroughputExceeded"):
        world.client("dynamodb").batch_write_item(RequestItems=requests)


def test_other_services_fail_in_their_own_words(engine: Engine) -> None:
    s3, kms = engine.client("s3"), engine.client("kms")
    with failing(faults.THROTTLED, times=None):
        with pytest.raises(ClientError, match="SlowDown"):
            s3.put_object(Bucket=engine.bucket, Key="refused", Body=b"x")
        with pytest.raises(ClientError, match="ThrottlingException"):
            kms.generate_data_key(KeyId=engine.resources.names["TenantKeys"], KeySpec="AES_256")
    s3.put_object(Bucket=engine.bucket, Key="kept", Body=b"x")
    with failing(faults.LOST), pytest.raises(ReadTimeoutError):
        s3.get_object(Bucket=engine.bucket, Key="kept")
    listed = s3.list_objects_v2(Bucket=engine.bucket)["Contents"]
    assert "refused" not in [entry["Key"] for entry in listed]


def test_calls_are_chosen_by_number_and_name(world: World) -> None:
    dynamodb, outcomes = world.client("dynamodb"), []
    with failing(faults.THROTTLED, at=2, times=2, service="dynamodb", operation="PutItem") as injection:
        for n in range(5):
            stored(world, dynamodb, "p")
            try:
                put(world, dynamodb, "p", f"{n}")
            except ClientError:
                outcomes.append(n)
    assert outcomes == [1, 2]
    assert injection.struck == ["dynamodb.PutItem"] * 2
    assert injection.seen == ["dynamodb.Query", "dynamodb.PutItem"] * 5


def test_any_plan_can_choose(world: World) -> None:
    dynamodb = world.client("dynamodb")
    plan = iter([None, faults.THROTTLED, faults.LOST])
    with choosing(lambda _: next(plan)) as injection:
        put(world, dynamodb, "p", "1")
        with pytest.raises(ClientError):
            put(world, dynamodb, "p", "2")
        with pytest.raises(ReadTimeoutError):
            put(world, dynamodb, "p", "3")
    assert injection.struck == ["dynamodb.PutItem"] * 2
    assert stored(world, dynamodb, "p") == ["1", "3"]


def test_the_sdk_repeats_through_faults(engine: Engine, pk: str) -> None:
    patient: Any = boto3.client(
        "dynamodb",
        endpoint_url=engine.endpoint_url,
        region_name=tables.REGION,
        config=Config(retries={"total_max_attempts": 2, "mode": "standard"}),
    )
    request = {"TableName": engine.state_table, "Item": key(pk), "ConditionExpression": "attribute_not_exists(pk)"}
    with failing(faults.LOST) as injection, pytest.raises(patient.exceptions.ConditionalCheckFailedException):
        patient.put_item(**request)
    assert injection.seen == ["dynamodb.PutItem"] * 2


def test_every_crash_point_is_visited(world: World) -> None:
    dynamodb, met = world.client("dynamodb"), []

    def operation() -> None:
        for sk in ("1", "2", "3"):
            put(world, dynamodb, "p", sk)

    for point in crash_points(operation, prepare=world.wipe):
        met.append((str(point), stored(world, dynamodb, "p")))
    assert met == [
        ("before call 1, dynamodb.PutItem", []),
        ("after call 1, dynamodb.PutItem", ["1"]),
        ("before call 2, dynamodb.PutItem", ["1"]),
        ("after call 2, dynamodb.PutItem", ["1", "2"]),
        ("before call 3, dynamodb.PutItem", ["1", "2"]),
        ("after call 3, dynamodb.PutItem", ["1", "2", "3"]),
    ]
    assert stored(world, dynamodb, "p") == ["1", "2", "3"], "the last run completes"


def test_an_operation_that_survives_its_death_is_caught(world: World) -> None:
    dynamodb = world.client("dynamodb")

    def immortal() -> None:
        try:
            put(world, dynamodb, "p")
        except BaseException:  # noqa: BLE001 - what no code may do
            return

    with pytest.raises(AssertionError, match="caught its own death"):
        list(crash_points(immortal))


def test_an_endless_operation_is_given_up(world: World) -> None:
    dynamodb = world.client("dynamodb")

    def endless() -> None:
        while True:
            put(world, dynamodb, "p")

    with pytest.raises(AssertionError, match="more than 3 calls"):
        list(crash_points(endless, most=3))
