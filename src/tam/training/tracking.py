"""Send a run's losses and scores to TensorBoard, Trackio or Weights & Biases, each an extra of the package.

A resumed run continues in the same place. Its name there is kept in the run's folder.
"""

import re
import secrets
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from tam.errors import UserError
from tam.io import json_text, read_json
from tam.training.checkpoint import write_json
from tam.training.folder import Log

TrackerName = Literal["tensorboard", "trackio", "wandb"]

PROJECT = "tam"
"""The project that runs are grouped under, where a tracker has projects."""


class _TensorBoard:
    """Event files in the folder `tensorboard` of the run; a resumed run replaces those from its step on."""

    def __init__(self) -> None:
        _check_installed("tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        self._writer_class = SummaryWriter

    def start(self, name: str, folder: Path, config: Mapping[str, Any], step: int) -> None:
        events = folder / "tensorboard"
        is_new = not events.exists()
        self._writer = self._writer_class(str(events), purge_step=step)
        if is_new:
            self._writer.add_text("config", f"```json\n{json_text(config, indent=1)}\n```", 0)

    def log(self, values: Mapping[str, float], step: int) -> None:
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def finish(self) -> None:
        self._writer.close()


class _Wandb:
    """A run of Weights & Biases, or of Trackio, which has the same functions.

    If a step is logged again after a crash, both keep the values that they have.
    """

    def __init__(self, package: Literal["trackio", "wandb"]) -> None:
        self._package = _check_installed(package)
        self._has_ids = package == "wandb"

    def start(self, name: str, folder: Path, config: Mapping[str, Any], step: int) -> None:
        own = {"id": name, "dir": str(folder)} if self._has_ids else {}
        self._package.init(project=PROJECT, name=name, config=dict(config), resume="allow", **own)

    def log(self, values: Mapping[str, float], step: int) -> None:
        self._package.log(dict(values), step=step)

    def finish(self) -> None:
        self._package.finish()


Tracker = _TensorBoard | _Wandb


def make_tracker(name: str) -> Tracker:
    """The tracker of this name; an error if there is none, or if its package is not installed."""
    if name == "tensorboard":
        return _TensorBoard()
    if name == "trackio" or name == "wandb":
        return _Wandb(name)
    raise UserError(f"track must be one of {list(get_args(TrackerName))}: got {name!r}")


def _check_installed(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise UserError(f"track {package} needs a package: pip install 'tam-fewshot[{package}]'") from None


@contextmanager
def tracked(tracker: Tracker | None, folder: Path, config: Mapping[str, Any], log: Log) -> Generator[Log]:
    """A log that also sends its records to the tracker, which starts with the first numbers."""
    if tracker is None:
        yield log
        return
    started = False

    def send(record: Mapping[str, Any]) -> None:
        nonlocal started
        log(record)
        if "step" not in record:
            return
        if not started:
            tracker.start(_name_of(folder), folder, config, record["step"])
            started = True
        tracker.log(_numbers(record), record["step"])

    try:
        yield send
    finally:
        if started:
            tracker.finish()


def _name_of(folder: Path) -> str:
    """The unique name of a run, which begins with its folder's name."""
    file = folder / "tracking.json"
    if not file.exists():
        name = re.sub(r"[^\w.-]", "-", folder.resolve().name)
        write_json(file, {"name": f"{name}-{secrets.token_hex(4)}"})
    return str(read_json(file)["name"])


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """The finite numbers of a record, by their names in a tracker."""
    values: dict[str, float | None] = {}
    for split in ("valid", "test"):
        for k, scores in record.get(split, {}).items():
            values |= {f"{split}/{metric} at k={k}": value for metric, value in scores.items()}
    if not values:
        values = {f"train/{name}": value for name, value in record.items() if name != "step"}
    return {name: float(value) for name, value in values.items() if value is not None}
