"""Every minute: let messages of to-many queues leave that are too old, and settle what silent consumers left."""

from broker.http import schedule
from broker.wiring import streams as wiring

handler = schedule(wiring.upkeep().run)
