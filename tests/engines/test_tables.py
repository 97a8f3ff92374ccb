from pathlib import Path
from typing import Any

import pytest

from tests.worlds import Engine, World
from tools import tables
from tools.serving.template import read_template

TEMPLATE = """
Parameters:
  LogLevel: {Type: String, Default: INFO}
Globals:
  Function:
    Handler: app.handler
    Environment:
      Variables:
        BIRDS_TABLE: !Ref Birds
        KEY: !GetAtt Lock.Arn
        LOG_LEVEL: !Ref LogLevel
        NEST: !Ref Nest
Resources:
  BirdRead:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/bird_read
      Environment: {Variables: {WORD: !Ref Password, QUEUE: !Ref Elsewhere}}
  Birds:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions:
        - {AttributeName: name, AttributeType: S}
      KeySchema:
        - {AttributeName: name, KeyType: HASH}
      TimeToLiveSpecification: {AttributeName: gone, Enabled: true}
  Nest: {Type: "AWS::S3::Bucket"}
  Lock: {Type: "AWS::KMS::Key"}
  Password:
    Type: AWS::SecretsManager::Secret
    Properties: {GenerateSecretString: {PasswordLength: 43, ExcludePunctuation: true}}
  Elsewhere: {Type: "AWS::SQS::Queue"}
"""


@pytest.fixture
def template(tmp_path: Path) -> Any:
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE)
    return read_template(path)


def test_everything_declared_is_made(engine: Engine, template: Any, pk: str) -> None:
    prefix = pk.replace("#", "-")
    made = tables.create(template, endpoint_url=engine.endpoint_url, prefix=prefix)
    assert {name: made.environment[name] for name in ("BIRDS_TABLE", "LOG_LEVEL", "NEST")} == {
        "BIRDS_TABLE": f"{prefix}-Birds",
        "LOG_LEVEL": "INFO",
        "NEST": f"{prefix}-nest",
    }
    assert "QUEUE" not in made.environment
    secret = engine.client("secretsmanager").get_secret_value(SecretId=made.environment["WORD"])["SecretString"]
    assert made.secret_values == {"Password": secret}
    assert len(secret) == 43
    assert secret.isalnum()
    key = engine.client("kms").describe_key(KeyId=made.environment["KEY"])["KeyMetadata"]
    assert key["Arn"] == made.environment["KEY"] == made.names["Lock.Arn"]
    described = engine.client().describe_time_to_live(TableName=made.names["Birds"])["TimeToLiveDescription"]
    assert described == {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone"}


def test_what_is_there_is_found_again(engine: Engine, template: Any, pk: str) -> None:
    prefix = pk.replace("#", "-")
    made = tables.create(template, endpoint_url=engine.endpoint_url, prefix=prefix)
    engine.client().put_item(TableName=made.names["Birds"], Item={"name": {"S": "wren"}})
    assert tables.create(template, endpoint_url=engine.endpoint_url, prefix=prefix) == made
    assert engine.client().scan(TableName=made.names["Birds"])["Count"] == 1
    tables.remove_tables(made, template, endpoint_url=engine.endpoint_url)
    assert made.names["Birds"] not in engine.client().list_tables()["TableNames"]


def test_the_environment_leads_clients_to_the_engine(engine: Engine) -> None:
    environment = engine.resources.environment
    assert environment.get("AWS_ENDPOINT_URL") == engine.endpoint_url
    assert environment["AWS_REGION"] == environment["AWS_DEFAULT_REGION"] == tables.REGION


def test_the_project_has_what_the_functions_need(world: World) -> None:
    assert {"EDGES_TABLE", "STATE_TABLE", "BUCKET", "KMS_KEY_ID", "PLATFORM_SECRET_ID"} <= set(
        world.resources.environment
    )
    described = world.client("dynamodb").describe_table(TableName=world.state_table)["Table"]
    assert {index["IndexName"] for index in described["LocalSecondaryIndexes"]} == {"by_rank", "by_sort"}
    world.client("dynamodb").put_item(TableName=world.edges_table, Item={"source": {"S": "s"}, "seq": {"S": "1"}})
    world.client("s3").put_object(Bucket=world.bucket, Key="k", Body=b"")
    assert (len(world.rows(world.edges_table)), world.objects()) == (1, ["k"])
    world.wipe()
    assert (world.rows(world.edges_table), world.objects()) == ([], [])
