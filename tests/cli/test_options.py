"""What can be typed, and what the help says about it."""

import re
from typing import Any

import pytest

import tam
from tam.methods import METHODS

OPTIONS = {
    "tam": "",
    "tam tasks": """
        show task stats ceiling out
        compositional holdout seed n train valid test examples""",
    "tam train": """
        out method preset resume seed device tasks-seed compositional holdout
        backbone conditioning layers width heads bottleneck task-tokens task-first x-mask use-primitives
        inner-steps inner-rate patience theta-update warm-share learn-blank proposer starts
        support small-share small-after small-sizes
        steps tasks rows rate warmup clip validate-every checkpoint-every stop-after precision
        shots supports queries adapt-steps adapt-rates support-seed""",
    "tam eval": "shots supports device",
    "tam adapt": "out primitives",
    "tam predict": "beams",
}
METHOD_OPTIONS = {
    "agnostic": "",
    "multitask": "finetune unknown-share",
    "maml": "inner-steps inner-rate order support-sizes",
    "cavia": "inner-steps inner-rate order support-sizes",
    "matching": "episode-queries",
    "snail": "episode-queries",
    "prototypical": "most-shots",
    "nearest": "smoothing",
}
"""Everything that can be typed, the last with another method than TAM. Whoever adds or removes an option
changes this and the documentation."""


def test_the_options_are_frozen(call: Any) -> None:
    for command, names in OPTIONS.items():
        text = call(*command.split()[1:], "--help")
        assert text.startswith(f"usage: {command} ")
        assert set(re.findall(r"^\W+(?:-h, )?--([a-z][a-z-]*)", text, re.MULTILINE)) == {
            "help",
            *names.split(),
        }
    commands = re.findall(r"• (\S+)", call("--help"))
    assert ["tam", *(f"tam {name}" for name in commands)] == list(OPTIONS)
    assert {"tam", *METHOD_OPTIONS} == set(METHODS)


@pytest.mark.parametrize("method", METHOD_OPTIONS)
def test_the_options_of_a_method_are_those_of_its_settings(method: str, call: Any) -> None:
    text = call("train", "classification", "--method", method, "--help")
    settings = text.partition("settings options")[2].partition("training options")[0]
    assert set(re.findall(r"^\W+--([a-z][a-z-]*)", settings, re.MULTILINE)) == set(
        METHOD_OPTIONS[method].split()
    )


def test_help_names_all_methods(call: Any) -> None:
    text = " ".join(word for word in call("train", "--help").split() if word != "│")
    *others, last = METHODS
    assert f"how a new task is learned: {', '.join(others)} or {last}." in text


def test_help_shows_no_empty_default(call: Any) -> None:
    for command in OPTIONS:
        assert "(default: )" not in call(*command.split()[1:], "--help")


def test_the_version_is_shown(call: Any) -> None:
    assert call("--version") == f"tam {tam.__version__}\n"
    assert "tam --version" in call("--help")
