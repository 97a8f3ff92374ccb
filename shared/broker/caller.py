"""Who is calling, and what that allows."""

import fnmatch
import functools
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from broker.errors import Forbidden, NotFound

Action: TypeAlias = Literal["publish", "consume"]
Role: TypeAlias = Literal["platform", "admin", "client"]


@dataclass(frozen=True, slots=True)
class Permission:
    """Actions on the queues whose name matches a glob (`*` crosses `/`)."""

    queues: str
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated principal.

    Attributes:
        role: `platform` for the platform admin, `admin` for a tenant's admin, `client` for the rest.
        tenant_id: Empty for the platform admin.
        client_id: The client's id; `platform` for the platform admin.
        name: The client's name.
        permissions: What a client may do; empty for admins, who need none.
    """

    role: Role
    tenant_id: str
    client_id: str
    name: str = ""
    permissions: tuple[Permission, ...] = ()

    def may(self, action: Action | None, *, queue: str) -> bool:
        """Whether the caller may do this (None: anything at all) to the queue of this name."""
        if self.role == "admin":
            return True
        return any(
            (action is None or action in permission.actions) and _pattern(permission.queues).match(queue) is not None
            for permission in self.permissions
        )

    def require(self, action: Action | None, *, queue: str, exists: bool) -> None:
        """Refuse a caller without the action: 404 for what is not there, so that names cannot be probed.

        Raises:
            Forbidden: The queue exists and the caller may not do this.
            NotFound: It does not exist.
        """
        if not exists:
            raise NotFound(f"There is no queue {queue}.")
        if not self.may(action, queue=queue):
            raise Forbidden(f"This key has no permission to {action or 'see'} {queue}.")


@functools.lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(glob))
