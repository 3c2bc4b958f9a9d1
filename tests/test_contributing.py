"""What CONTRIBUTING says is there, and its how-tos work."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tam
from tam.cli import main
from tam.config.config import Config
from tam.methods import METHODS, TAM
from tam.tasks.benchmark import FAMILIES
from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes
from tam.tasks.rng import Rng
from tam.tasks.task import Integers, Sequences
from tam.tasks.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_file_that_is_named_is_there() -> None:
    named = set(re.findall(r"`([a-z_]+/(?:[a-z_/]*(?:\.py)?))`", TEXT))
    assert len(named) > 20
    for name in named:
        assert (ROOT / "src" / "tam" / name).exists() or (ROOT / name).exists(), name


def test_every_name_is_in_its_file() -> None:
    named = re.findall(r"`(\w+)` (?:of|in) `([a-z_/]+\.py)`", TEXT)
    assert len(named) >= 6
    for name, file in named:
        assert re.search(rf"\b{name}\b", (ROOT / "src" / "tam" / file).read_text(encoding="utf-8")), name


class Shifts(Family):
    """Tasks that add a number to every token, modulo 4."""

    vocabulary = Vocabulary(range(4))
    slots = (("add 1", "add 2", "add 3"),)
    functions = targets = np.arange(3)

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        """See `Family.examples`."""
        x = np.arange(4 * count).reshape(count, 4) % 4
        lengths = np.full(count, 4)
        return ExampleArrays(Sequences(x, lengths), Sequences((x + recipe[0] + 1) % 4, lengths))

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        """See `Family.answers`."""
        return Answers((x + recipes[:, :, None] + 1) % 4, np.zeros((len(recipes), len(x))))


def test_a_benchmark_is_a_family_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FAMILIES, "shifts", lambda _: Shifts())
    name: str = "shifts"
    tasks = tam.benchmark(name, train=1, valid=1, test=1, use_cache=False)  # pyright: ignore[reportArgumentType]
    assert {task.name for task in tasks} == {"add 1", "add 2", "add 3"}
    task = tasks.test[0]
    assert isinstance(task.y, Sequences)
    assert ((task.y.ids - task.x.ids) % 4 == int(task.name[-1])).all()


@dataclass(frozen=True, kw_only=True)
class Warmer(TAM):
    """TAM with a setting of its own."""

    warmth: float = 0.5
    """How warm it is."""


def test_a_setting_is_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "warmer", Warmer)
    config = Config.from_preset("smoke", "warmer", warmth=0.7)
    assert Config.from_json(config.to_json()) == config
    assert tam.Learner("warmer", preset="smoke", warmth=0.7).config.settings == config.settings


@dataclass(frozen=True)
class Hello:
    """Greets."""

    name: str
    """Whom."""

    def run(self) -> None:
        """Greet."""
        print(f"hello, {self.name}")


def test_a_command_is_a_class_and_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(main.COMMANDS, "hello", Hello)
    monkeypatch.setattr(sys, "argv", ["tam", "hello", "--name", "you"])
    main.main()
    assert "hello, you" in capsys.readouterr().out
