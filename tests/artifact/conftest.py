"""The artifact, built once for all its tests as `make build` builds it."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.compile_artifact import compile_artifact
from tools.deployment import SAM
from tools.serving.template import Template, read_template

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built functions and layers."""
    folder = tmp_path_factory.mktemp("artifact")
    environment = os.environ | {"PATH": f"{SAM.parent}:{os.environ['PATH']}", "SAM_CLI_TELEMETRY": "0"}
    command = [str(SAM), "build", "--build-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert compile_artifact(folder)
    return folder


@pytest.fixture(scope="session")
def artifact(build: Path) -> Template:
    """The built template: its folders are those of the artifact."""
    return read_template(build / "template.yaml")
