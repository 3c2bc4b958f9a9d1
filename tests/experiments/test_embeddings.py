"""The map of task embeddings, from runs of seconds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tam.errors import UserError
from tam.experiments.embeddings import EmbeddingMaps, embedding_map
from tam.experiments.jobs import EXPERIMENTS
from tam.experiments.results import Folders
from tam.io import read_json
from tests.experiments.small import PUBLISHED, reproduce, small

pytestmark = pytest.mark.slow

TASKS: dict[str, Any] = {"name": "pathfinding", "train": 40, "valid": 1, "test": 1, "examples": 40}
JOBS = [
    small(f"{method}-mapped", "embeddings", method=method, tasks=TASKS, values={"shots": (20,)})
    for method in ("tam", "multitask")
]


def test_a_map_is_made_of_trained_models(folders: Folders, capsys: pytest.CaptureFixture[str]) -> None:
    def call() -> str:
        reproduce(folders, JOBS, "--on", "here")
        return capsys.readouterr().out

    first = call()
    assert "tam-mapped: started" in first
    files = [folders.results.parent / f"embeddings-{method}.json" for method in ("tam", "multitask")]
    for file in files:
        made = json.loads(file.read_text())
        cells = {(point["row"], point["column"]) for point in made["points"]}
        assert cells == {(row, column) for row in range(10) for column in range(10)} - {(4, 4)}
        assert made["numbers"] == 16
        xy = np.array([[point["x"], point["y"]] for point in made["points"]])
        assert xy.mean(0) == pytest.approx([0, 0], abs=1e-6)
        assert 1 >= sum(made["explained_variance"]) > 0
        assert max(made["r2"].values()) <= 1
        assert made["run"]["config"]["method"] == made["method"]
    maps = [line for line in first.splitlines() if "R²" in line]
    assert len(maps) == 2
    assert call().splitlines()[-2:] == maps

    before = json.loads(files[0].read_text())
    for file in (files[0], *folders.results.iterdir()):  # the folders of runs alone are enough
        file.unlink()
    assert "started" not in call()
    after = json.loads(files[0].read_text())
    assert (after["points"], after["r2"]) == (before["points"], before["r2"])


def test_only_path_finding_has_a_map(folders: Folders) -> None:
    reproduce(folders, [small()], "--on", "here")
    folder = folders.run_folder(small())
    result = read_json(folder / "result.json")
    with pytest.raises(UserError, match="must be a run on pathfinding"):
        embedding_map(folder, result)


def test_the_published_map_of_tam_needs_no_training(tmp_path: Path) -> None:
    maps = EmbeddingMaps(Folders(PUBLISHED, tmp_path, "cuda"), tmp_path)
    tam, multitask = sorted(EXPERIMENTS["embeddings"].jobs(), key=lambda job: job.method != "tam")
    assert maps.status(tam).done
    assert not maps.status(multitask).done
