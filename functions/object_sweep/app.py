"""Every 15 minutes: remove objects without a document, and documents that are too old."""

from broker.http import schedule
from broker.wiring import documents as wiring

handler = schedule(wiring.object_sweep().run)
