"""ministack, an emulator of many AWS services, as a process: for races, write capacity and the deployed stack.

    with ministack() as url:                                # in memory
    with ministack(state=Path(".towpath")) as url:          # keeps its data in a folder, saved when it stops

It is run by the interpreter of its own environment, `.tools/ministack`, or the one TOWPATH_MINISTACK_PYTHON names.
"""

import contextlib
import pathlib
import tempfile
from collections.abc import Iterator

from tools.engine_process import free_port, installed, running
from tools.tables import client_environment

# Lambda functions run on ministack's own interpreter, and so would see its packages: point it at a clean one. After
# each invocation it waits up to 50 ms for a first line on stderr (5 ms more after one): wait 2 ms (1 ms). It unpacks
# the layers for every function anew, thousands of files each: unpack what is large once, and lead there from then on.
BOOT = """
import os, signal, sys, tempfile, threading

def unpacking_once():
    import zipfile
    unpack, unpacked = zipfile.ZipFile.extractall, {}

    def unpack_once(archive, path):
        members = tuple((member.filename, member.CRC) for member in archive.infolist())
        if len(members) < 100:
            return unpack(archive, path)
        if members not in unpacked:
            unpacked[members] = tempfile.mkdtemp()
            unpack(archive, unpacked[members])
        os.rmdir(path)
        os.symlink(unpacked[members], path)

    zipfile.ZipFile.extractall = unpack_once

def end_with_the_parent():
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)

threading.Thread(target=end_with_the_parent, daemon=True).start()
if lambda_python := os.environ.pop("LAMBDA_PYTHON", None):
    sys.executable = lambda_python
    unpacking_once()
    from ministack.core.lambda_runtime import Worker
    Worker._drain_stderr_bounded.__defaults__ = (0.002, 0.001, 0.250)
from ministack.app import main
main()
"""


@contextlib.contextmanager
def ministack(
    *,
    state: pathlib.Path | None = None,
    lambda_python: pathlib.Path | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[str]:
    """Run a ministack of our own on a free port while the block is open.

    Args:
        state: A folder that its data is read from and, on a clean stop, saved to; None keeps nothing.
        lambda_python: The interpreter for deployed functions.
        environment: More settings for it, such as `{"AUTH": "true"}`.

    Yields:
        Its URL, for all services.

    Raises:
        EngineError: It is not installed, or did not start.
    """
    python = installed("TOWPATH_MINISTACK_PYTHON", ".tools/ministack/bin/python")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="towpath-ministack-") as scratch:
        folder = pathlib.Path(scratch) if state is None else state.resolve()
        settings = {
            **client_environment(None),
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "LOG_LEVEL": "WARNING",
            "TMPDIR": scratch,
            "STATE_DIR": str(folder / "state"),
            "S3_DATA_DIR": str(folder / "objects"),
        }
        if state is not None:
            folder.mkdir(parents=True, exist_ok=True)
            settings |= {"PERSIST_STATE": "1", "S3_PERSIST": "1"}
        if lambda_python is not None:
            settings["LAMBDA_PYTHON"] = str(lambda_python)
        settings |= environment or {}
        with running([python, "-c", BOOT], url=url, ready="/_ministack/ready", environment=settings):
            yield url
