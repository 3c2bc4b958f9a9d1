"""Works off a list of jobs, each in its own process, several at once."""

import math
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tam.experiments.job import Job
from tam.experiments.results import Places, status, with_budget, write_error
from tam.experiments.work import STOPPED, Order

LONGEST_STOP = 30.0
"""Running jobs are asked to stop so many seconds before the end, or a quarter of the time if that is less."""
LAST_SECONDS = 2.0
"""Jobs that have not stopped are killed so many seconds before the end."""
LOG_CHARACTERS = 4_000
"""How much of the end of a failed job's log is recorded."""


@dataclass
class Running:
    """A job and its process."""

    job: Job
    process: "subprocess.Popen[bytes]"
    log: Path
    started: float
    asked_to_stop: bool = False

    def send(self, number: int) -> None:
        """Send a signal, and wake the process if another that measures has stopped it."""
        self.asked_to_stop = True
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)


class Runner:
    """Runs jobs in order, and none that is done already."""

    def __init__(self, places: Places, at_once: int = 1, seconds: float | None = None) -> None:
        self.places, self.at_once = places, at_once
        self.failed: list[Job] = []
        self.running: list[Running] = []
        self._waiting: list[Job] = []
        seconds = math.inf if seconds is None else seconds
        end = time.monotonic() + seconds
        self._stop_at, self._kill_at = end - min(LONGEST_STOP, seconds / 4), end - LAST_SECONDS

    def run(self, jobs: Sequence[Job]) -> None:
        """Work off the jobs, until all are done or the time is over."""
        self._waiting = [job for job in jobs if not status(job, self.places).done]
        try:
            with _interrupts(self):
                while self.running or (self._waiting and not self._time_is_over()):
                    self._start_some()
                    if not self.running:
                        break  # the others need runs that are not there
                    time.sleep(0.05)
                    self._collect()
                    self._stop_in_time()
        finally:
            for one in self.running:
                one.process.kill()
                one.process.wait()

    def stop(self) -> None:
        """Start no more jobs and ask the running ones to stop; the second time, kill them."""
        if self._time_is_over():
            self._kill_at = time.monotonic()
        else:
            self._stop_at = time.monotonic()

    def _time_is_over(self) -> bool:
        return time.monotonic() >= self._stop_at

    def _start_some(self) -> None:
        while len(self.running) < self.at_once and not self._time_is_over():
            job = next_job(self._waiting, [one.job for one in self.running], self.places)
            if job is None:
                return
            self._waiting = [other for other in self._waiting if other.name != job.name]
            self._start(job)

    def _start(self, job: Job) -> None:
        self.places.runs.mkdir(parents=True, exist_ok=True)
        log = self.places.runs / f"{job.name}.log"
        order = Order(job, self.places, 1 if job.alone else self.at_once, time.time())
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tam.experiments.work"],
                stdin=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches the runner alone, which asks the jobs to stop
            )
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(order.to_json().encode())
        self.running.append(Running(job, process, log, time.monotonic()))
        _say(job, "started")

    def _collect(self) -> None:
        """Report the jobs that have ended."""
        for one in [one for one in self.running if one.process.poll() is not None]:
            self.running.remove(one)
            code, seconds = one.process.returncode, time.monotonic() - one.started
            if code == 0:
                _say(one.job, f"finished after {seconds:.0f} s")
            elif code == STOPPED or one.asked_to_stop:
                _say(one.job, f"stopped after {seconds:.0f} s; the next call goes on with it")
            else:
                self._fail(one, code)

    def _fail(self, one: Running, code: int) -> None:
        log = one.log.read_text(encoding="utf-8", errors="replace").strip()
        error = log.splitlines()[-1].removeprefix("error: ") if log else "no message"
        if code < 0:
            error = f"killed by {signal.Signals(-code).name}"
            for other in self.running:  # it may have stopped them to measure
                other.process.send_signal(signal.SIGCONT)
        write_error(one.job, self.places, error, log[-LOG_CHARACTERS:])
        self.failed.append(one.job)
        _say(one.job, f"failed: {error}")

    def _stop_in_time(self) -> None:
        if not self._time_is_over():
            return
        for one in self.running:
            if time.monotonic() >= self._kill_at:
                one.send(signal.SIGKILL)
            elif not one.asked_to_stop:
                one.send(signal.SIGTERM)


def next_job(waiting: Sequence[Job], running: Sequence[Job], places: Places) -> Job | None:
    """The first job that can start beside the running ones, with its budget; None if none can yet."""
    if any(job.alone for job in running):
        return None
    for job in waiting:
        ready = with_budget(job, places)
        if ready is not None:
            return None if job.alone and running else ready
    return None


@contextmanager
def _interrupts(runner: Runner) -> Generator[None]:
    """Ctrl-C or SIGTERM stops the jobs, a second one kills them."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: runner.stop()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(job: Job, what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {job.name}: {what}", flush=True)
