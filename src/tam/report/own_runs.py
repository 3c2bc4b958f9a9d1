"""Read a user's run folders, finished or not."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tam.config.config import Config
from tam.errors import UserError
from tam.io import exists, unreadable
from tam.report.compare import Estimate, estimate
from tam.training.run import read_config, read_result


@dataclass(frozen=True)
class OwnRun:
    """A run folder of `tam train`, finished or not."""

    folder: Path
    label: str
    """Its name in charts and tables."""
    config: Config
    tasks: Mapping[str, Any]
    """The source of its tasks."""
    result: Mapping[str, Any] | None
    """Its result; None until it is finished."""
    records: Sequence[Mapping[str, Any]]
    """The lines of its metrics."""

    @property
    def losses(self) -> list[Mapping[str, Any]]:
        """The records of training losses, with step and seconds."""
        return [record for record in self.records if "loss" in record]

    @property
    def validations(self) -> list[Mapping[str, Any]]:
        """The records of validations, with their step."""
        return [record for record in self.records if "valid" in record]

    @property
    def steps(self) -> int:
        """The last outer step on record."""
        return max((record["step"] for record in self.records), default=0)

    def seconds_at(self, step: int) -> float:
        """The seconds of training up to a step."""
        return max((one["seconds"] for one in self.losses if one["step"] <= step), default=0.0)

    def scores(self, metric: str) -> dict[int, Estimate]:
        """Its test scores for each k, with the interval over tasks."""
        scores = [] if self.result is None else self.result["scores"]
        return {one["k"]: estimate(metric, [one]) for one in scores}


def read_runs(folders: Sequence[Path]) -> list[OwnRun]:
    """Read run folders; raise UserError if one is not a run folder."""
    unique = list({os.path.realpath(folder): folder for folder in folders}.values())
    labels = _labels(unique)
    return [_read(folder, label) for folder, label in zip(unique, labels, strict=True)]


def _labels(folders: Sequence[Path]) -> list[str]:
    """The folders' last names, or their whole paths if two share one."""
    names = [folder.resolve().name for folder in folders]
    return names if len(set(names)) == len(names) else [str(folder) for folder in folders]


def _read(folder: Path, label: str) -> OwnRun:
    if not exists(folder / "config.json"):
        what = "run here (no config.json)" if exists(folder) else "such folder"
        raise UserError(f"{folder}: there is no {what}: give the folder that tam train wrote")
    config, tasks = read_config(folder / "config.json")
    return OwnRun(folder, label, config, tasks, read_result(folder), list(_records(folder / "metrics.jsonl")))


def _records(file: Path) -> Iterator[Mapping[str, Any]]:
    """The records of a metrics file, skipping a truncated line."""
    if not exists(file):
        return
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise unreadable(file, error) from None
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and type(record.get("step")) is int:
            yield record
