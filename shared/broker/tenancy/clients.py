"""The clients of a tenant: made, listed, changed and removed."""

from collections.abc import Sequence

from broker import keys
from broker.apikeys import ApiKey
from broker.authentication import Authentication
from broker.caller import Caller, Permission
from broker.clients import Client, ClientAnswer, permission_values, read_client
from broker.crypto import Scope
from broker.errors import AdminClient, NotFound
from broker.ids import Clock, Ids
from broker.listing import Lister, Listing, PageRequest
from broker.tenants import alive_operation, not_alive
from edge import Row, StateTable, TransactionRefused


class Clients:
    """The clients of all tenants; each stands once under its tenant and once for authentication."""

    def __init__(
        self, *, state: StateTable, authentication: Authentication, lister: Lister, clock: Clock, ids: Ids
    ) -> None:
        self._state = state
        self._authentication = authentication
        self._lister = lister
        self._clock = clock
        self._ids = ids

    def create(self, caller: Caller, *, name: str, permissions: Sequence[Permission]) -> ClientAnswer:
        """Make a client; its key is shown this once."""
        client = Client(self._ids(), caller.tenant_id, name, "client", tuple(permissions), self._clock())
        key = ApiKey.new(client.client_id)
        alive = alive_operation(self._state, caller.tenant_id)
        puts = [self._state.put_operation(row) for row in (client.listed(), client.known(key.hash()))]
        try:
            self._state.transact([alive, *puts])
        except TransactionRefused as error:
            if error.failures[0] is not None:
                raise not_alive(error.failures[0]) from error
            raise
        return {**client.answer(), "api_key": key.text()}

    def listed(self, caller: Caller, request: PageRequest) -> Listing[ClientAnswer]:
        """The tenant's clients, oldest first."""
        scope = Scope(caller.tenant_id, "", "clients")
        pk = keys.tenant(caller.tenant_id)
        return self._lister.page(
            pk, prefix=keys.CLIENTS_PREFIX, scope=scope, request=request, read=lambda row: read_client(row).answer()
        )

    def read(self, caller: Caller, client_id: str) -> ClientAnswer:
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
        return self.read(caller, client_id)

    def delete(self, caller: Caller, client_id: str) -> None:
        """Revoke a client's key for good; effective everywhere within 60 seconds.

        Raises:
            NotFound: The tenant has no such client.
            AdminClient: It is the tenant's admin.
        """
        self._changeable(caller, client_id)
        self.remove(caller.tenant_id, client_id)

    def rotate(self, caller: Caller, client_id: str) -> ClientAnswer:
        """Give a client a new key; the old one dies, everywhere within 60 seconds.

        Raises:
            NotFound: The tenant has no such client.
        """
        client = self._client(caller, client_id)
        key = ApiKey.new(client_id)
        self._change(client, "SET #rotated_at = :now", {"now": self._clock()}, secret_hash=key.hash())
        return {**self.read(caller, client_id), "api_key": key.text()}

    def remove(self, tenant_id: str, client_id: str) -> None:
        """Remove both rows of a client, whoever it is."""
        self._state.transact(
            [
                self._state.delete_operation(keys.client(client_id), keys.CLIENT),
                self._state.delete_operation(keys.tenant(tenant_id), keys.client(client_id)),
            ]
        )
        self._authentication.forget(client_id)

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
