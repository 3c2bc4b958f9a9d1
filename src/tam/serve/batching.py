"""Jobs that arrive while others are being done are then done together, by one thread."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any


class QueueFullError(Exception):
    """Too much is waiting."""


@dataclass(frozen=True, eq=False)
class Request:
    """Something to do, and who waits for it."""

    rows: int
    """How much it is."""
    future: "Future[Any]" = field(default_factory=Future, init=False)


class Batcher:
    """A queue of jobs and the thread that does them.

    Args:
        do: Does jobs together; it must give each future a result or an exception.
        most: How many rows are done together; a job that has more is done alone.
        limit: How many rows may wait.
    """

    def __init__(self, do: Callable[[Sequence[Request]], None], most: int, limit: int) -> None:
        self._do, self._most, self._limit = do, most, limit
        self._waiting: deque[Request] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self.queued = 0
        """Rows that wait."""
        self._thread = threading.Thread(target=self._work, name="batches", daemon=True)
        self._thread.start()

    def submit(self, job: Request) -> "Future[Any]":
        """Queue a job.

        Raises:
            QueueFullError: If too much is waiting.
        """
        with self._changed:
            if self._closed:
                raise QueueFullError("the server is stopping")
            if self._waiting and self.queued + job.rows > self._limit:
                raise QueueFullError(f"{self.queued} rows are waiting; at most {self._limit} may: try again")
            self._waiting.append(job)
            self.queued += job.rows
            self._changed.notify()
        return job.future

    def close(self) -> None:
        """Do what is waiting, and stop."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while batch := self._next():
            jobs = [job for job in batch if job.future.set_running_or_notify_cancel()]
            try:
                self._do(jobs)
            except BaseException as error:  # the thread must go on, and nobody may wait forever
                for job in jobs:
                    if not job.future.done():
                        job.future.set_exception(error)

    def _next(self) -> list[Request]:
        """The jobs to do together; none once it is closed and all are done."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            batch: list[Request] = []
            rows = 0
            while self._waiting and (not batch or rows + self._waiting[0].rows <= self._most):
                batch.append(self._waiting.popleft())
                rows += batch[-1].rows
            self.queued -= rows
            return batch
