"""dynalite, an independent DynamoDB on LevelDB, as a process: strict about requests, and quick on big partitions.

    with dynalite() as url:
        ...

It has no transactions, no TTL and no other service. It is run from `.tools/dynalite` by the node there, or by what
TOWPATH_NODE and TOWPATH_DYNALITE name.
"""

import contextlib
from collections.abc import Iterator

from tools.engine_process import free_port, installed, running

BOOT = """
const dynalite = require(process.argv[1])
const server = dynalite({createTableMs: 0, deleteTableMs: 0, updateTableMs: 0})
server.listen(Number(process.argv[2]), "127.0.0.1")
process.stdin.resume()
process.stdin.on("end", () => process.exit(0))
"""


@contextlib.contextmanager
def dynalite() -> Iterator[str]:
    """Run a dynalite of our own, in memory, on a free port while the block is open.

    Yields:
        Its URL.

    Raises:
        EngineError: It is not installed, or did not start.
    """
    node = installed("TOWPATH_NODE", ".tools/dynalite/node")
    package = installed("TOWPATH_DYNALITE", ".tools/dynalite/node_modules/dynalite")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with running([node, "-e", BOOT, package, str(port)], url=url, environment={}):
        yield url
