"""Run a list of jobs, several at once, through an executor: this process, worker processes, or Ray."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from tam.errors import UserError, counted
from tam.experiments import results
from tam.experiments.job import Job
from tam.experiments.results import Folders, Status, with_budget, write_error
from tam.experiments.work import Ending, Order
from tam.training.folder import is_locked, lock_file
from tam.training.signals import on_interrupts

LONGEST_STOP = 30.0
"""Ask running jobs to stop this many seconds before the end, or a quarter of the time if that is less."""
LAST_SECONDS = 2.0
"""Kill jobs that still run this many seconds before the end, or an eighth of the time if that is less."""
LOG_CHARACTERS = 4_000
"""Characters to keep from the end of a failed job's log."""


class Attempt(Protocol):
    """A started job."""

    def ending(self) -> Ending | None:
        """How the job ended; None while it runs."""
        ...

    def stop(self) -> None:
        """Ask the job to write a checkpoint after its current step and stop."""
        ...

    def kill(self) -> None:
        """Kill the job immediately."""
        ...


class Executor(Protocol):
    """Starts jobs. Every executor calls `tam.experiments.work.work`, so results are the same."""

    def start(self, order: Order) -> Attempt:
        """Start a job; raise KeyboardInterrupt if it was stopped before this returns."""
        ...


@dataclass
class Running:
    """A job and its attempt."""

    job: Job
    attempt: Attempt
    started: float
    asked_to_stop: bool = False


class Runner:
    """Runs jobs in order, skipping those that are done; stops after some seconds, if given.

    If a job runs out of memory beside others, it continues later and fewer run at once from then on.
    `status` returns whether a job is done; by default, whether it has its result.
    """

    def __init__(
        self,
        folders: Folders,
        executor: Executor,
        at_once: int = 1,
        seconds: float | None = None,
        status: Callable[[Job], Status] | None = None,
    ) -> None:
        self.folders, self.executor, self.at_once = folders, executor, at_once
        self.failed: list[Job] = []
        self.running: list[Running] = []
        self._status = status or (lambda job: results.status(job, folders))
        self._waiting: list[Job] = []
        self._asked = 0
        """How many times the runner was asked to stop; the second time, it kills the running jobs."""
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
                        break  # the rest needs missing results, or other processes are working on it
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
            job = next_job(self._waiting, [one.job for one in self.running], self.folders)
            if job is None:
                return
            self._waiting = [other for other in self._waiting if other.name != job.name]
            if not self._status(job).done:  # another process may have finished it in the meantime
                self._start(job)

    def _start(self, job: Job) -> None:
        _say(job, "started")
        at_once = 1 if job.alone else self.at_once
        needs_model = results.status(job, self.folders).done  # only its model is missing
        order = Order(job, self.folders, at_once, time.time(), needs_model)
        started = time.monotonic()
        try:
            self.running.append(Running(job, self.executor.start(order), started))
        except KeyboardInterrupt:
            self._asked = max(self._asked, 1)
            _say_stopped(job, started)

    def _collect(self) -> None:
        """Remove and report the jobs that have ended."""
        others = len(self.running) - 1
        for one in list(self.running):
            if (ending := one.attempt.ending()) is None:
                continue
            self.running.remove(one)
            if ending.kind == "finished":
                _say(one.job, f"finished after {time.monotonic() - one.started:.0f} s")
            elif ending.kind == "claimed":
                _say(one.job, "another process is working on it")
            elif ending.kind == "stopped" or (one.asked_to_stop and ending.interrupted):
                _say_stopped(one.job, one.started)
            elif ending.out_of_memory and others:
                self._waiting.insert(0, one.job)
                self.at_once = min(self.at_once, others)
                beside = counted(others, "other job")
                _say(one.job, f"out of memory beside {beside}: continues when one of them has ended")
            else:
                write_error(one.job, self.folders, ending.error, ending.log[-LOG_CHARACTERS:])
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
        """Stop in time by sending this process a signal, which also interrupts a job that runs in it."""

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
                alarm.join()  # so that no signal arrives later


def next_job(waiting: Sequence[Job], running: Sequence[Job], folders: Folders) -> Job | None:
    """The first job that can start now, with its budget; None if there is none."""
    if any(job.alone for job in running):
        return None
    for job in waiting:
        ready = with_budget(job, folders)
        if ready is not None and not _is_taken(ready, folders):
            return None if job.alone and running else ready
    return None


def _is_taken(job: Job, folders: Folders) -> bool:
    """Whether another process is working on a job."""
    try:
        return is_locked(lock_file(folders.run_folder(job)))
    except UserError:  # the settings are wrong, so nobody can
        return False


def _say(job: Job, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {job.name}: {what}", flush=True)


def _say_stopped(job: Job, started: float) -> None:
    _say(job, f"stopped after {time.monotonic() - started:.0f} s; run again to continue it")
