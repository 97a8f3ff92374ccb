"""GET /queues/{queue}/buckets: the buckets of a series that touch a range of time."""

from broker.http import Answer, Request, endpoint, ok
from broker.series.models import RangeQuery
from broker.wiring import series as wiring

series = wiring.series()


@endpoint("GET /queues/{queue}/buckets", who="tenant")
def handler(request: Request) -> Answer:
    """Read one page."""
    return ok(series.range(request.caller, request.name("queue"), request.query(RangeQuery)))
