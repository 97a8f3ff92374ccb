"""GET /health: whether the service answers, and in which version; without a key."""

from broker import wiring
from broker.http import Answer, Request, endpoint, ok


@endpoint("GET /health", who="anyone")
def handler(_: Request) -> Answer:
    """Say so."""
    return ok({"status": "ok", "version": wiring.settings().version})
