"""What can be typed, and what the help says about it."""

import re
from dataclasses import asdict, fields
from typing import Any

import pytest

import tam
from tam.cli.train import Train
from tam.config.config import Config
from tam.config.methods import settings_of
from tam.methods import METHODS
from tests.in_process import tam as tam_command

OPTIONS = {
    "tam": "",
    "tam demo": "examples",
    "tam models": "",
    "tam tasks": """
        show task stats ceiling out splits fold text kind columns
        compositional holdout seed n train valid test examples""",
    "tam generate": "out show tasks examples values shortest longest longest-answer seed",
    "tam train": """
        out method preset minutes resume track seed device tasks-seed compositional holdout prior prior-tasks
        splits fold text kind columns
        backbone encoder freeze-encoder conditioning layers width heads bottleneck task-tokens
        task-first x-mask positions use-primitives mask-tokens copy hints programs
        inner-steps inner-rate patience theta-update warm-share learn-blank proposer starts search-rates
        support small-share small-after small-sizes
        finetune unknown-share order support-sizes episode-queries most-shots smoothing
        steps tasks rows rate warmup clip validate-every checkpoint-every stop-after precision
        weight-decay dropout label-smoothing max-seconds
        shots supports queries adapt-steps adapt-rates support-seed choose-by""",
    "tam eval": "shots supports device tasks splits fold text kind columns",
    "tam compare": "shots device tasks splits fold text kind columns",
    "tam adapt": "out primitives text",
    "tam predict": "file json proba beams text",
    "tam store": "",
    "tam serve": "store host port token device max-body max-rows max-queue",
    "tam pack": "out tasks supports",
    "tam export": "out shots",
    "tam push": "private",
    "tam reproduce": "dry-run only seconds at-once on device results runs",
    "tam report": "results out",
}
"""Everything that can be typed. Whoever adds or removes an option changes this and the documentation."""


STORE_OPTIONS = {
    "tam store put": "notes replace primitives",
    "tam store get": "out",
    "tam store list": "search",
    "tam store nearest": "count",
    "tam store rename": "",
    "tam store annotate": "",
    "tam store remove": "",
    "tam store export": "",
    "tam store import": "replace",
    "tam store readapt": "",
}


def test_the_options_are_frozen(call: Any) -> None:
    for command, names in (OPTIONS | STORE_OPTIONS).items():
        text = call(*command.split()[1:], "--help")
        assert text.startswith(f"usage: {command} ")
        assert "(default: )" not in text
        assert set(re.findall(r"^\W+(?:-h, )?--([a-z][a-z-]*)", text, re.MULTILINE)) == {
            "help",
            *names.split(),
        }
    commands = re.findall(r"• (\S+)", call("--help"))
    assert ["tam", *(f"tam {name}" for name in commands)] == list(OPTIONS)
    actions = re.findall(r"• (\S+)", call("store", "--help"))
    assert [f"tam store {name}" for name in actions] == list(STORE_OPTIONS)


def test_the_options_of_methods_are_their_settings(call: Any) -> None:
    text = call("train", "--help")
    settings = text.partition("settings options")[2].partition("training options")[0]
    *others, last = METHODS
    assert f"The method: {', '.join(others)} or {last}." in " ".join(text.replace("│", " ").split())
    words = settings.replace("│", " ").split()
    assert "tam: Maximum updates of z per outer step, T. (default: 10; paper: 25)" in " ".join(words)
    for method in METHODS:
        for option in fields(settings_of(method)):
            assert any(word.rstrip(",") == f"--{option.name.replace('_', '-')}" for word in words)
            assert any(word.rstrip(",:") == method for word in words)


def test_the_preset_of_a_benchmark_with_what_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the words stand; an option given twice has its last value."""
    found: list[Config] = []
    monkeypatch.setattr(Train, "run", lambda self: found.append(self.config))
    tam_command("train", "--preset", "paper", "transduction", "--out", "classification")
    assert found[-1] == Config.from_preset("paper", "tam", "transduction")
    assert asdict(found[-1].settings)["inner_rate"] == 0.05
    words = "--layers 4 --patience None --preset smoke --preset quick --shots 1 2 --seed 3 --small-sizes 1 9"
    tam_command("train", "classification", "--out", "run", *words.split())
    given: dict[str, Any] = {"layers": 4, "patience": None, "shots": (1, 2), "seed": 3, "small_sizes": (1, 9)}
    assert found[-1] == Config.from_preset("quick", "tam", "classification", **given)
    tam_command("train", "classification", "--out", "run", "--method", "maml", "--support-sizes", "2", "4")
    assert found[-1] == Config.from_preset("quick", "maml", "classification", support_sizes=(2, 4))


def test_the_version_is_shown(call: Any) -> None:
    assert call("--version") == f"tam {tam.__version__}\n"
    assert "tam --version" in call("--help")
    assert call() == call("--help")
