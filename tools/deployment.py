"""Deploys a built stack to ministack with the real SAM CLI, and adds what its CloudFormation leaves out.

with ministack(lambda_python=LAMBDA_PYTHON) as url:
    deployment = deploy(Path(".aws-sam/build"), endpoint_url=url)
    requests.get(deployment.url + "/health")
"""

import json
import os
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.serving.template import Template, read_document, read_template
from tools.tables import REGION, client, client_environment

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_secretsmanager import SecretsManagerClient

ROOT = Path(__file__).resolve().parent.parent
SAM = ROOT / ".tools" / "sam" / "bin" / "sam"
LAMBDA_PYTHON = ROOT / ".tools" / "lambda" / "bin" / "python"
ACCOUNT = "000000000000"


class DeploymentError(Exception):
    """The SAM CLI did not deploy; the message is what it printed."""


@dataclass(frozen=True)
class Deployment:
    """A deployed stack.

    Attributes:
        url: Where its HTTP API answers.
        outputs: The stack's outputs.
        resources: What each resource is called, by logical id.
        platform_key: The platform administrator's key.
    """

    url: str
    outputs: Mapping[str, str]
    resources: Mapping[str, str]
    platform_key: str


def deploy(build: Path, *, endpoint_url: str, stack: str = "towpath") -> Deployment:
    """Deploy what `sam build` wrote.

    Args:
        build: The folder of the built template.
        endpoint_url: The ministack.
        stack: The stack's name.

    Raises:
        DeploymentError: The SAM CLI refused, or the stack failed.
    """
    build, bucket = build.resolve(), f"{stack}-artifacts"
    client("s3", endpoint_url=endpoint_url).create_bucket(Bucket=bucket)
    _run_sam_deploy(build, endpoint_url=endpoint_url, stack=stack, bucket=bucket)
    cloudformation: CloudFormationClient = client("cloudformation", endpoint_url=endpoint_url)
    described = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    made = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in described["Outputs"]}
    resources = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in made}
    template = read_template(build / "template.yaml")
    _add_routes(template, api_id=outputs["ApiId"], resources=resources, endpoint_url=endpoint_url)
    _expire_rows(template, resources=resources, endpoint_url=endpoint_url)
    # It refuses all that comes without TLS, which is how an emulator is called.
    client("s3", endpoint_url=endpoint_url).delete_bucket_policy(Bucket=resources["Bucket"])
    # Generated secrets have punctuation there, whatever the template asks for; a key wants to be pasted into a shell.
    secret = secrets.token_hex(20)
    secrets_manager: SecretsManagerClient = client("secretsmanager", endpoint_url=endpoint_url)
    secrets_manager.put_secret_value(SecretId=resources["PlatformSecret"], SecretString=secret)
    url = f"{endpoint_url}/_aws/execute-api/{outputs['ApiId']}/$default"
    return Deployment(url, outputs, resources, f"platform.{secret}")


def _without_metric_math(template: Path) -> Path:
    """The template without the alarms that ministack refuses whole stacks for: those over more than one metric."""
    document = read_document(template)
    document["Resources"] = {
        name: resource
        for name, resource in document["Resources"].items()
        if resource["Type"] != "AWS::CloudWatch::Alarm" or "Metrics" not in resource["Properties"]
    }
    emulated = template.with_name("template-emulated.json")
    emulated.write_text(json.dumps(document), encoding="utf-8")
    return emulated


def _run_sam_deploy(build: Path, *, endpoint_url: str, stack: str, bucket: str) -> None:
    options = {
        "--template-file": _without_metric_math(build / "template.yaml"),
        "--stack-name": stack,
        "--s3-bucket": bucket,
        "--region": REGION,
    }
    command = [str(SAM), "deploy", *(str(word) for option in options.items() for word in option)]
    command += ["--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar"]
    environment = os.environ | client_environment(endpoint_url) | {"SAM_CLI_TELEMETRY": "0"}
    # From the build folder: the defaults of samconfig.toml are those of real deployments.
    done = subprocess.run(command, cwd=build, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise DeploymentError(done.stdout + done.stderr)


def _add_routes(template: Template, *, api_id: str, resources: Mapping[str, str], endpoint_url: str) -> None:
    """Make the routes: ministack keeps an HTTP API and ignores the OpenAPI body that SAM put them into."""
    gateway = client("apigatewayv2", endpoint_url=endpoint_url)
    for function in template.functions:
        for route in function.routes:
            integration = gateway.create_integration(
                ApiId=api_id,
                IntegrationType="AWS_PROXY",
                IntegrationUri=f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{resources[function.logical_id]}",
                PayloadFormatVersion="2.0",
            )
            target = f"integrations/{integration['IntegrationId']}"
            gateway.create_route(ApiId=api_id, RouteKey=route.key, Target=target)


def _expire_rows(template: Template, *, resources: Mapping[str, str], endpoint_url: str) -> None:
    """Set the time to live of the tables, which ministack drops."""
    dynamodb: DynamoDBClient = client("dynamodb", endpoint_url=endpoint_url)
    for logical_id, table in template.resources_of("AWS::DynamoDB::Table").items():
        dynamodb.update_time_to_live(
            TableName=resources[logical_id], TimeToLiveSpecification=table["TimeToLiveSpecification"]
        )
