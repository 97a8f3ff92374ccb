"""Folders of small made-up functions with a template of their own, for the server to run."""

import json
from pathlib import Path
from textwrap import dedent

ECHO = """
def handler(event, context):
    return {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(event)}
"""


def write_project(folder: Path, functions: dict[str, tuple[str, dict[str, object]]]) -> Path:
    """Write functions and their template.

    Args:
        folder: Where to.
        functions: By folder name, the source of app.py (json, os, sys and time are imported) and the properties
            the function has in the template beside its code.

    Returns:
        The template's path.
    """
    resources: dict[str, object] = {}
    for name, (source, properties) in functions.items():
        code = folder / "functions" / name
        code.mkdir(parents=True)
        (code / "app.py").write_text("import json, os, sys, time\n" + dedent(source))
        resources["".join(word.title() for word in name.split("_"))] = {
            "Type": "AWS::Serverless::Function",
            "Properties": {"CodeUri": f"functions/{name}", "Handler": "app.handler", **properties},
        }
    template = folder / "template.yaml"
    template.write_text(json.dumps({"Resources": resources}))  # JSON is YAML
    return template


def route(method: str, path: str) -> dict[str, object]:
    """The Events of a function with one route."""
    return {"Events": {"Route": {"Type": "HttpApi", "Properties": {"Method": method, "Path": path}}}}


def default_route() -> dict[str, object]:
    """The Events of the function that takes what no other does."""
    return {"Events": {"Route": {"Type": "HttpApi"}}}
