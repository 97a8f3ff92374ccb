"""The artifact, built once for all its tests as `make build` builds it, and an engine that stands in for AWS."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.compile_artifact import compile_artifact
from tools.ministack import ministack
from tools.serving.template import Template, read_template
from tools.tables import Resources, create

ROOT = Path(__file__).parents[2]
SAM = ROOT / ".tools" / "sam" / "bin"


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built functions and layers."""
    folder = tmp_path_factory.mktemp("artifact")
    environment = os.environ | {"PATH": f"{SAM}:{os.environ['PATH']}", "SAM_CLI_TELEMETRY": "0"}
    built = subprocess.run(
        [SAM / "sam", "build", "--build-dir", folder], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    assert compile_artifact(folder)
    return folder


@pytest.fixture(scope="session")
def artifact(build: Path) -> Template:
    """The built template: its folders are those of the artifact."""
    return read_template(build / "template.yaml")


@pytest.fixture(scope="session")
def deployed(artifact: Template) -> Iterator[Resources]:
    """The template's tables, bucket, key and secret on an emulator."""
    with ministack() as url:
        yield create(artifact, endpoint_url=url)
