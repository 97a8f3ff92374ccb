"""Answers of publishing and consuming, the same for every type of queue."""

from collections.abc import Sequence
from typing import Any

from broker import times
from broker.errors import BrokerError
from broker.http.answer import Answer, json_answer, ok
from broker.http.problem import STATUS, translate
from broker.queues.kinds import Published
from broker.queues.models import BatchResult, ConsumeAnswer, RedriveResult

CREATED, REPLACED, NONE = 201, 200, 204


def published(outcome: Published) -> Answer:
    """The answer to one published message."""
    return json_answer(
        CREATED if outcome.created else REPLACED,
        {
            "message_id": outcome.message_id,
            "status": outcome.status,
            "published_at": times.text(outcome.published_at),
            **outcome.members,
        },
    )


def published_batch(outcomes: Sequence[Published | BrokerError]) -> Answer:
    """The answer to a batch: one result per message, in order, a refusal with its code and members."""
    results = [_result(outcome) for outcome in outcomes]
    accepted = sum(isinstance(outcome, Published) for outcome in outcomes)
    return ok({"accepted": accepted, "results": results})


def delivered(answer: ConsumeAnswer) -> Answer:
    """The answer to a consume: 204 when there is nothing to deliver and nothing to tell."""
    return ok(answer) if answer["messages"] or answer.get("skipped") else Answer(NONE)


def redriven(outcomes: Sequence[tuple[str, Published | BrokerError]]) -> dict[str, Any]:
    """The body that answers a redrive: one result per dead letter, in order."""
    results: list[RedriveResult] = []
    for entry_id, outcome in outcomes:
        if isinstance(outcome, Published):
            results.append({"entry_id": entry_id, "status": CREATED})
        else:
            told = translate(outcome)
            results.append({"entry_id": entry_id, "status": STATUS[type(told)], "code": told.code})
    count = sum(isinstance(outcome, Published) for _, outcome in outcomes)
    return {"redriven": count, "results": results}


def _result(outcome: Published | BrokerError) -> BatchResult | dict[str, Any]:
    if isinstance(outcome, Published):
        return {"status": CREATED if outcome.created else REPLACED, "message_id": outcome.message_id}
    told = translate(outcome)
    return {"status": STATUS[type(told)], "code": told.code, "detail": told.detail, **told.members}
