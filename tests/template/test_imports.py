"""Imports point one way: functions -> broker.http -> broker.<package> -> broker.queues -> edge.

`broker.queues` is what all queue types have in common, so each type's package may know it; it knows none of them.
"""

from pathlib import Path

import pytest

from tests.template.repository import ROOT, SHIPPED, dotted, imports, modules

# Only these of the domain know several packages.
JOINTS = ("broker.wiring", "broker.http")
# All types of queues stand on this one.
GROUND = "broker.queues"
CLOUD = ("boto3", "botocore", "s3transfer")


def packages() -> set[str]:
    """The domain's packages, such as `broker.log`; single modules beside them are open to all."""
    return {f"broker.{path.parent.name}" for path in (ROOT / "shared" / "broker").glob("*/__init__.py")}


def within(name: str, owner: str) -> bool:
    return name == owner or name.startswith(f"{owner}.")


def owner_of(name: str, owners: set[str]) -> str | None:
    return next((owner for owner in owners if within(name, owner)), None)


def faults(module: str, imported: set[str], *, domain: set[str]) -> list[str]:
    """What a module imports and may not."""
    found = [name for name in imported if name.split(".")[0] in ("tools", "tests", "bench", "functions")]
    ours = {name for name in imported if within(name, "broker")}
    edges = {name for name in imported if within(name, "edge")}
    if within(module, "edge"):
        found += ours
    elif within(module, "functions"):
        found += edges
        if len({owner for name in ours if (owner := owner_of(name, domain - set(JOINTS)))}) > 1:
            found += ours
    elif not any(within(module, joint) for joint in JOINTS):
        home = owner_of(module, domain)
        found += [
            name
            for name in ours
            if any(within(name, j) for j in JOINTS) or owner_of(name, domain) not in (None, home, GROUND)
        ]
    return sorted(found)


def read(path: Path) -> tuple[str, set[str]]:
    source = (ROOT / path).read_text(encoding="utf-8")
    module = dotted(path)
    return module, imports(source, module=module, package=path.name == "__init__.py")


@pytest.mark.parametrize("path", modules(*SHIPPED), ids=str)
def test_shipped_modules_import_downwards_only(path: Path) -> None:
    module, imported = read(path)
    assert faults(module, imported, domain=packages()) == []


@pytest.mark.parametrize("path", modules("functions", "shared/broker"), ids=str)
def test_only_the_edge_layer_and_the_wiring_know_the_cloud(path: Path) -> None:
    module, imported = read(path)
    allowed = module == "broker.wiring"
    assert allowed or [name for name in imported if name.split(".")[0] in CLOUD] == []


DOMAIN = {"broker.log", "broker.tenancy", "broker.http"}


@pytest.mark.parametrize(
    ("module", "source", "allowed"),
    [
        ("edge.edges", "import boto3", True),
        ("edge.edges", "from broker import ids", False),
        ("edge.edges", "import tools.ledger", False),
        ("broker.log.service", "from edge import EdgeTable", True),
        ("broker.log.service", "from broker.log.models import Message", True),
        ("broker.log.service", "from broker import ids", True),
        ("broker.log.service", "from broker.tenancy.models import Client", False),
        ("broker.log.service", "from broker import tenancy", False),
        ("broker.log.service", "from ..tenancy import models", False),
        ("broker.log.service", "def late():\n    from broker import http", False),
        ("broker.log.service", "from broker import wiring", False),
        ("broker.ids", "from broker.log import keys", False),
        ("broker.wiring", "from broker import log, tenancy", True),
        ("broker.http.caller", "from broker.tenancy import models", True),
        ("broker.wiring", "from functions.log_poll import app", False),
        ("functions.log_poll.app", "from broker import wiring\nfrom broker.http import endpoint", True),
        ("functions.log_poll.app", "from broker.log.models import Page", True),
        ("functions.log_poll.app", "from broker.log import models\nfrom broker.tenancy import keys", False),
        ("functions.log_poll.app", "import edge", False),
        ("functions.log_poll.app", "from tests.ledger import Ledger", False),
    ],
)
def test_the_rule_itself(module: str, source: str, allowed: bool) -> None:
    found = faults(module, imports(source, module=module, package=False), domain=DOMAIN)
    assert (found == []) is allowed


def test_relative_imports_of_a_package_are_resolved() -> None:
    assert imports("from . import keys", module="broker.log", package=True) == {"broker.log", "broker.log.keys"}
    assert imports("from .keys import key", module="broker.log.service", package=False) == {
        "broker.log.keys",
        "broker.log.keys.key",
    }
