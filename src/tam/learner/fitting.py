"""Train a learner in a folder, to the end or until it is stopped."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tam.config.config import Config
from tam.errors import InterruptedRunError, UserError
from tam.tasks.taskset import TaskSet
from tam.training.checkpoint import read_tensors
from tam.training.defaults import Settled
from tam.training.folder import Log, check_free, checkpoint_file
from tam.training.log import TrainingLog
from tam.training.loop import train
from tam.training.minutes import settle
from tam.training.preflight import Setup, prepare
from tam.training.saved import Saved
from tam.training.tracking import Tracker, tracked
from tam.training.trainer import Trainer


def fit_in(
    place: Path,
    config: Config,
    tasks: TaskSet,
    *,
    asked: Mapping[str, Any] | None,
    minutes: float | None,
    started: float,
    log: Log | None,
    tracker: Tracker | None,
) -> Saved:
    """Train in a folder, resuming from its checkpoint if there is one; see `Learner.fit`.

    `asked` has the preset and the names of the settings that the user gave, if the others may be adjusted.
    `minutes` count from `started`, by the monotonic clock.
    """
    _make_run_folder(place)
    settled = Settled(config)
    if asked is not None or minutes is not None:
        settled = settle(
            config,
            tasks,
            place,
            **(asked or {"preset": "", "given": ()}),
            minutes=minutes,
            stored=_stored_config(place),
            since=started,
            with_test=False,
        )
    setup = prepare(settled.config, tasks, with_test=False)
    setup = replace(setup, notes=(*settled.notes, *setup.notes))
    training = setup.config.training
    try:
        with (
            TrainingLog(training.steps, training.max_seconds) as shown,
            tracked(tracker, place, setup.config.to_json(), log or shown) as sent,
        ):
            return train(setup, place, sent).saved()
    except InterruptedRunError as stop:
        return _stopped(setup, place, stop)


def _make_run_folder(folder: Path) -> None:
    """Make the folder of a run; it may hold a checkpoint to resume, but no finished run or model."""
    if os.path.exists(checkpoint_file(folder)):  # training checks that it is of this run
        check_free(folder, ["result.json"])
    else:
        check_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None


def _stored_config(folder: Path) -> Config | None:
    """The config in a folder's checkpoint; None if it has none."""
    if not os.path.exists(checkpoint_file(folder)):
        return None
    header = read_tensors(checkpoint_file(folder))[1]
    return Config.from_json(header["config"]) if isinstance(header.get("config"), dict) else None


def _stopped(setup: Setup, folder: Path, stop: InterruptedRunError) -> Saved:
    """The model at the last checkpoint of a stopped run; without one, `stop` is raised."""
    if not os.path.exists(checkpoint_file(folder)):
        raise stop
    trainer = Trainer(setup, folder)
    trainer.read_checkpoint()
    if not trainer.choices:
        trainer.validate()
    warnings.warn(f"{stop}: the learner keeps the model so far", stacklevel=4)
    return trainer.saved()


def unwritable(folder: str | Path, error: Exception) -> UserError:
    """The error for a folder that cannot be written."""
    return UserError(f"{folder}: cannot be written: {getattr(error, 'strerror', None) or error}")
