"""Bodies of tenants and clients."""

from typing import Annotated, Literal, NotRequired, TypedDict

from pydantic import Field

from broker.bodies import Body, Title
from broker.tenancy.caller import Permission

Glob = Annotated[str, Field(pattern=r"^[A-Za-z0-9._*?/-]{1,200}\z")]


class TenantRequest(Body):
    """POST /tenants."""

    name: Title


class PermissionBody(Body):
    """What a client may do to the queues whose name matches."""

    queues: Glob
    actions: list[Literal["publish", "consume"]] = Field(min_length=1, max_length=2)


class PermissionsRequest(Body):
    """PATCH /clients/{client_id}."""

    permissions: list[PermissionBody] = Field(max_length=100)

    def granted(self) -> list[Permission]:
        """As the domain knows them."""
        return [Permission(each.queues, tuple(dict.fromkeys(each.actions))) for each in self.permissions]


class ClientRequest(PermissionsRequest):
    """POST /clients."""

    name: Title


class PermissionAnswer(TypedDict):
    """A permission."""

    queues: str
    actions: list[str]


class ClientAnswer(TypedDict):
    """A client; `api_key` only in the answer that made the key."""

    client_id: str
    name: str
    role: str
    permissions: list[PermissionAnswer]
    created_at: str
    rotated_at: NotRequired[str]
    api_key: NotRequired[str]


class AdminAnswer(TypedDict):
    """The admin of a new tenant."""

    client_id: str
    api_key: str


class TenantAnswer(TypedDict):
    """A tenant; `admin` only in the answer that made it."""

    tenant_id: str
    name: str
    created_at: str
    key_version: NotRequired[int]
    admin: NotRequired[AdminAnswer]


class WhoamiAnswer(TypedDict):
    """The caller."""

    role: str
    tenant_id: str | None
    client_id: str
    name: str
    permissions: list[PermissionAnswer]
