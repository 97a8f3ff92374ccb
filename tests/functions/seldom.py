"""Every case that is played beside the journeys, so that each right of each function is seen in use."""

from collections.abc import Callable

from tests.functions import seldom_data, seldom_delivery
from tests.functions.seldom_stage import Stage

CASES: list[Callable[[Stage], None]] = [
    seldom_data.refused_by_the_platform,
    seldom_data.refused_under_a_key,
    seldom_data.purges_cut_short,
    seldom_data.purges,
    seldom_data.items_of_odd_keys,
    seldom_data.expired_items,
    seldom_data.fewer_buckets,
    seldom_data.documents_found,
    seldom_data.documents_in_place_of_others,
    seldom_data.expired_documents,
    seldom_delivery.large_dead_letters,
    seldom_delivery.large_dead_letters_of_many,
    seldom_delivery.given_back_once_too_often,
    seldom_delivery.redriven_to_a_consumer,
    seldom_delivery.consumers_by_the_page,
    seldom_delivery.limit_set_later,
    seldom_delivery.dropped_together,
    seldom_delivery.acked_late,
    seldom_delivery.acked_by_itself,
    seldom_delivery.too_often_and_too_old,
    seldom_delivery.expired_from_a_stream,
    seldom_delivery.joined_with_much,
]
