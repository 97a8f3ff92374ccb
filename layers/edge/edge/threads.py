"""Work side by side: AWS calls wait on the network, so threads are what makes ten of them cost the time of one."""

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from edge.clients import THREADS

T = TypeVar("T")
R = TypeVar("R")


_this_thread = threading.local()


def _mark() -> None:
    _this_thread.is_of_the_pool = True


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS - 1, thread_name_prefix="edge", initializer=_mark)


def side_by_side(work: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
    """The results of `work` for every task, in order, the calls running at the same time.

    One task runs where it stands, and so do tasks inside a task: a pool that waits for itself would never end. The
    time limit of the caller holds in the threads too. If several fail, the first failure in order is raised, after
    all have ended.
    """
    if len(tasks) <= 1 or getattr(_this_thread, "is_of_the_pool", False):
        return [work(task) for task in tasks]
    futures = [_pool().submit(contextvars.copy_context().run, work, task) for task in tasks[1:]]
    try:
        first = work(tasks[0])
    finally:
        for future in futures:
            future.exception()
    return [first, *(future.result() for future in futures)]
