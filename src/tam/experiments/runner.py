"""Runs a list of jobs, several at once, through an executor: this process, worker processes, or Ray."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from tam.errors import UserError
from tam.experiments import results
from tam.experiments.claim import is_claimed
from tam.experiments.job import Job
from tam.experiments.results import Places, Status, with_budget, write_error
from tam.experiments.work import Order
from tam.training.signals import on_interrupts

LONGEST_STOP = 30.0
"""Running jobs are asked to stop this many seconds before the end; at most a quarter of the time."""
LAST_SECONDS = 2.0
"""Jobs that have not stopped are killed this many seconds before the end; at most an eighth of the time."""
LOG_CHARACTERS = 4_000
"""How much of the end of a failed job's log is kept."""


class Ending(NamedTuple):
    """How a job ended; `claimed`: another process works on it."""

    kind: Literal["finished", "stopped", "claimed", "failed"]
    error: str = ""
    log: str = ""


class Attempt(Protocol):
    """A job that was started."""

    def ending(self) -> Ending | None:
        """How it ended; None while it runs."""
        ...

    def stop(self) -> None:
        """Ask it to stop after its step, and to leave a checkpoint."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...


class Executor(Protocol):
    """Where jobs run. Every executor calls `tam.experiments.work.work`, so results are the same."""

    def start(self, order: Order) -> Attempt:
        """Start a job; KeyboardInterrupt if it was stopped before this returns."""
        ...


@dataclass
class Running:
    """A job and its attempt."""

    job: Job
    attempt: Attempt
    started: float
    asked_to_stop: bool = False


class Runner:
    """Runs jobs in order, except those that are done.

    Args:
        places: Where results and runs are kept.
        executor: Where jobs run.
        at_once: How many jobs run at the same time.
        seconds: After how many seconds to stop.
        status: Whether a job is done; by default, whether its result is there.
    """

    def __init__(
        self,
        places: Places,
        executor: Executor,
        at_once: int = 1,
        seconds: float | None = None,
        status: Callable[[Job], Status] | None = None,
    ) -> None:
        self.places, self.executor, self.at_once = places, executor, at_once
        self.failed: list[Job] = []
        self.running: list[Running] = []
        self._status = status or (lambda job: results.status(job, places))
        self._waiting: list[Job] = []
        self._asked = 0
        """How often the runner was asked to stop; the second time, it kills the running jobs."""
        seconds = math.inf if seconds is None else seconds
        end = time.monotonic() + seconds
        self._ends = (end - min(LONGEST_STOP, seconds / 4), end - min(LAST_SECONDS, seconds / 8))

    def run(self, jobs: Sequence[Job]) -> None:
        """Run the jobs until all are done or the time is up."""
        self._waiting = [job for job in jobs if not self._status(job).done]
        try:
            with on_interrupts(lambda *_: self.stop()), self._alarms():
                while self.running or (self._waiting and not self._asked):
                    self._start_some()
                    if not self.running:
                        break  # the others need missing results, or other processes do them
                    time.sleep(0.05)
                    self._collect()
                    self._stop_if_asked()
        finally:
            for one in self.running:
                one.attempt.kill()

    def stop(self) -> None:
        """Start no more jobs and ask the running ones to stop; the second time, kill them."""
        self._asked += 1

    def _start_some(self) -> None:
        while len(self.running) < self.at_once and not self._asked:
            job = next_job(self._waiting, [one.job for one in self.running], self.places)
            if job is None:
                return
            self._waiting = [other for other in self._waiting if other.name != job.name]
            if not self._status(job).done:  # another process may have done it meanwhile
                self._start(job)

    def _start(self, job: Job) -> None:
        _say(job, "started")
        at_once = 1 if job.alone else self.at_once
        needs_model = results.status(job, self.places).done  # only its model is missing
        order = Order(job, self.places, at_once, time.time(), needs_model)
        started = time.monotonic()
        try:
            self.running.append(Running(job, self.executor.start(order), started))
        except KeyboardInterrupt:
            self._asked = max(self._asked, 1)
            _say_stopped(job, started)

    def _collect(self) -> None:
        """Report the jobs that have ended."""
        for one in list(self.running):
            if (ending := one.attempt.ending()) is None:
                continue
            self.running.remove(one)
            if ending.kind == "finished":
                _say(one.job, f"finished after {time.monotonic() - one.started:.0f} s")
            elif ending.kind == "claimed":
                _say(one.job, "another process works on it")
            elif ending.kind == "stopped" or one.asked_to_stop:
                _say_stopped(one.job, one.started)
            else:
                write_error(one.job, self.places, ending.error, ending.log[-LOG_CHARACTERS:])
                self.failed.append(one.job)
                _say(one.job, f"failed: {ending.error}")

    def _stop_if_asked(self) -> None:
        for one in self.running:
            if self._asked > 1:
                one.attempt.kill()
            elif self._asked and not one.asked_to_stop:
                one.attempt.stop()
            one.asked_to_stop = one.asked_to_stop or self._asked > 0

    @contextmanager
    def _alarms(self) -> Generator[None]:
        """Stop in time by sending this process a signal, which also ends a job that runs in it."""

        def ask(times: int) -> None:
            if self._asked < times:
                os.kill(os.getpid(), signal.SIGTERM)

        alarms = [
            threading.Timer(max(0.0, end - time.monotonic()), ask, (times,))
            for times, end in enumerate(self._ends, start=1)
            if math.isfinite(end)
        ]
        for alarm in alarms:
            alarm.daemon = True
            alarm.start()
        try:
            yield
        finally:
            for alarm in alarms:
                alarm.cancel()
                alarm.join()  # no signal may come later


def next_job(waiting: Sequence[Job], running: Sequence[Job], places: Places) -> Job | None:
    """The first job that can start beside the running ones, with its budget; None if none can yet."""
    if any(job.alone for job in running):
        return None
    for job in waiting:
        ready = with_budget(job, places)
        if ready is not None and not _is_taken(ready, places):
            return None if job.alone and running else ready
    return None


def _is_taken(job: Job, places: Places) -> bool:
    """Whether another process works on a job."""
    try:
        return is_claimed(places.run_folder(job))
    except UserError:  # wrong settings: nobody can
        return False


def _say(job: Job, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {job.name}: {what}", flush=True)


def _say_stopped(job: Job, started: float) -> None:
    _say(job, f"stopped after {time.monotonic() - started:.0f} s; run again to continue it")
