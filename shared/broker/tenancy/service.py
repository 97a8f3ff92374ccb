"""Tenants: made, listed, rotated and removed."""

import contextlib

from broker import keys
from broker.apikeys import ApiKey
from broker.caller import Caller
from broker.clients import Client, TenantAnswer, WhoamiAnswer, permission_answers, read_tenant
from broker.crypto import Scope
from broker.datakeys import TenantKeys, key_name, read_keys
from broker.errors import Conflict, Forbidden, NotFound, TenantHasQueues
from broker.ids import Clock, Ids
from broker.listing import Lister, Listing, PageRequest
from broker.tenancy.clients import Clients
from edge import ConditionFailed, Row, StateTable, TransactionRefused

_CLIENTS_AT_ONCE = 40


class Tenancy:
    """The tenants of the platform."""

    def __init__(
        self,
        *,
        state: StateTable,
        data_keys: TenantKeys,
        clients: Clients,
        lister: Lister,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._state = state
        self._data_keys = data_keys
        self._clients = clients
        self._lister = lister
        self._clock = clock
        self._ids = ids

    def create_tenant(self, name: str) -> TenantAnswer:
        """Make a tenant with its data key and its admin, whose key is shown this once."""
        tenant_id, now = self._ids(), self._clock()
        admin = Client(self._ids(), tenant_id, "admin", "admin", (), now)
        key = ApiKey.new(admin.client_id)
        config: Row = {
            "pk": keys.tenant(tenant_id),
            "sk": keys.CONFIG,
            "name": name,
            "created_at": now,
            "key_version": 1,
            "data_keys": {key_name(1): self._data_keys.make(tenant_id)},
        }
        listed: Row = {"pk": keys.TENANTS, "sk": tenant_id, "name": name, "created_at": now}
        rows = [config, listed, admin.listed(), admin.known(key.hash())]
        self._state.transact([self._state.put_operation(row) for row in rows])
        return {**read_tenant(listed), "admin": {"client_id": admin.client_id, "api_key": key.text()}}

    def list_tenants(self, request: PageRequest) -> Listing[TenantAnswer]:
        """All tenants, oldest first."""
        scope = Scope(keys.PLATFORM, "", "tenants")
        return self._lister.page(keys.TENANTS, prefix="", scope=scope, request=request, read=read_tenant)

    def tenant(self, tenant_id: str) -> TenantAnswer:
        """One tenant.

        Raises:
            NotFound: There is none of this id.
        """
        row = self._tenant_row(tenant_id)
        return {**read_tenant({**row, "sk": tenant_id}), "key_version": int(str(row["key_version"]))}

    def delete_tenant(self, tenant_id: str) -> None:
        """Remove a tenant and its clients.

        Without queues it is closed, so that nothing can be made in it any more, and looked through again; a call that
        dies half-way is finished by the next one.

        Raises:
            NotFound: There is none of this id.
            TenantHasQueues: It has queues or logs; it stays open.
            Conflict: Another request is deleting it too.
        """
        pk, mine = keys.tenant(tenant_id), self._ids()
        if self._has_queues(tenant_id):
            self._tenant_row(tenant_id)
            raise TenantHasQueues
        self._close(tenant_id, mine)
        if self._has_queues(tenant_id):
            self._reopen(tenant_id, mine)
            raise TenantHasQueues
        while clients := self._state.query(pk, prefix=keys.CLIENTS_PREFIX, limit=_CLIENTS_AT_ONCE).rows:
            for client_id in (str(row["client_id"]) for row in clients):
                self._clients.remove(tenant_id, client_id)
        gone = self._state.delete_operation(pk, keys.CONFIG, condition="#closing = :mine", values={"mine": mine})
        try:
            self._state.transact([gone, self._state.delete_operation(keys.TENANTS, tenant_id)])
        except TransactionRefused as error:
            self._tenant_row(tenant_id)
            raise Conflict("Another request is deleting this tenant too.") from error
        self._data_keys.forget(tenant_id)

    def rotate_data_key(self, caller: Caller, tenant_id: str) -> TenantAnswer:
        """Seal what is written from now on under a new data key; what was written stays readable.

        Raises:
            NotFound: There is no such tenant, or it is not the caller's own.
            Forbidden: The caller is a client without administration rights.
        """
        if caller.role != "platform" and caller.tenant_id != tenant_id:
            raise NotFound("There is no tenant of this id.")
        if caller.role == "client":
            raise Forbidden
        row = self._tenant_row(tenant_id)
        version = read_keys(row).current + 1
        name = key_name(version)
        values: Row = {"old": version - 1, "new": version, "wrapped": self._data_keys.make(tenant_id)}
        try:
            self._state.update(
                keys.tenant(tenant_id),
                keys.CONFIG,
                f"SET #data_keys.#{name} = :wrapped, #key_version = :new",
                values=values,
                condition="#key_version = :old",
                done_if={"key_version": version},
            )
        except ConditionFailed as error:
            raise Conflict("The key is being rotated by another request.") from error
        self._data_keys.forget(tenant_id)
        return self.tenant(tenant_id)

    def whoami(self, caller: Caller) -> WhoamiAnswer:
        """The caller, as it is known."""
        return {
            "role": caller.role,
            "tenant_id": caller.tenant_id or None,
            "client_id": caller.client_id,
            "name": caller.name,
            "permissions": permission_answers(caller.permissions),
        }

    def _has_queues(self, tenant_id: str) -> bool:
        pk = keys.tenant(tenant_id)
        return any(self._state.query(pk, prefix=prefix, limit=1).rows for prefix in keys.QUEUE_PREFIXES)

    def _close(self, tenant_id: str, mine: str) -> None:
        values: Row = {"mine": mine}
        try:
            self._state.update(
                keys.tenant(tenant_id),
                keys.CONFIG,
                "SET #closing = :mine",
                values=values,
                condition="attribute_exists(#pk)",
            )
        except ConditionFailed as error:
            raise NotFound("There is no tenant of this id.") from error

    def _reopen(self, tenant_id: str, mine: str) -> None:
        """Open a tenant again, unless another request has begun to delete it since."""
        values: Row = {"mine": mine}
        with contextlib.suppress(ConditionFailed):
            self._state.update(
                keys.tenant(tenant_id), keys.CONFIG, "REMOVE #closing", values=values, condition="#closing = :mine"
            )

    def _tenant_row(self, tenant_id: str) -> Row:
        row = self._state.get(keys.tenant(tenant_id), keys.CONFIG)
        if row is None:
            raise NotFound("There is no tenant of this id.")
        return row
