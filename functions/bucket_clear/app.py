"""DELETE /queues/{queue}/buckets: remove the buckets of one series, or of all."""

from broker.http import Answer, Request, endpoint, no_content
from broker.series.models import KeyQuery
from broker.wiring import series as wiring

series = wiring.series()


@endpoint("DELETE /queues/{queue}/buckets", who="admin")
def handler(request: Request) -> Answer:
    """Remove them."""
    series.clear(request.caller, request.name("queue"), request.query(KeyQuery))
    return no_content()
