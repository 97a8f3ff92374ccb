"""The platform key, the demo tenant, and the files that keep them.

The demo tenant is made through the functions themselves, over HTTP, as anybody would make one. Where the data stays, so
does the tenant: its key is tried first and made anew only if it no longer opens the door.
"""

import dataclasses
import http.client
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

DEMO_TENANT = "demo"
PLATFORM_CLIENT = "platform"  # the part before the dot of the platform administrator's key


class DemoError(Exception):
    """The demo tenant could not be made."""


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What a client needs to talk to the local server."""

    url: str
    platform_key: str
    tenant_id: str
    tenant_key: str


def read_credentials(path: Path) -> Credentials | None:
    """The credentials kept in a file, or None if there are none that can be read."""
    try:
        return Credentials(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_credentials(credentials: Credentials, *, path: Path) -> None:
    """Keep credentials where only this user can read them."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(dataclasses.asdict(credentials), file, indent=2)
        file.write("\n")
    new.replace(path)


def demo_credentials(url: str, *, platform_key: str, kept: Credentials | None) -> Credentials:
    """The kept demo tenant if its key still works, else a new one.

    Args:
        url: Where the server listens.
        platform_key: The platform administrator's key.
        kept: What an earlier run left.

    Raises:
        DemoError: The server would not make a tenant.
    """
    if kept is not None and _call(url, "GET", "/whoami", key=kept.tenant_key)[0] == 200:
        return dataclasses.replace(kept, url=url, platform_key=platform_key)
    status, answer = _call(url, "POST", "/tenants", key=platform_key, body={"name": DEMO_TENANT})
    if status != 201:
        raise DemoError(f"POST /tenants answered {status}: {answer}")
    return Credentials(url, platform_key, tenant_id=answer["tenant_id"], tenant_key=answer["admin"]["api_key"])


def _call(url: str, method: str, path: str, *, key: str, body: object = None) -> tuple[int, Any]:
    server = urlsplit(url)
    connection = http.client.HTTPConnection(server.netloc, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        connection.request(method, server.path + path, body=None if body is None else json.dumps(body), headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, text
