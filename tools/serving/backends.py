"""The AWS the functions talk to.

- By default moto, in this process: nothing to install or start, gone at the end.
- With a state folder ministack, as a process of its own that keeps its data there.
- Or any endpoint that speaks AWS' protocols.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def backend(*, state: Path | None, endpoint: str | None) -> Iterator[str | None]:
    """Run the backend while the block is open.

    Args:
        state: The folder that keeps the data; makes it ministack.
        endpoint: The URL of a backend that runs already; goes before `state`.

    Yields:
        The endpoint's URL; None for moto, which takes the calls of every client of this process.
    """
    # Imported here: each costs half a second, and only one is used.
    if endpoint is not None:
        yield endpoint
    elif state is not None:
        from tools.ministack import ministack

        with ministack(state=state) as url:
            yield url
    else:
        from tools.moto_threads import moto_in_threads

        with moto_in_threads():
            yield None
