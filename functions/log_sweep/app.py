"""Every minute: remove the messages of deleted logs."""

from broker.http import schedule
from broker.wiring import log as wiring

handler = schedule(wiring.sweep().run)
