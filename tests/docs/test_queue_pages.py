"""docs/queues/: every page has its parts, its settings are the program's, and its examples answer what it shows."""

import itertools
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.queues.settings import SETTINGS
from tests.described import API, resolve
from tests.docs.error_table import rows
from tests.serve.newcomer import Session, blocks, paste, requests_in
from tests.serve.process import ROOT, Server, running

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs" / "queues").glob("*.md"))}
PARTS = ["Example", "Settings", "Promise and limits", "Cost", "Errors"]
REFERS = {
    "stream_to_one": ["one_to_one"],
    "stream_to_many": ["stream_to_one", "one_to_many"],
    "text_document": ["document"],
}
"""Pages whose settings are also those of other pages."""

PREPARATION = blocks((ROOT / "README.md").read_text(encoding="utf-8").split("## Five minutes")[1])[0][1]
END = "\x1d"
_SETTING = re.compile(r"^\| `(\w+)`( ◦)? \| ([^|]+) \| (?:([^|]+) )?\| [^|]+ \|$", re.MULTILINE)
_REQUEST = re.compile(r"^\d\d:\d\d:\d\d [A-Z]+ \S+ (\d+) ")
_ID = re.compile(r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$")
_MOMENT = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
_TOKENS = {"lease_id", "cursor", "next"}


def part(page: str, title: str) -> str:
    """What stands under a heading of the second level."""
    return PAGES[page].split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_there_is_a_page_of_every_type() -> None:
    assert set(PAGES) == {*SETTINGS, "log"}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_its_parts(page: str) -> None:
    assert re.findall(r"^## (.+)$", PAGES[page], re.MULTILINE) == PARTS
    assert "../contract.md#" in PAGES[page].split("\n## ")[0], "leads to its section of the contract"
    assert "../operations.md#what-it-costs" in part(page, "Cost")
    assert "sh" in {kind for kind, _ in blocks(part(page, "Example"))}


@pytest.mark.parametrize("page", PAGES)
def test_errors_are_those_of_the_program(page: str) -> None:
    named = set(re.findall(r"`(\w+_\w+)`", re.sub(r"(?m)^(\|[^|]+\|).*$", r"\1", part(page, "Errors"))))
    assert named
    assert named <= {row.code for row in rows()}


def _bounds(schema: Any) -> str:
    schema = resolve(schema)
    if schema.get("type") == "integer":
        return f"{schema['minimum']:,} to {schema['maximum']:,}"
    if schema.get("type") == "string" and "maxLength" in schema:
        return "a path" if "pattern" in schema else f"{schema['minLength']:,} to {schema['maxLength']:,} characters"
    most = [one["maxItems"] for one in (schema, *schema.get("oneOf", ())) if "maxItems" in one]
    return f"1 to {most[0]} paths" if most else ""


def _default(name: str, schema: Any, *, required: bool) -> str:
    if name == "overflow_policy":  # what it is where a depth is set
        return "reject"
    default = schema.get("default")
    return "required" if required else "none" if default is None else str(default).lower()


def _expected(page: str) -> Iterator[tuple[str, tuple[str, str, str]]]:
    schemas = API["components"]["schemas"]
    if page == "log":
        for name in ("partitions", "storage"):
            schema = schemas["LogCreate"]["properties"][name]
            yield name, ("", _default(name, schema, required=False), _bounds(schema))
        return
    model = next(model for kind, model in SETTINGS.items() if kind == page)
    for name, field in model.model_fields.items():
        schema = schemas["Settings"]["properties"][name]
        live = " ◦" if name in model.LIVE else ""
        yield name, (live, _default(name, schema, required=field.is_required()), _bounds(schema))


@pytest.mark.parametrize("page", PAGES)
def test_settings_are_those_of_the_program(page: str) -> None:
    told = {
        one[0]: one[1:] for other in (page, *REFERS.get(page, ())) for one in _SETTING.findall(part(other, "Settings"))
    }
    assert re.findall(r"\]\((\w+)\.md#settings\)", part(page, "Settings")) == REFERS.get(page, [])
    assert told == dict(_expected(page))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("project")
    for name in ("functions", "layers", "shared"):
        (folder / name).symlink_to(ROOT / name)
    with running(Path(shutil.copy(ROOT / "template.yaml", folder))) as found:
        yield found


def _tenant(server: Server, name: str) -> dict[str, str]:
    """The credentials of a new tenant, so that no page sees what another one left."""
    kept = server.credentials()
    headers = {"Authorization": f"Bearer {kept['platform_key']}", "Content-Type": "application/json"}
    status, answer = server.call("POST", "/tenants", body=json.dumps({"name": name}), headers=headers)
    assert status == 201, answer
    return {**kept, "tenant_key": json.loads(answer)["admin"]["api_key"]}


def _lines(server: Server, mark: str) -> list[str]:
    """What the server says it answered since the last mark."""
    server.call("GET", mark)
    assert server.process.stdout is not None
    lines = iter(server.process.stdout.readline, "")
    return list(itertools.takewhile(lambda line: f" {mark} " not in line, lines))


def _shown(session: Session) -> list[Any]:
    """The last JSON that each block printed."""
    printed = session.output.split(END)[1:-1]
    lines = [[line for line in text.splitlines() if line[:1] in ("{", "[")] for text in printed]
    return [_plain(json.loads(found[-1], parse_float=str)) if found else None for found in lines]


def _plain(value: Any, name: str = "") -> Any:
    """A JSON value with the same text for all ids, moments and tokens."""
    if isinstance(value, dict):
        return {key: _plain(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if not isinstance(value, str):
        return value
    kinds = {"a token": name in _TOKENS, "an id": _ID.match(value), "a moment": _MOMENT.match(value)}
    return next((kind for kind, found in kinds.items() if found), value)


@pytest.mark.parametrize("page", PAGES)
def test_examples_answer_what_is_shown(server: Server, page: str, tmp_path: Path) -> None:
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / "credentials.json").write_text(json.dumps(_tenant(server, page)), encoding="utf-8")
    _lines(server, f"/before-{page}")
    parts = blocks(PAGES[page])
    scripts = [text for kind, text in parts if kind == "sh"]
    session = paste("".join(f"{text}printf '\\035'\n" for text in (PREPARATION, *scripts)), folder=tmp_path)
    lines = _lines(server, f"/after-{page}")
    assert (session.errors, {command.status for command in session.commands}) == ("", {0})
    statuses = [found[1] for line in lines if (found := _REQUEST.match(line))]
    assert len(statuses) == sum(map(requests_in, scripts)), lines
    assert {status[0] for status in statuses} == {"2"}, lines
    expected: list[Any] = []
    for kind, text in parts:
        if kind == "sh":
            expected.append(None)
        elif kind == "json":
            expected[-1] = _plain(json.loads(text, parse_float=str))
    shown = _shown(session)
    assert [one for one, told in zip(shown, expected, strict=True) if told is not None] == [
        told for told in expected if told is not None
    ]
