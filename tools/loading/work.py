"""A worker process: `python -m tools.loading.work <role> <queue> <url> <key> <journal>`."""

import sys
from collections.abc import Callable
from pathlib import Path

from tools.loading.api import Api
from tools.loading.journal import Journal
from tools.loading.workers import documents, items, log, messages, streams

ROLES: dict[str, Callable[[Api, Journal, str], None]] = {
    "publish": messages.produce,
    "consume": messages.consume,
    "enqueue": log.enqueue,
    "poll": log.follow,
    "join": streams.produce,
    "write": items.write,
    "follow": items.follow,
    "upload": documents.upload,
    "read": documents.read,
    "take": documents.take,
}


def main() -> None:
    """Work until killed."""
    role, queue, url, key, path = sys.argv[1:]
    journal = Journal(Path(path))
    ROLES[role](Api(url, key, journal), journal, queue)


if __name__ == "__main__":
    main()
