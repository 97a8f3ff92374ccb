"""The role that SAM makes for a function, on an emulator that enforces it (`AUTH=true`)."""

import json
from collections.abc import Mapping
from typing import Any

from tools.serving.template import Template
from tools.tables import Resources, client

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
        {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}, "Action": "sts:AssumeRole"},
    ],
}


def statements(template: Template, *, resource: str, resources: Resources) -> list[dict[str, Any]]:
    """All that a function may do, shared policies included, on the resources that were made."""
    shared = template.resources_of("AWS::IAM::ManagedPolicy")
    policies = template.resources[resource]["Properties"]["Policies"]
    documents = [shared[policy["Ref"]]["PolicyDocument"] if "Ref" in policy else policy for policy in policies]
    return [
        {**statement, "Resource": _arns(template, statement["Resource"], resources)}
        for document in documents
        for statement in document["Statement"]
    ]


def _arns(template: Template, node: Any, resources: Resources) -> list[str]:
    nodes = node if isinstance(node, list) else [node]
    return [template.resolve(each, names=resources.names) for each in nodes]


def credentials(template: Template, *, resource: str, resources: Resources, endpoint_url: str) -> Mapping[str, str]:
    """Environment variables by which a function acts under a role with its own rights and no others."""
    iam, sts = client("iam", endpoint_url=endpoint_url), client("sts", endpoint_url=endpoint_url)
    role = iam.create_role(RoleName=resource, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]
    allowed = statements(template, resource=resource, resources=resources)
    if allowed:
        policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
        iam.put_role_policy(RoleName=resource, PolicyName="own", PolicyDocument=policy)
    made = sts.assume_role(RoleArn=role["Arn"], RoleSessionName=resource)["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": made["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": made["SecretAccessKey"],
        "AWS_SESSION_TOKEN": made["SessionToken"],
    }
