"""GET /queues/{queue}/buckets/latest: the newest buckets of a series."""

from broker.http import Answer, Request, endpoint, ok
from broker.series.models import LatestQuery
from broker.wiring import series as wiring

series = wiring.series()


@endpoint("GET /queues/{queue}/buckets/latest", who="tenant")
def handler(request: Request) -> Answer:
    """Read them."""
    return ok(series.latest(request.caller, request.name("queue"), request.query(LatestQuery)))
