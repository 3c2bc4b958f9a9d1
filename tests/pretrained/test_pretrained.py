"""The models that come with the package are found, fit into their limits, and answer."""

import json
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.pretrained import folder_of, names
from tam.pretrained.card import read_card, read_packed, readme
from tam.pretrained.pack import LIMIT
from tam.tasks.benchmark import BenchmarkOptions, draw_recipes, family_of
from tests.learner.small import untrained

NAMES = ["classification", "pathfinding", "transduction"]


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str) -> None:
    assert names() == NAMES
    folder, card = folder_of(name), read_card(folder_of(name))
    assert sum(file.stat().st_size for file in folder.glob("*.safetensors")) == card["bytes"] <= LIMIT
    assert (folder / "README.md").read_text(encoding="utf-8") == readme(card)
    assert card["tasks"]["name"] == name
    learner = tam.load(name)
    assert sum(weight.numel() for weight in learner.model_.parameters()) == card["parameters"]
    assert sorted(learner.choices_) == [score["k"] for score in card["scores"]["packed"]]
    assert min(score["tasks"] for score in card["scores"]["packed"]) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_shown_tasks_are_test_tasks(name: str) -> None:
    """Training has never seen them."""
    lines = (folder_of(name) / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
    options = BenchmarkOptions(**read_card(folder_of(name))["tasks"])
    family = family_of(options)
    drawn = draw_recipes(family, options)
    titles = {split: {family.title(recipe) for recipe in recipes} for split, recipes in drawn.items()}
    shown = {json.loads(line)["task"] for line in lines}
    assert shown <= titles["test"]
    assert not shown & titles["train"]


def test_a_string_of_a_shown_task_may_have_any_character(tmp_path: Path) -> None:
    x = ["a\u2028b", "\x85", "\x1e"]  # each of them ends a line for str.splitlines
    line = {"task": "t", "examples": [{"x": x, "y": "yes"}]}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(line, ensure_ascii=False) + "\n", encoding="utf-8")
    assert read_packed(tmp_path).tasks == (("t", [(x, "yes")]),)
    (tmp_path / "tasks.jsonl").write_text('{"task": "t"}\n')
    with pytest.raises(tam.UserError, match=r"tasks\.jsonl: not the tasks of a packed model"):
        read_packed(tmp_path)


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pretrained = tam.load("transduction").identity_
    (tmp_path / "transduction").mkdir()  # holds no model
    assert tam.load("transduction").identity_ == pretrained
    own = untrained("tam")
    own.save("transduction")
    assert tam.load("transduction").identity_ == own.identity_


def test_an_unknown_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tam.UserError, match="clasification: no trained model here"):
        tam.load("clasification")
    wrong: Any = 3
    with pytest.raises(tam.UserError, match="name of a file or folder"):
        tam.load(wrong)
