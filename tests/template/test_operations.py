"""What an operator is promised: limits, alarms that reach somebody, a dashboard, and two environments to deploy."""

import json
import re
import tomllib
from typing import Any

import pytest
import yaml

from tests.template.repository import ROOT, functions, properties, template

ALARMS = properties("AWS::CloudWatch::Alarm")
TOPIC = {"Fn::If": ["AlarmsAreSent", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
SAM = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))


def parameters() -> dict[str, dict[str, Any]]:
    text = re.sub(r"![A-Za-z]+", "", (ROOT / "template.yaml").read_text(encoding="utf-8").split("\nConditions:")[0])
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)["Parameters"]
    return found


def metrics_of(alarm: Any) -> list[dict[str, Any]]:
    """The metrics that an alarm looks at, in one form."""
    if "Metrics" not in alarm:
        return [alarm]
    return [part["MetricStat"]["Metric"] for part in alarm["Metrics"] if "MetricStat" in part]


def test_the_api_has_a_limit_that_can_be_set() -> None:
    (api,) = properties("AWS::Serverless::HttpApi").values()
    assert api["DefaultRouteSettings"] == {
        "ThrottlingRateLimit": {"Ref": "RequestsPerSecond"},
        "ThrottlingBurstLimit": {"Ref": "RequestsBurst"},
    }


def test_the_tables_are_protected_unless_told_otherwise() -> None:
    tables = properties("AWS::DynamoDB::Table").values()
    assert {str(table["DeletionProtectionEnabled"]) for table in tables} == {"{'Ref': 'DeletionProtection'}"}
    assert template().parameters["DeletionProtection"] == "true"


def test_tracing_is_off_unless_told_otherwise_and_then_costs_no_right() -> None:
    """SAM reads the literal Disabled as no tracing at all, and gives roles the rights of X-Ray otherwise."""
    assert template().parameters["Tracing"] == "Disabled"


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_reaches_somebody(name: str) -> None:
    assert (ALARMS[name]["AlarmActions"], ALARMS[name]["OKActions"]) == (TOPIC, TOPIC)


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_names_its_runbook(name: str) -> None:
    assert f"docs/operations.md#{name.lower()}" in ALARMS[name]["AlarmDescription"]


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_does_not_sound_for_want_of_data(name: str) -> None:
    assert ALARMS[name]["TreatMissingData"] == "notBreaching"


@pytest.mark.parametrize("name", ALARMS)
def test_an_alarm_looks_at_this_stack_only(name: str) -> None:
    for metric in metrics_of(ALARMS[name]):
        if metric["Namespace"] == "Towpath":
            assert {"Name": "service", "Value": {"Ref": "AWS::StackName"}} in metric["Dimensions"]
        elif metric["Namespace"] != "AWS/Lambda":
            assert "Dimensions" in metric or metric["Namespace"] == {"Fn::Sub": "Towpath/${AWS::StackName}"}


def test_every_schedule_is_watched() -> None:
    watched = [metric["Dimensions"][0]["Value"] for metric in metrics_of(ALARMS["ScheduleErrors"])]
    assert watched == [{"Ref": function.logical_id} for function in functions() if function.schedules]


def test_what_is_counted_in_the_logs_is_looked_at() -> None:
    counted = {
        filter_["MetricTransformations"][0]["MetricName"] for filter_ in properties("AWS::Logs::MetricFilter").values()
    }
    assert counted == {
        metric["MetricName"]
        for alarm in ALARMS.values()
        for metric in metrics_of(alarm)
        if metric["Namespace"] == {"Fn::Sub": "Towpath/${AWS::StackName}"}
    }


def test_the_dashboard_is_json_and_names_what_there_is() -> None:
    (dashboard,) = properties("AWS::CloudWatch::Dashboard").values()
    text = dashboard["DashboardBody"]["Fn::Sub"]
    widgets = json.loads(text)["widgets"]
    assert all({"title", "region", "metrics"} <= set(widget["properties"]) for widget in widgets)
    named = {name.split(".")[0] for name in re.findall(r"\$\{([^}]+)\}", text)}
    assert {name for name in named if not name.startswith("AWS::")} <= set(template().resources)


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_an_environment_sets_every_parameter_that_exists(environment: str) -> None:
    deploy = SAM[environment]["deploy"]["parameters"]
    given = dict(pair.split("=") for pair in deploy["parameter_overrides"].split())
    known = parameters()
    assert set(given) == set(known) - {"AlarmTopicArn"}
    for name, value in given.items():
        assert value in [str(allowed) for allowed in known[name].get("AllowedValues", [value])]
    assert f"environment={environment}" in deploy["tags"]


def test_environments_differ_where_it_matters() -> None:
    assert SAM["dev"]["global"]["parameters"]["stack_name"] != SAM["prod"]["global"]["parameters"]["stack_name"]
    assert "DeletionProtection=true" in SAM["prod"]["deploy"]["parameters"]["parameter_overrides"]
    assert SAM["prod"]["deploy"]["parameters"]["confirm_changeset"] is True
