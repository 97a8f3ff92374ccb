"""Bodies of tenants and clients."""

from typing import Annotated, Literal

from pydantic import Field

from broker.bodies import Body, Title
from broker.caller import Permission

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
