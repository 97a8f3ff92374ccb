"""The expressions of schedules and the events they give."""

import pytest

from tools.serving.schedules import rate_seconds, scheduled_event
from tools.serving.template import Schedule, TemplateError


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [("rate(1 minute)", 60), ("rate(5 minutes)", 300), ("rate(2 hours)", 7200), (" rate(1 day) ", 86_400)],
)
def test_rates_are_read(expression: str, seconds: int) -> None:
    assert rate_seconds(expression) == seconds


@pytest.mark.parametrize("expression", ["rate(0 minutes)", "rate(1 second)", "cron(0 * * * ? *)", "rate(1)", ""])
def test_what_is_no_rate_is_an_error(expression: str) -> None:
    with pytest.raises(TemplateError):
        rate_seconds(expression)


def test_a_rules_event_is_eventbridges() -> None:
    schedule = Schedule("QueueSweepEvery", "rate(1 minute)", scheduler=False, input=None)
    assert scheduled_event(schedule, region="us-east-1", event_id="53dc4d37", now_ms=1_444_323_186_999) == {
        "version": "0",
        "id": "53dc4d37",
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "123456789012",
        "time": "2015-10-08T16:53:06Z",
        "region": "us-east-1",
        "resources": ["arn:aws:events:us-east-1:123456789012:rule/QueueSweepEvery"],
        "detail": {},
    }


def test_a_constant_input_replaces_the_event() -> None:
    schedule = Schedule("S", "rate(1 minute)", scheduler=True, input='{"a": 1}')
    assert scheduled_event(schedule, region="us-east-1", event_id="1", now_ms=0) == {"a": 1}
