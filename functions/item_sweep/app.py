"""Every minute: expire the items of key_value queues."""

from broker.http import schedule
from broker.wiring import items as wiring

handler = schedule(wiring.sweep().run)
