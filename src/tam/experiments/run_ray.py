"""Run jobs on a Ray cluster, or on a local Ray that is started for them.

All machines must have the same version of tam and share the folders of results and runs. If the process or
machine of a job dies, another continues it from its last checkpoint.
"""

import logging
import time
from pathlib import Path
from typing import Any

from tam.errors import InterruptedRunError, UserError
from tam.experiments.work import Ending, Order, attempt
from tam.provenance import hash_of_code

RETRIES = 5
"""How many times another process may continue a job."""


class OnRay:
    """Runs each job as a Ray task, on the cluster at `RAY_ADDRESS` if set, else on a local one.

    Jobs that run at once share its cores and GPUs equally.
    """

    def __init__(self, at_once: int, device: str) -> None:
        try:
            import ray
        except ImportError:
            raise UserError("--on ray needs Ray: pip install 'tam-fewshot[ray]'") from None
        self._ray: Any = ray
        if not ray.is_initialized():
            ray.init(include_dashboard=False, logging_level=logging.ERROR)
        have = ray.cluster_resources()
        if device != "cpu" and not have.get("GPU"):
            ray.shutdown()
            raise UserError("--device cuda needs a GPU, and the machines of this Ray have none")
        share = {
            "num_cpus": max(1, int(have.get("CPU", 1)) // at_once),
            "num_gpus": 0 if device == "cpu" else min(1.0, have["GPU"] / at_once),
        }
        # One process per job, as with workers, so that its memory is freed.
        self._task = ray.remote(max_calls=1, max_retries=RETRIES, **share)(_work)

    def start(self, order: Order) -> "RayTask":
        """Hand a job to Ray."""
        folders = order.folders._replace(
            results=_shared(order.folders.results), runs=_shared(order.folders.runs)
        )
        order = order._replace(folders=folders)
        return RayTask(self._ray, self._task.remote(order.to_json(), hash_of_code()))


def _shared(folder: Path) -> Path:
    """Make a folder, and return its path on every machine."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def _work(text: str, code: str) -> tuple[str, ...]:
    """Run a job in a process of Ray."""
    order = Order.from_json(text)._replace(started=time.time())
    if hash_of_code() != code:
        return Ending("failed", "all machines of the cluster must have the same version of tam")
    for folder in (order.folders.results, order.folders.runs):
        if not folder.is_dir():
            return Ending("failed", f"{folder}: all machines of the cluster must share this folder")
    try:
        return attempt(order)
    except (InterruptedRunError, KeyboardInterrupt):
        return Ending("stopped")


class RayTask:
    """A job run by Ray."""

    def __init__(self, ray: Any, task: Any) -> None:
        self._ray, self._task = ray, task

    def ending(self) -> Ending | None:
        """How the job ended; None while it runs or waits for a machine."""
        if not self._ray.wait([self._task], timeout=0)[0]:
            return None
        try:
            return Ending(*self._ray.get(self._task))
        except (self._ray.exceptions.TaskCancelledError, KeyboardInterrupt):
            return Ending("stopped")
        except self._ray.exceptions.RayError as error:  # its process died too often
            return Ending("failed", str(error).strip().splitlines()[0], str(error))

    def stop(self) -> None:
        """Ask the job to stop after its current step."""
        self._ray.cancel(self._task, force=False)

    def kill(self) -> None:
        """Kill the job immediately, without retries."""
        self._ray.cancel(self._task, force=True)
