"""Every minute: remove what deleted queues and logs held, and what purges left."""

from broker.http import schedule
from broker.wiring import queues as wiring

handler = schedule(wiring.sweep().run)
