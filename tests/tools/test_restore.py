"""Coming back from a backup: the template that data are imported by, and objects that were deleted since."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.template.repository import template
from tests.worlds import World
from tools.restore import DATA, data_template, main, undelete


def test_the_template_holds_the_data_and_nothing_that_is_not_there() -> None:
    found = data_template()
    kept = {name for name, resource in template().resources.items() if resource["Type"] in DATA}
    assert set(found["Resources"]) == kept
    text = json.dumps(found["Resources"])
    others = (set(template().resources) - kept) | (set(template().parameters) - set(found["Parameters"]))
    assert [name for name in others if f'"{name}"' in text or f"${{{name}" in text] == []
    assert {one["DeletionPolicy"] for one in found["Resources"].values()} == {"Retain"}, "imports require a policy"
    assert "Transform" not in found


def test_the_template_is_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["template"]) == 0
    assert json.loads(capsys.readouterr().out) == data_template()


def test_what_was_deleted_since_is_there_again(world: World) -> None:
    s3 = world.client("s3")
    bucket = "restorable"
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for key in ("payload/deleted", "payload/kept"):
        s3.put_object(Bucket=bucket, Key=key, Body=b"x")
    s3.delete_object(Bucket=bucket, Key="payload/deleted")
    now, minute = datetime.now(UTC), timedelta(minutes=1)
    assert undelete(s3, bucket=bucket, moment=now + minute) == 0
    assert keys(s3, bucket) == ["payload/kept"]
    assert [undelete(s3, bucket=bucket, moment=now - minute) for _ in range(2)] == [1, 0]
    assert keys(s3, bucket) == ["payload/deleted", "payload/kept"]
    assert s3.get_object(Bucket=bucket, Key="payload/deleted")["Body"].read() == b"x"


def keys(s3: Any, bucket: str) -> list[str]:
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]]


def test_a_moment_needs_an_offset() -> None:
    with pytest.raises(SystemExit):
        main(["objects", "bucket", "2026-11-30T10:00:00"])
