"""$default: every path that no other function answers."""

from broker.errors import RouteNotFound
from broker.http import Answer, Request, endpoint


@endpoint("$default", who="anyone")
def handler(_: Request) -> Answer:
    """Say that there is nothing here, as a problem document."""
    raise RouteNotFound
