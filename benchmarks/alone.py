"""Jobs that take long to set up and must be measured alone: set up side by side, then measured one by one.

A script has a context manager that sets a job up and yields a function that measures it:

    for job, found in one_by_one(jobs, set_up):
        ...

Every job has its own process. While one measures, the others wait.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from threading import BrokenBarrierError
from typing import Any, TypeVar

Job = TypeVar("Job")

SetUp = Callable[[Job], AbstractContextManager[Callable[[], Any]]]
"""A function of a module, which the processes import."""

_shared: list[Any] = []
"""In a job's process: a barrier for all that are ready, and the lock of the one that measures."""


class FailedError(Exception):
    """A job ended in an error."""


def one_by_one(jobs: Sequence[Job], set_up: SetUp[Job]) -> Iterator[tuple[Job, Any]]:
    """What each job measures, as they come."""
    if not jobs:
        return
    context = multiprocessing.get_context("spawn")
    shared = (context.Barrier(len(jobs)), context.Lock())
    with ProcessPoolExecutor(len(jobs), context, _share, shared) as pool:
        waiting = {pool.submit(_work, job, set_up): job for job in jobs}
        for future in as_completed(waiting):
            error = future.exception()
            if error is None:
                yield waiting[future], future.result()
            elif isinstance(error, BrokenProcessPool):  # of any job: killed for memory, for one
                raise FailedError(str(error))
            elif not isinstance(error, BrokenBarrierError):  # which another job has caused
                raise FailedError(f"{waiting[future]}: {type(error).__name__}: {error}")


def _share(*shared: Any) -> None:
    _shared[:] = shared


def _work(job: Any, set_up: SetUp[Any]) -> Any:
    ready, alone = _shared
    try:
        with set_up(job) as measure:
            ready.wait()
            with alone:
                return measure()
    except Exception:
        ready.abort()
        raise
