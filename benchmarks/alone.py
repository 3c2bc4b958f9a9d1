"""Set up slow jobs in parallel, then measure them one at a time, so that each is measured alone.

A script has a context manager that sets up a job and yields a function that measures it:

    for job, result in one_by_one(jobs, set_up):
        ...

Every job has its own process. While one measures, the others wait.
"""

import multiprocessing
import queue
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from multiprocessing.process import BaseProcess
from threading import BrokenBarrierError
from typing import Any, TypeVar

Job = TypeVar("Job")

SetUp = Callable[[Job], AbstractContextManager[Callable[[], Any]]]
"""A function at the top level of a module, which the processes import."""


class FailedError(Exception):
    """A job ended in an error."""


def one_by_one(jobs: Sequence[Job], set_up: SetUp[Job]) -> Iterator[tuple[Job, Any]]:
    """Yield each job with its measurement, as they finish."""
    if not jobs:
        return
    context = multiprocessing.get_context("spawn")
    ready, alone, outcomes = context.Barrier(len(jobs)), context.Lock(), context.Queue()
    started = [context.Process(target=_work, args=(job, set_up, ready, alone, outcomes)) for job in jobs]
    for process in started:
        process.start()
    try:
        left = list(jobs)
        while left:
            try:
                job, found, error = outcomes.get(timeout=1)
            except queue.Empty:
                _check_alive(jobs, left, started)
                continue
            if error is not None:
                raise FailedError(f"{job}: {error}")
            left.remove(job)
            yield job, found
    except FailedError:
        ready.abort()
        raise
    finally:
        for process in started:
            process.terminate() if ready.broken else process.join()


def _check_alive(jobs: Sequence[Any], left: Sequence[Any], started: Sequence[BaseProcess]) -> None:
    """Raise an error if a process ended without an outcome, for example because it was out of memory."""
    for job, process in zip(jobs, started, strict=True):
        if job in left and process.exitcode not in (None, 0):
            raise FailedError(f"{job}: its process ended with the code {process.exitcode}")


def _work(job: Any, set_up: SetUp[Any], ready: Any, alone: Any, outcomes: Any) -> None:
    try:
        with set_up(job) as measure:
            ready.wait()
            with alone:
                found = measure()
    except BrokenBarrierError:
        pass  # another job has reported the error
    except Exception as error:
        outcomes.put((job, None, f"{type(error).__name__}: {error}"))
        ready.abort()
    else:
        outcomes.put((job, found, None))
