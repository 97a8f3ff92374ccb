"""Every minute: promote messages whose items have arrived, and give up on those that have waited for too long."""

from broker.http import schedule
from broker.wiring import enrichment as wiring

handler = schedule(wiring.rounds().run)
