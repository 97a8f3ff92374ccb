"""Every minute: remove the messages of deleted logs."""

from broker import wiring
from broker.http import schedule

handler = schedule(wiring.sweep().run)
