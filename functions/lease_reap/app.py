"""Every minute: see to leases and delays that have ended."""

from broker.http import schedule
from broker.wiring import lanes as wiring

handler = schedule(wiring.reaper().run)
