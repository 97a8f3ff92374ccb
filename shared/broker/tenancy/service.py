"""Tenants and clients: made, listed, changed and removed."""

from collections.abc import Sequence

from broker import keys
from broker.apikeys import ApiKey
from broker.authentication import Authentication
from broker.caller import Caller, Permission
from broker.clients import (
    Client,
    ClientAnswer,
    TenantAnswer,
    WhoamiAnswer,
    permission_answers,
    permission_values,
    read_client,
    read_tenant,
)
from broker.crypto import Scope
from broker.datakeys import TenantKeys, key_name, read_keys
from broker.errors import AdminClient, Conflict, Forbidden, NotFound, TenantHasQueues
from broker.ids import Clock, Ids
from broker.listing import Lister, Listing, PageRequest
from edge import ConditionFailed, Row, StateTable, TransactionRefused

_ALIVE = "attribute_exists(#pk) AND attribute_not_exists(#closing)"
_DELETE_BATCH = 40


class Tenancy:
    """The tenants of the platform and the clients of each tenant."""

    def __init__(
        self,
        *,
        state: StateTable,
        data_keys: TenantKeys,
        authentication: Authentication,
        lister: Lister,
        clock: Clock,
        ids: Ids,
    ) -> None:
        self._state = state
        self._data_keys = data_keys
        self._authentication = authentication
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

        It closes first, so that nothing can be made in it any more; a call that dies half-way is finished by the
        next one.

        Raises:
            NotFound: There is none of this id.
            TenantHasQueues: It has queues or logs; it stays open.
        """
        self._tenant_row(tenant_id)
        pk = keys.tenant(tenant_id)
        self._state.update(
            pk, keys.CONFIG, "SET #closing = :true", values={"true": True}, condition="attribute_exists(#pk)"
        )
        for prefix in keys.QUEUE_PREFIXES:
            if self._state.query(pk, prefix=prefix, limit=1).rows:
                self._state.update(pk, keys.CONFIG, "REMOVE #closing", condition="attribute_exists(#pk)")
                raise TenantHasQueues
        while clients := self._state.query(pk, prefix=keys.CLIENTS_PREFIX, limit=_DELETE_BATCH).rows:
            for client_id in (str(row["client_id"]) for row in clients):
                self._remove_client(tenant_id, client_id)
        self._state.transact(
            [self._state.delete_operation(pk, keys.CONFIG), self._state.delete_operation(keys.TENANTS, tenant_id)]
        )
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

    def create_client(self, caller: Caller, *, name: str, permissions: Sequence[Permission]) -> ClientAnswer:
        """Make a client; its key is shown this once."""
        client = Client(self._ids(), caller.tenant_id, name, "client", tuple(permissions), self._clock())
        key = ApiKey.new(client.client_id)
        alive = self._state.check_operation(keys.tenant(caller.tenant_id), keys.CONFIG, condition=_ALIVE)
        puts = [self._state.put_operation(row) for row in (client.listed(), client.known(key.hash()))]
        try:
            self._state.transact([alive, *puts])
        except TransactionRefused as error:
            raise NotFound("The tenant does not exist any more.") from error
        return {**client.answer(), "api_key": key.text()}

    def list_clients(self, caller: Caller, request: PageRequest) -> Listing[ClientAnswer]:
        """The tenant's clients, oldest first."""
        scope = Scope(caller.tenant_id, "", "clients")
        pk = keys.tenant(caller.tenant_id)
        return self._lister.page(
            pk, prefix=keys.CLIENTS_PREFIX, scope=scope, request=request, read=lambda row: read_client(row).answer()
        )

    def client(self, caller: Caller, client_id: str) -> ClientAnswer:
        """One client of the caller's tenant.

        Raises:
            NotFound: The tenant has none of this id.
        """
        return self._client(caller, client_id).answer()

    def change_permissions(self, caller: Caller, client_id: str, *, permissions: Sequence[Permission]) -> ClientAnswer:
        """Replace what a client may do; effective everywhere within 60 seconds.

        Raises:
            NotFound: The tenant has no such client.
            AdminClient: It is the tenant's admin.
        """
        client = self._changeable(caller, client_id)
        self._change(client, "SET #permissions = :permissions", {"permissions": permission_values(permissions)})
        return self.client(caller, client_id)

    def delete_client(self, caller: Caller, client_id: str) -> None:
        """Revoke a client's key for good; effective everywhere within 60 seconds.

        Raises:
            NotFound: The tenant has no such client.
            AdminClient: It is the tenant's admin.
        """
        self._changeable(caller, client_id)
        self._remove_client(caller.tenant_id, client_id)

    def rotate_client(self, caller: Caller, client_id: str) -> ClientAnswer:
        """Give a client a new key; the old one dies, everywhere within 60 seconds.

        Raises:
            NotFound: The tenant has no such client.
        """
        client = self._client(caller, client_id)
        key = ApiKey.new(client_id)
        self._change(client, "SET #rotated_at = :now", {"now": self._clock()}, secret_hash=key.hash())
        return {**self.client(caller, client_id), "api_key": key.text()}

    def whoami(self, caller: Caller) -> WhoamiAnswer:
        """The caller, as it is known."""
        return {
            "role": caller.role,
            "tenant_id": caller.tenant_id or None,
            "client_id": caller.client_id,
            "name": caller.name,
            "permissions": permission_answers(caller.permissions),
        }

    def _tenant_row(self, tenant_id: str) -> Row:
        row = self._state.get(keys.tenant(tenant_id), keys.CONFIG)
        if row is None:
            raise NotFound("There is no tenant of this id.")
        return row

    def _client(self, caller: Caller, client_id: str) -> Client:
        row = self._state.get(keys.tenant(caller.tenant_id), keys.client(client_id))
        if row is None:
            raise NotFound("There is no client of this id.")
        return read_client(row)

    def _changeable(self, caller: Caller, client_id: str) -> Client:
        client = self._client(caller, client_id)
        if client.role == "admin":
            raise AdminClient
        return client

    def _change(self, client: Client, expression: str, values: Row, *, secret_hash: bytes | None = None) -> None:
        """Change both rows of a client together."""
        known, known_values = expression, values
        if secret_hash is not None:
            known, known_values = f"{expression}, #hash = :hash", {**values, "hash": secret_hash}
        exists = "attribute_exists(#pk)"
        try:
            self._state.transact(
                [
                    self._state.update_operation(
                        keys.tenant(client.tenant_id),
                        keys.client(client.client_id),
                        expression,
                        values=values,
                        condition=exists,
                    ),
                    self._state.update_operation(
                        keys.client(client.client_id), keys.CLIENT, known, values=known_values, condition=exists
                    ),
                ]
            )
        except TransactionRefused as error:
            raise NotFound("There is no client of this id.") from error
        self._authentication.forget(client.client_id)

    def _remove_client(self, tenant_id: str, client_id: str) -> None:
        self._state.transact(
            [
                self._state.delete_operation(keys.client(client_id), keys.CLIENT),
                self._state.delete_operation(keys.tenant(tenant_id), keys.client(client_id)),
            ]
        )
        self._authentication.forget(client_id)
