"""Run each job in a separate process on this machine; they share its cores or its GPU."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tam.experiments.work import EXIT_CODES, Ending, Order


class Workers:
    """Runs each job in a separate process."""

    def __init__(self) -> None:
        self._started: list[Worker] = []

    def start(self, order: Order) -> "Worker":
        """Start a process."""
        order.folders.runs.mkdir(parents=True, exist_ok=True)
        self._started.append(Worker(order, order.folders.runs / f"{order.job.name}.log", self._wake))
        return self._started[-1]

    def _wake(self) -> None:
        """Resume all processes: one that died may have paused the others to measure."""
        for one in self._started:
            one.process.send_signal(signal.SIGCONT)


class Worker:
    """The process of a job, with its errors in a log beside the runs; calls `wake` if it was killed."""

    def __init__(self, order: Order, log: Path, wake: Callable[[], None]) -> None:
        self._wake = wake
        with log.open("ab") as errors:
            self._log, self._begin = log, errors.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tam.experiments.work"],
                stdin=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches only the runner, which asks the jobs to stop
                env=environment(order),
            )
        assert self.process.stdin is not None
        with self.process.stdin as pipe:
            pipe.write(order.to_json().encode())

    def ending(self) -> Ending | None:
        """How the job ended; None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        for kind in ("finished", "stopped", "claimed"):
            if code == EXIT_CODES[kind]:
                return Ending(kind)
        log = self._log.read_bytes()[self._begin :].decode(errors="replace").strip()
        if code < 0:
            self._wake()
            return Ending("failed", f"killed by {signal.Signals(-code).name}", log)
        return Ending("failed", log.splitlines()[-1].removeprefix("error: ") if log else "no message", log)

    def stop(self) -> None:
        """Ask the job to stop after its current step."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the job immediately."""
        self._send(signal.SIGKILL)
        self.process.wait()

    def _send(self, number: int) -> None:
        """Send a signal, and resume the process in case another one paused it to measure."""
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)


def environment(order: Order) -> dict[str, str]:
    """The environment of a process; on a CPU, with its share of the cores unless the user has set that."""
    own = dict(os.environ)
    if (order.job.device or order.folders.device) == "cpu":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        own.setdefault("OMP_NUM_THREADS", str(max(1, cores // order.at_once)))
    return own
