"""GET /queues/{queue}/buckets/keys: the series of a queue by page."""

from broker.http import Answer, Request, endpoint, listing
from broker.series.models import KeysQuery
from broker.wiring import series as wiring

series = wiring.series()


@endpoint("GET /queues/{queue}/buckets/keys", who="tenant")
def handler(request: Request) -> Answer:
    """List those that have buckets."""
    return listing("keys", series.keys(request.caller, request.name("queue"), request.query(KeysQuery)))
