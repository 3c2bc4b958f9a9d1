"""Results on real data."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tam.experiments.own import main
from tam.io import json_text, read_json


def test_files_are_named_relative_to_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = {"path": str(tmp_path / "data" / "tasks.jsonl"), "splits": str(tmp_path / "splits.json")}
    folder = tmp_path / "runs" / "own" / "mine"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json_text({"tasks": tasks}))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0))
    main(["mine", "data/tasks.jsonl", "--splits", "splits.json"])
    found = read_json(tmp_path / "results" / "own" / "mine.json")
    assert found["tasks"] == {"path": "tasks.jsonl", "splits": "../splits.json"}
    assert found["command"] == "tam train tasks.jsonl --splits splits.json --out runs/mine"
