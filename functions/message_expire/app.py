"""Every minute: remove messages past their age, and repair depth counters that have drifted."""

from broker.http import schedule
from broker.wiring import lanes as wiring

handler = schedule(wiring.expiry().run)
