"""One thread that does jobs in batches: those that arrive while it is busy are then done together."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


class ClosedError(Exception):
    """The queue takes no more jobs: the server is stopping."""


class QueueFullError(Exception):
    """The queue is full."""


@dataclass(frozen=True, eq=False)
class Request:
    """A job, and the future for its result."""

    rows: int
    """Its size."""
    future: "Future[Any]" = field(default_factory=Future, init=False)


class Batcher:
    """A queue of jobs and the thread that does them.

    Args:
        do: Does a batch of jobs; it must set a result or an exception on each future.
        most: The most rows in a batch; a larger job is done alone.
        limit: The most rows that may wait.
    """

    def __init__(self, do: Callable[[Sequence[Request]], None], most: int, limit: int) -> None:
        self._do, self._most, self._limit = do, most, limit
        self._waiting: deque[Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.queued = 0
        """Rows waiting."""
        self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
        self._thread.start()

    def submit(self, job: Request) -> "Future[Any]":
        """Queue a job.

        Raises:
            QueueFullError: If the queue is full.
            ClosedError: If the queue is closed.
        """
        with self._changed:
            if self._closed:
                raise ClosedError("the server is stopping")
            if self._waiting and self.queued + job.rows > self._limit:
                raise QueueFullError(f"{self.queued} rows are waiting; at most {self._limit} may: try again")
            self._waiting.append(job)
            self.queued += job.rows
            self._changed.notify()
        return job.future

    def close(self) -> None:
        """Do the waiting jobs, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            jobs = [job for job in batch if job.future.set_running_or_notify_cancel()]
            try:
                self._do(jobs)
            except BaseException as error:  # keep the thread alive, and let no caller wait forever
                for job in jobs:
                    if not job.future.done():
                        job.future.set_exception(error)

    def _next(self) -> list[Request]:
        """Wait for the next batch; empty once the queue is closed and all jobs are done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            batch: list[Request] = []
            rows = 0
            while self._waiting and (not batch or rows + self._waiting[0].rows <= self._most):
                batch.append(self._waiting.popleft())
                rows += batch[-1].rows
            self.queued -= rows
            return batch
