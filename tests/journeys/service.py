"""The service itself, tenants, and the clients of one."""

from tests.journeys.callers import Product

LOGS = "/queue/v1/namespaces/shop/queues"


def service_and_tenants(product: Product) -> None:
    """Make, list, read, rotate and delete tenants."""
    anybody = product.caller(None)
    anybody("GET", "/health")
    assert anybody("GET", "/nowhere", expect=404)["code"] == "route_not_found"
    platform = product.platform()
    platform("GET", "/whoami")
    (admin, tenant_id), (_, other) = (product.tenant() for _ in range(2))
    page = platform("GET", "/tenants?limit=1")
    platform("GET", f"/tenants?limit=1&next_token={page['next_token']}")
    platform("GET", f"/tenants/{tenant_id}")
    for caller in (platform, admin):
        caller("POST", f"/tenants/{tenant_id}/rotate-key")
    admin("POST", LOGS, body={"queue": "orders"})
    platform("DELETE", f"/tenants/{tenant_id}", expect=409)
    platform("DELETE", f"/tenants/{other}", expect=204)


def clients(product: Product) -> None:
    """Make, list, read, change, rotate and delete clients."""
    admin, _ = product.tenant()
    allowed = {"permissions": [{"queues": "*", "actions": ["consume"]}]}
    made = [admin("POST", "/clients", body={"name": name, **allowed}, expect=201) for name in ("a", "b")]
    page = admin("GET", "/clients?limit=1")
    admin("GET", f"/clients?limit=1&next_token={page['next_token']}")
    client_id = made[0]["client_id"]
    admin("GET", f"/clients/{client_id}")
    admin("PATCH", f"/clients/{client_id}", body=allowed)
    admin("POST", f"/clients/{client_id}/rotate")
    admin("DELETE", f"/clients/{client_id}", expect=204)
