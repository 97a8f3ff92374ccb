"""Every minute: deliver what was uploaded to the queues that subscribed to it."""

from broker.http import schedule
from broker.wiring import documents as wiring

handler = schedule(wiring.deliveries().run)
