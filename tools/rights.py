"""Which IAM actions on which resources functions use, and which their policies in template.yaml grant.

    rights = Rights(resources)
    with watching(rights), acting("log_poll"):
        handler(event, context)
    assert rights.used["log_poll"] <= set().union(*granted(template)["log_poll"].values())

Resources are named as the template names them: `State`, `State/index/by_rank`, `Bucket/payload/*`, `TenantKeys`.
"""

import collections
import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from tools.calls import Call, Outcome, Proceed, Watcher
from tools.serving.template import Template
from tools.tables import Resources

Right = tuple[str, str]
"""An action, such as `dynamodb:Query`, and a resource."""

_acting: contextvars.ContextVar[str | None] = contextvars.ContextVar("acting", default=None)
_TRANSACTED = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}
# S3 says 404 only to those who may list; to others a missing object is 403, like a forbidden one.
_ALSO_LISTS = {"GetObject", "HeadObject"}
_OBJECT_ACTIONS = {"HeadObject": "GetObject", "DeleteObjects": "DeleteObject", "ListObjectsV2": "ListBucket"}


@contextlib.contextmanager
def acting(function: str) -> Iterator[None]:
    """Take calls inside, and in the threads that are started inside, for those of a function."""
    token = _acting.set(function)
    try:
        yield
    finally:
        _acting.reset(token)


class Rights(Watcher):
    """Notes what each function uses, answered or not."""

    def __init__(self, resources: Resources) -> None:
        self.used: dict[str, set[Right]] = collections.defaultdict(set)
        self._names = {
            physical: name.removesuffix(".Arn")
            for name, physical in resources.names.items()
            if not name.startswith("AWS::")
        }

    def attempt(self, call: Call, proceed: Proceed) -> Outcome:
        """Note the call and make it."""
        function = _acting.get()
        if function is not None:
            self.used[function].update(self.rights(call))
        return proceed(call)

    def rights(self, call: Call) -> Iterator[Right]:
        """What a call needs."""
        document = call.document
        match call.service:
            case "dynamodb":
                yield from self._items(call.operation, document)
            case "s3":
                yield from self._objects(call)
            case _:
                name = document.get("KeyId") or document.get("SecretId") or "TenantKeys"
                yield f"{call.service}:{call.operation}", self._names.get(name, name)

    def _items(self, operation: str, document: dict[str, Any]) -> Iterator[Right]:
        if operation == "TransactWriteItems":
            for action in document["TransactItems"]:
                for kind, details in action.items():
                    yield f"dynamodb:{_TRANSACTED[kind]}", self._names[details["TableName"]]
        elif operation == "TransactGetItems":
            for action in document["TransactItems"]:
                yield "dynamodb:GetItem", self._names[action["Get"]["TableName"]]
        elif "RequestItems" in document:
            for table in document["RequestItems"]:
                yield f"dynamodb:{operation}", self._names[table]
        else:
            table = self._names[document["TableName"]]
            index = f"/index/{document['IndexName']}" if "IndexName" in document else ""
            yield f"dynamodb:{operation}", f"{table}{index}"

    def _objects(self, call: Call) -> Iterator[Right]:
        parameters = call.context.get("input_params", {})
        bucket = self._names[parameters["Bucket"]]
        action = f"s3:{_OBJECT_ACTIONS.get(call.operation, call.operation)}"
        keys = [parameters["Key"]] if "Key" in parameters else []
        keys += _deleted(call) if call.operation == "DeleteObjects" else []
        for key in keys:
            yield action, f"{bucket}/{key.split('/')[0]}/*"
        if not keys:
            yield action, bucket
        if call.operation in _ALSO_LISTS:
            yield "s3:ListBucket", bucket


def _deleted(call: Call) -> list[str]:
    body = call.request.body
    text = body.decode() if isinstance(body, bytes) else str(body)
    return [part.split("</Key>")[0] for part in text.split("<Key>")[1:]]


def granted(template: Template) -> dict[str, dict[str, set[Right]]]:
    """What the policies of each function grant: by the function's folder, and there by the shared policy, or `own`."""
    names = {name: name for name in template.resources}
    shared = template.resources_of("AWS::IAM::ManagedPolicy")

    def rights(document: Any) -> set[Right]:
        return {
            (action, template.resolve(resource, names=names))
            for statement in document["Statement"]
            for action in _listed(statement["Action"])
            for resource in _listed(statement["Resource"])
        }

    found: dict[str, dict[str, set[Right]]] = {}
    for function in template.functions:
        policies = template.resources[function.logical_id]["Properties"]["Policies"]
        found[function.name] = {
            one.get("Ref", "own"): rights(shared[one["Ref"]]["PolicyDocument"] if "Ref" in one else one)
            for one in policies
        }
    return found


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
