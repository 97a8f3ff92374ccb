"""Bodies and answers of the consumers of to-many queues."""

from typing import NotRequired, TypedDict

from broker.bodies import Body


class SeekRequest(Body):
    """PATCH /queues/{queue}/consumers/{client_id}: `earliest`, `latest`, the id of a message, or a time."""

    seek: object


class PlaceAnswer(TypedDict):
    """A consumer's place in one partition; see `ConsumerAnswer`."""

    partition: int
    position: int
    lag: int


class LeaseAnswer(TypedDict):
    """The run that a consumer holds: its first message that is not settled, and when the last lease ends."""

    message_id: str
    lease_expires_at: str
    messages: int


class ConsumerAnswer(TypedDict):
    """A consumer.

    `position` counts what it has settled or passed over all partitions, `lag` what it has yet to get: messages of
    the stream that have not expired (also numbers whose publisher died, as long as nobody has read there) and those
    redriven to it.
    """

    client_id: str
    position: int
    lag: int
    redriven: int
    partitions: list[PlaceAnswer]
    lease: NotRequired[LeaseAnswer]
    created_at: str
    last_seen_at: str
