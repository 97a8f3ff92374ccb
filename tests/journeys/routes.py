"""Every journey there is. Together they take every route."""

from collections.abc import Callable

from tests.journeys.callers import Product
from tests.journeys.data import key_value, time_series
from tests.journeys.delivery import one_to_many, one_to_one, stream_to_many, stream_to_one
from tests.journeys.files import document, text_document
from tests.journeys.log import log
from tests.journeys.service import clients, service_and_tenants

JOURNEYS: dict[str, Callable[[Product], None]] = {
    journey.__name__: journey
    for journey in (
        service_and_tenants,
        clients,
        log,
        one_to_one,
        one_to_many,
        key_value,
        time_series,
        stream_to_one,
        stream_to_many,
        document,
        text_document,
    )
}
