"""Tenants and clients as rows and as answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NotRequired, TypedDict

from broker import keys, times
from broker.caller import Action, Caller, Permission, Role
from edge import Row, Value


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


@dataclass(frozen=True, slots=True)
class Client:
    """A client as it is stored, without its secret's hash."""

    client_id: str
    tenant_id: str
    name: str
    role: Role
    permissions: tuple[Permission, ...]
    created_at: int
    rotated_at: int | None = None

    def answer(self) -> ClientAnswer:
        """As callers see it."""
        answer: ClientAnswer = {
            "client_id": self.client_id,
            "name": self.name,
            "role": self.role,
            "permissions": permission_answers(self.permissions),
            "created_at": times.text(self.created_at),
        }
        if self.rotated_at is not None:
            answer["rotated_at"] = times.text(self.rotated_at)
        return answer

    def caller(self) -> Caller:
        """As the principal of a request."""
        return Caller(self.role, self.tenant_id, self.client_id, self.name, self.permissions)

    def attributes(self) -> Row:
        """What both of its rows hold."""
        row: Row = {
            "client_id": self.client_id,
            "tenant_id": self.tenant_id,
            "name": self.name,
            "role": self.role,
            "permissions": permission_values(self.permissions),
            "created_at": self.created_at,
        }
        return row if self.rotated_at is None else {**row, "rotated_at": self.rotated_at}

    def listed(self) -> Row:
        """The row under its tenant."""
        return {"pk": keys.tenant(self.tenant_id), "sk": keys.client(self.client_id), **self.attributes()}

    def known(self, secret_hash: bytes) -> Row:
        """The row that authentication reads."""
        return {"pk": keys.client(self.client_id), "sk": keys.CLIENT, "hash": secret_hash, **self.attributes()}


def read_client(row: Row) -> Client:
    """A client from either of its rows."""
    stored = row["permissions"]
    role = str(row["role"])
    return Client(
        client_id=str(row["client_id"]),
        tenant_id=str(row["tenant_id"]),
        name=str(row["name"]),
        role="admin" if role == "admin" else "platform" if role == "platform" else "client",
        permissions=tuple(_permission(each) for each in (stored if isinstance(stored, list) else [])),
        created_at=int(str(row["created_at"])),
        rotated_at=int(str(row["rotated_at"])) if "rotated_at" in row else None,
    )


def read_tenant(row: Row) -> TenantAnswer:
    """A tenant from its row in the list of tenants."""
    return {
        "tenant_id": str(row["sk"]),
        "name": str(row["name"]),
        "created_at": times.text(int(str(row["created_at"]))),
    }


def permission_answers(permissions: Sequence[Permission]) -> list[PermissionAnswer]:
    """Permissions as callers see them."""
    return [{"queues": each.queues, "actions": list(each.actions)} for each in permissions]


def permission_values(permissions: Sequence[Permission]) -> list[Value]:
    """Permissions as rows hold them."""
    return [{"queues": each.queues, "actions": list(each.actions)} for each in permissions]


def _permission(value: Value) -> Permission:
    stored = value if isinstance(value, dict) else {}
    listed = stored.get("actions")
    actions: list[Action] = []
    for action in listed if isinstance(listed, list) else []:
        actions.append("publish" if action == "publish" else "consume")
    return Permission(str(stored.get("queues", "")), tuple(actions))
