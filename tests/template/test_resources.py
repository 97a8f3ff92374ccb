"""What every deployment is promised: logs that end, rights that are listed, data that stays."""

import re
from typing import Any

import pytest

from tests.template.repository import ROOT, functions, properties, template
from tools.serving.template import Function

FUNCTIONS = functions()
by_name = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
DATA = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::SecretsManager::Secret")
COMMON_VARIABLES = {
    "TOWPATH_VERSION",
    "EDGES_TABLE",
    "STATE_TABLE",
    "BUCKET",
    "KMS_KEY_ID",
    "TOWPATH_TRACING",
    "POWERTOOLS_SERVICE_NAME",
    "POWERTOOLS_METRICS_NAMESPACE",
    "POWERTOOLS_LOG_LEVEL",
}
STACK_LIMIT = 500  # resources of one CloudFormation stack


def policies_of(function: Function) -> list[Any]:
    policies: list[Any] = properties("AWS::Serverless::Function")[function.logical_id]["Policies"]
    return policies


def statements_of(function: Function) -> list[dict[str, Any]]:
    """What a function may do, shared policies included."""
    shared = properties("AWS::IAM::ManagedPolicy")
    documents = [shared[p["Ref"]]["PolicyDocument"] if "Ref" in p else p for p in policies_of(function)]
    return [statement for document in documents for statement in document["Statement"]]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@by_name
def test_a_function_logs_into_a_group_of_its_own(function: Function) -> None:
    own = properties("AWS::Serverless::Function")[function.logical_id]
    assert own["LoggingConfig"]["LogGroup"] == {"Ref": f"{function.logical_id}Logs"}
    assert f"{function.logical_id}Logs" in properties("AWS::Logs::LogGroup")


def test_every_log_ends() -> None:
    groups = properties("AWS::Logs::LogGroup")
    assert {name for name, group in groups.items() if "RetentionInDays" not in group} == set()
    assert set(groups) == {f"{function.logical_id}Logs" for function in FUNCTIONS} | {"ApiLogs"}


@by_name
def test_a_function_s_rights_are_listed_one_by_one(function: Function) -> None:
    for statement in statements_of(function):
        assert statement["Effect"] == "Allow"
        assert [action for action in as_list(statement["Action"]) if "*" in action] == []
        assert [resource for resource in as_list(statement["Resource"]) if resource == "*"] == []


@by_name
def test_a_function_gets_the_variables_it_reads(function: Function) -> None:
    reads_secret = any("secretsmanager:GetSecretValue" in as_list(s["Action"]) for s in statements_of(function))
    assert set(function.environment) == COMMON_VARIABLES | ({"PLATFORM_SECRET_ID"} if reads_secret else set())


def test_a_shared_policy_is_used() -> None:
    used = {policy["Ref"] for function in FUNCTIONS for policy in policies_of(function) if "Ref" in policy}
    assert used == set(properties("AWS::IAM::ManagedPolicy"))


def test_data_stays_when_the_stack_goes() -> None:
    resources = [resource for resource in template().resources.values() if resource["Type"] in DATA]
    assert len(resources) == 5
    assert {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in resources} == {("Retain", "Retain")}


def test_nothing_that_stays_has_a_fixed_name() -> None:
    """A retained resource with a name would stand in the way of the next stack."""
    named = {"TableName", "BucketName", "Name", "AliasName"}
    assert [name for kind in DATA for name, own in properties(kind).items() if named & set(own)] == []


def test_tables_are_on_demand_expire_rows_and_can_be_restored() -> None:
    for table in properties("AWS::DynamoDB::Table").values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
        assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


def test_the_bucket_is_private_encrypted_and_tls_only() -> None:
    (bucket,) = properties("AWS::S3::Bucket").values()
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    assert bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert any("AbortIncompleteMultipartUpload" in rule for rule in bucket["LifecycleConfiguration"]["Rules"])
    (policy,) = properties("AWS::S3::BucketPolicy").values()
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_objects_can_be_restored_as_long_as_rows() -> None:
    """35 days is what DynamoDB's point-in-time recovery reaches back."""
    (bucket,) = properties("AWS::S3::Bucket").values()
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    kept = [rule.get("NoncurrentVersionExpiration") for rule in bucket["LifecycleConfiguration"]["Rules"]]
    assert {"NoncurrentDays": 35} in kept


def test_the_key_of_keys_rotates() -> None:
    (key,) = properties("AWS::KMS::Key").values()
    assert key["EnableKeyRotation"] is True


def test_the_stack_fits_cloudformation() -> None:
    """SAM adds a role to each function, a permission to each route, a rule, a permission and more to each schedule."""
    made = sum(1 + len(function.routes) + 3 * len(function.schedules) for function in FUNCTIONS)
    assert len(template().resources) + made + 1 < STACK_LIMIT


@by_name
def test_a_schedule_that_fails_leaves_a_message(function: Function) -> None:
    own = properties("AWS::Serverless::Function")[function.logical_id]
    expected = {"Type": "SQS", "TargetArn": {"Fn::GetAtt": "FailedSchedules.Arn"}} if function.schedules else None
    assert own.get("DeadLetterQueue") == expected


def test_the_version_is_the_changelog_s() -> None:
    released = re.search(r"^## \[(\d+\.\d+\.\d+)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released is not None
    assert {function.environment["TOWPATH_VERSION"] for function in FUNCTIONS} == {released[1]}
