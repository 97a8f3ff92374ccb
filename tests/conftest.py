"""Fixtures for every test.

moto runs from before the first test module is imported until the last test has ended, so that functions may be imported
anywhere and find their environment. Before each test its tables and its bucket are empty.
"""

import contextlib
import functools
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

import tools.faults
from broker.ids import SeededIds
from tests.template import repository
from tests.worlds import Engines, ManualClock, World, counted_ids, moto_world
from tools.calls import watching
from tools.compile_artifact import compile_artifact
from tools.deployment import ROOT, SAM
from tools.ledger import Ledger
from tools.rights import Right, Rights, granted
from tools.serving.template import Template, read_template

_world = pytest.StashKey[World]()
_stack = pytest.StashKey[contextlib.ExitStack]()


# The same examples in every run, and no limit of time for each: the machine may be busy with something else.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_stack] = contextlib.ExitStack()
    config.stash[_world] = config.stash[_stack].enter_context(moto_world())


def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_stack].close()


@pytest.fixture(scope="session")
def world(pytestconfig: pytest.Config) -> World:
    """AWS as the functions see it. A test with many examples calls `world.wipe()` before each."""
    return pytestconfig.stash[_world]


@pytest.fixture(scope="session")
def engines(world: World) -> Iterator[Engines]:
    """`engines("moto")`, `engines("ministack")`, `engines("dynalite")`: each is started once a run, if it is needed."""
    with contextlib.ExitStack() as stack:
        yield Engines(world, stack)


@pytest.fixture(autouse=True)
def _empty_world(world: World) -> None:
    world.wipe()


@pytest.fixture(scope="session")
def _rights(world: World) -> Iterator[Rights]:
    """Watches what functions use; outside of all faults, so that what is refused is seen too."""
    rights = Rights(world.resources)
    with watching(rights):
        yield rights


@pytest.fixture(autouse=True)
def _no_right_is_missing(_rights: Rights) -> Iterator[None]:
    """Whatever a test lets a function do, the function's policies in template.yaml must grant."""
    _rights.used.clear()
    yield
    missing = {name: used - _granted()[name] for name, used in _rights.used.items()}
    assert {name: rights for name, rights in missing.items() if not all(map(_is_poisoned, rights))} == {}


@functools.cache
def _granted() -> dict[str, set[Right]]:
    return {name: set().union(*policies.values()) for name, policies in granted(repository.template()).items()}


def _is_poisoned(right: Right) -> bool:
    """Whether this is about an object that only a row made up by a test can name."""
    return right[1].startswith("Bucket/") and right[1] not in ("Bucket/payload/*", "Bucket/document/*")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Charges `with ledger.operation("…") as cost:` blocks with the calls of all clients."""
    with Ledger() as ledger:
        yield ledger


@pytest.fixture
def faults() -> ModuleType:
    """The module that injects failures: `with faults.failing(faults.THROTTLED, at=2)`, `faults.crash_points(run)`."""
    return tools.faults


@pytest.fixture
def clock() -> ManualClock:
    """A clock that stands still until `clock.advance(seconds=…)`."""
    return ManualClock()


@pytest.fixture
def ids() -> SeededIds:
    """Ids that are the same in every run, each greater than the one before."""
    return counted_ids()


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the functions and layers, built once a run as `make build` builds them."""
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
