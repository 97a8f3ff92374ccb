"""docs/operations.md: a runbook for every alarm, every parameter, and costs that are what the ledger counts."""

import re

from bench.costs import measure, report
from tests.processes import Process
from tests.template.repository import ROOT, properties, template
from tests.worlds import ManualClock, World

PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_every_alarm_has_a_runbook_and_every_runbook_an_alarm() -> None:
    runbooks = re.findall(r"^### (\w+)$", PAGE.split("## Runbooks")[1], re.MULTILINE)
    assert runbooks == list(properties("AWS::CloudWatch::Alarm")), "in the order of the template"


def test_every_parameter_is_explained() -> None:
    rows = [
        line.split("|")[1:3] for line in PAGE.split("### Parameters")[1].split("###")[0].splitlines() if "| `" in line
    ]
    explained = {
        name: default.strip()
        for names, defaults in rows
        for name, default in zip(re.findall(r"`(\w+)`", names), defaults.split(","), strict=True)
    }
    assert explained == {name: default or "none" for name, default in template().parameters.items()}


def test_costs_are_what_is_counted(world: World, clock: ManualClock) -> None:
    process = Process(clock=clock)
    tenant = process.tenant(platform_key=f"platform.{world.platform_key}")
    counted = report(measure(process, clock=clock, key=tenant.key))
    assert PAGE.split("<!-- costs -->\n")[1].split("<!-- /costs -->")[0].strip() == counted, (
        "`make bench ONLY=costs` prints it"
    )
