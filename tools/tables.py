"""The tables, bucket, key and secret of template.yaml, made on any engine, so that no schema is written down twice.

    resources = create(read_template(Path("template.yaml")), endpoint_url=url)
    os.environ.update(resources.environment)

What is already there stays as it is, so an engine that keeps its data can be started again.
"""

import contextlib
import dataclasses
import secrets
import string
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from tools.serving.template import Template, TemplateError, read_template

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_kms import KMSClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient

TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"
REGION = "us-east-1"
EVERYTHING = ("dynamodb", "s3", "kms", "secretsmanager")
TABLE_MEMBERS = ("BillingMode", "AttributeDefinitions", "KeySchema", "LocalSecondaryIndexes", "GlobalSecondaryIndexes")


@dataclasses.dataclass(frozen=True)
class Resources:
    """What was made.

    Attributes:
        names: What `Ref`, and as `LogicalId.Arn` what `GetAtt`, of each resource gives.
        secret_values: The values of the secrets by logical id.
        environment: The functions' environment variables, as far as they do not name resources that were not made,
            and what a client needs to find the engine.
    """

    names: Mapping[str, str]
    secret_values: Mapping[str, str]
    environment: Mapping[str, str]


def client(service: str, *, endpoint_url: str | None = None) -> Any:
    """A client of a local engine; without a URL of moto, if it runs in this process. It does not retry."""
    return boto3.client(  # type: ignore[call-overload] # the name is dynamic
        service,
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(
            retries={"total_max_attempts": 1, "mode": "standard"},
            s3={"addressing_style": "path"},
            max_pool_connections=32,
        ),
    )


def client_environment(endpoint_url: str | None) -> dict[str, str]:
    """The environment variables by which any client of any process finds the engine."""
    found = {} if endpoint_url is None else {"AWS_ENDPOINT_URL": endpoint_url}
    credentials = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    return {"AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION, **credentials, **found}


def create(
    template: Template | None = None,
    *,
    endpoint_url: str | None = None,
    prefix: str = "towpath",
    services: tuple[str, ...] = EVERYTHING,
) -> Resources:
    """Make what the template declares, or find it.

    Args:
        template: The template; by default the project's own.
        endpoint_url: The engine; None for moto in this process.
        prefix: Begins every name; another prefix makes other resources.
        services: Which services the engine has. Resources of others are not made.
    """
    template = template or read_template(TEMPLATE)
    names: dict[str, str] = {"AWS::Region": REGION, "AWS::StackName": prefix, "AWS::AccountId": "000000000000"}
    values: dict[str, str] = {}
    makers: dict[tuple[str, str], Callable[[Any, str, Mapping[str, Any]], dict[str, str]]] = {
        ("dynamodb", "AWS::DynamoDB::Table"): _table,
        ("s3", "AWS::S3::Bucket"): _bucket,
        ("kms", "AWS::KMS::Key"): _key,
        ("secretsmanager", "AWS::SecretsManager::Secret"): _secret,
    }
    for (service, kind), make in makers.items():
        if service not in services:
            continue
        engine = client(service, endpoint_url=endpoint_url)
        for logical_id, properties in template.resources_of(kind).items():
            made = make(engine, f"{prefix}-{logical_id}", properties)
            if "value" in made:
                values[logical_id] = made.pop("value")
            names[logical_id] = made["ref"]
            names[f"{logical_id}.Arn"] = made["arn"]
    environment = dict(_environment(template, names))
    return Resources(names, values, {**environment, **client_environment(endpoint_url)})


def remove_tables(resources: Resources, template: Template | None = None, *, endpoint_url: str | None = None) -> None:
    """Drop the tables again, the cheapest way to empty them on an engine behind a socket."""
    dynamodb: DynamoDBClient = client("dynamodb", endpoint_url=endpoint_url)
    for logical_id in (template or read_template(TEMPLATE)).resources_of("AWS::DynamoDB::Table"):
        dynamodb.delete_table(TableName=resources.names[logical_id])


def _environment(template: Template, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for function in template.functions:
        for variable, node in function.environment.items():
            with contextlib.suppress(TemplateError):
                yield variable, template.resolve(node, names=names)


def _table(dynamodb: "DynamoDBClient", name: str, properties: Mapping[str, Any]) -> dict[str, str]:
    request: Any = {member: properties[member] for member in TABLE_MEMBERS if member in properties}
    with _unless("ResourceInUseException"):
        dynamodb.create_table(TableName=name, **request)
    while (described := dynamodb.describe_table(TableName=name)["Table"])["TableStatus"] != "ACTIVE":
        time.sleep(0.005)
    if "TimeToLiveSpecification" in properties:
        with _unless("UnknownOperationException", "ValidationException"):  # dynalite has none; or it is on already
            dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=properties["TimeToLiveSpecification"])
    return {"ref": name, "arn": described["TableArn"]}


def _bucket(s3: "S3Client", name: str, _: Mapping[str, Any]) -> dict[str, str]:
    bucket = name.lower()
    with _unless("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
        s3.create_bucket(Bucket=bucket)
    return {"ref": bucket, "arn": f"arn:aws:s3:::{bucket}"}


def _key(kms: "KMSClient", name: str, _: Mapping[str, Any]) -> dict[str, str]:
    alias = f"alias/{name}"
    try:
        key = kms.describe_key(KeyId=alias)["KeyMetadata"]
    except kms.exceptions.NotFoundException:
        key = kms.create_key()["KeyMetadata"]
        kms.create_alias(AliasName=alias, TargetKeyId=key["KeyId"])
    return {"ref": key["KeyId"], "arn": key["Arn"]}


def _secret(secretsmanager: "SecretsManagerClient", name: str, properties: Mapping[str, Any]) -> dict[str, str]:
    length = properties.get("GenerateSecretString", {}).get("PasswordLength", 32)
    value = "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(length))
    with _unless("ResourceExistsException"):
        secretsmanager.create_secret(Name=name, SecretString=value)
    stored = secretsmanager.get_secret_value(SecretId=name)
    return {"ref": stored["ARN"], "arn": stored["ARN"], "value": stored["SecretString"]}


@contextlib.contextmanager
def _unless(*codes: str) -> Iterator[None]:
    """Let these errors pass: what was to be done is done already, or the engine cannot do it."""
    try:
        yield
    except ClientError as error:
        if error.response["Error"]["Code"] not in codes:
            raise
