"""Helps to bring a deployment back to an earlier moment; docs/operations.md says when to use what.

    python -m tools.restore template > data.json                       # what CloudFormation imports restored data by
    python -m tools.restore objects BUCKET 2026-11-30T10:00:00Z        # what was deleted since then is there again

DynamoDB restores tables under new names. The data resources of template.yaml, by themselves, make a new stack around
the restored tables, the bucket, the key and the secret, and an ordinary deployment over it adds everything else.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from tools.serving.template import read_document

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

TEMPLATE = Path(__file__).resolve().parent.parent / "template.yaml"
DATA = (
    "AWS::DynamoDB::Table",
    "AWS::S3::Bucket",
    "AWS::KMS::Key",
    "AWS::SecretsManager::Secret",
)


def data_template(path: Path = TEMPLATE) -> dict[str, Any]:
    """A plain CloudFormation template of the resources that hold data, and the parameters that they name."""
    document = read_document(path)
    resources = {name: one for name, one in document["Resources"].items() if one["Type"] in DATA}
    named = {name for name in document["Parameters"] if json.dumps({"Ref": name}) in json.dumps(resources)}
    parameters = {name: one for name, one in document["Parameters"].items() if name in named}
    return {
        "AWSTemplateFormatVersion": document["AWSTemplateFormatVersion"],
        "Description": document["Description"],
        "Parameters": parameters,
        "Resources": resources,
    }


def undelete(s3: "S3Client", *, bucket: str, moment: datetime) -> int:
    """Take away every delete marker made after `moment`, so that the objects under them are there again.

    Objects are never overwritten, so nothing else has to be undone. Repeatable. Objects stored after the moment stay;
    nothing names them any more, and they do no harm.

    Returns:
        The number of objects.
    """
    restored = 0
    for marker in _markers(s3, bucket):
        if marker["IsLatest"] and marker["LastModified"] > moment:
            s3.delete_object(Bucket=bucket, Key=marker["Key"], VersionId=marker["VersionId"])
            restored += 1
    return restored


def _markers(s3: "S3Client", bucket: str) -> Iterator[Any]:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        yield from page.get("DeleteMarkers", [])


def main(arguments: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Help to bring a deployment back to an earlier moment.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("template", help="print the template to import restored data by")
    objects = commands.add_parser("objects", help="undo the deletions of objects since a moment")
    objects.add_argument("bucket")
    objects.add_argument("moment", type=datetime.fromisoformat, help="such as 2026-11-30T10:00:00Z")
    given = parser.parse_args(arguments)
    if given.command == "template":
        json.dump(data_template(), sys.stdout, indent=2)
        print()
        return 0
    if given.moment.tzinfo is None:
        parser.error("the moment needs an offset, such as Z")
    print(f"{undelete(boto3.client('s3'), bucket=given.bucket, moment=given.moment)} objects are there again")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
