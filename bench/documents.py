"""Documents: conversions of a megabyte in every direction, and upload and download beside the bare calls."""

import base64
import importlib
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.cold import ratios
from bench.measure import Api, Context, answer_of, milliseconds, new_tenant, table
from broker import wiring
from broker.documents import conversion
from broker.documents.media import Format, Media
from tests.worlds import moto_world

MEGABYTE = 1_000_000
TIMES = 5
FUNCTIONS = ["document_upload", "document_download", "document_list"]


def rows(count: int) -> list[dict[str, Any]]:
    """A table like those that people exchange: numbers, text, booleans, a cell that needs quotes."""
    return [
        {"id": n, "name": f"part {n}", "price": n / 7, "stock": n % 3 == 0, "note": f'"{n % 10}", see above'}
        for n in range(count)
    ]


def run() -> None:
    """Conversions, then what the functions add to storage, then cold starts."""
    _conversions()
    _throughput()
    found = ratios(FUNCTIONS)
    table([[name, ratio] for name, ratio in found.items()], head=["function", "cold import / floor"])


def _conversions() -> None:
    sources = _sources()
    lines = []
    for source, content in sources.items():
        media = Media(source, "utf-8" if source != "xml" else None)
        shown: list[object] = [source, len(content)]
        shown.append(milliseconds(partial(conversion.check, content, media), times=TIMES))
        for to in sources:
            work = partial(conversion.convert, content, media, to=to)
            shown.append("" if to == source else milliseconds(work, times=TIMES))
        lines.append(shown)
    table(lines, head=["from", "bytes", "check, ms", *(f"to {to}, ms" for to in sources)])


def _sources() -> dict[Format, bytes]:
    """A table of a megabyte in each format."""
    found: dict[Format, bytes] = {}
    one = json.dumps(rows(1000)).encode()
    per_row: dict[Format, float] = {"json": len(one) / 1000}
    for form in ("csv", "xml"):
        per_row[form] = len(conversion.convert(one, Media("json", "utf-8"), to=form)) / 1000
    for form, size in per_row.items():
        content = json.dumps(rows(int(MEGABYTE / size))).encode()
        found[form] = content if form == "json" else conversion.convert(content, Media("json", "utf-8"), to=form)
    return found


def _throughput() -> None:
    lines = []
    with moto_world() as world:
        key = new_tenant(world.platform_key)
        Api(key).call("queue_create", "POST /queues", body={"name": "q", "type": "document", "settings": {}})()
        objects, bucket = wiring.blobs().client, world.bucket
        for size in (1_000, 100_000, MEGABYTE):
            content = b"name\r\n" + (b"x" * 98 + b"\r\n") * (size // 100)
            upload, download = _calls(key, content)
            stored = answer_of(upload())["document_id"]
            put = _wall(partial(objects.put_object, Bucket=bucket, Key="x", Body=content))
            get = _wall(lambda: objects.get_object(Bucket=bucket, Key="x")["Body"].read())
            up = _wall(upload)
            down = _wall(download(stored))
            lines += [[f"upload {size}", up, put, up / put], [f"download {size}", down, get, down / get]]
    table(lines, head=["", "function, ms", "bare S3 call, ms", "ratio"])


def _wall(work: Callable[[], Any]) -> float:
    return milliseconds(work, times=25, clock=time.perf_counter)


def _calls(key: str, content: bytes) -> tuple[Callable[[], Any], Callable[[str], Callable[[], Any]]]:
    """An upload of this content, and what makes a download of a document."""
    upload, download = (importlib.import_module(f"functions.{name}.app").handler for name in FUNCTIONS[:2])
    about = {"content-type": "text/csv", "x-document-name": "n", "x-document-description": "d"}
    event = {
        "rawPath": "/queues/q/documents",
        "headers": {"authorization": f"Bearer {key}", "content-length": str(len(content)), **about},
        "body": base64.b64encode(content).decode(),
        "isBase64Encoded": True,
    }

    def made(handler: Any, sent: Any) -> Any:
        answer = handler(sent, Context())
        if answer["statusCode"] >= 300:
            raise RuntimeError(answer)
        return answer

    def downloads(document_id: str) -> Callable[[], Any]:
        path = {"rawPath": f"/queues/q/documents/{document_id}", "headers": {"authorization": f"Bearer {key}"}}
        return lambda: made(download, path)

    return lambda: made(upload, event), downloads
