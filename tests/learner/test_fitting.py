"""A learner is fitted to tasks with the presets of their benchmark."""

import signal
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import tam
from tam.config.config import Config
from tam.config.presets import Preset
from tests.learner.small import X, small_benchmark


@pytest.mark.parametrize("name", ["classification", "transduction", "pathfinding"])
def test_fit_takes_the_presets_of_the_benchmark(name: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also when the same learner is fitted again, to another benchmark; not if the user set a config."""
    trained: list[Config] = []

    def stop(config: Config, *_: Any, **__: Any) -> None:
        trained.append(config)
        raise InterruptedError

    monkeypatch.setattr("tam.learner.fitting.prepare", stop)
    tasks, others = small_benchmark(name), small_benchmark("transduction")
    settings: list[dict[str, Any]] = [{}, {"inner_rate": 0.7}]
    for preset, given in product(get_args(Preset), settings):
        learner = tam.Learner(preset=preset, **given)
        for fitted in (others, tasks):
            with pytest.raises(InterruptedError):
                learner.fit(fitted)
        assert trained[-1] == Config.from_preset(preset, "tam", benchmark=name, **given)
        learner.config = trained[-1].override(seed=3)
        with pytest.raises(InterruptedError):
            learner.fit(others)
        assert trained[-1] == learner.config


def test_what_cannot_be_fitted() -> None:
    tasks = tam.benchmark("pathfinding", train=4, valid=2, test=2, examples=8)
    with pytest.raises(tam.UserError, match=r"matching .*classification"):
        tam.Learner("matching", "smoke").fit(tasks)
    with pytest.raises(tam.UserError, match="tasks"):
        tam.Learner(preset="smoke").fit("classification")  # pyright: ignore[reportArgumentType]
    for name in ("benchmark", "step"):
        with pytest.raises(tam.UserError, match=f"'{name}'"):
            tam.Learner(**{name: "3"})


@pytest.mark.parametrize(
    "files", [["config.json"], ["learner.json"], ["checkpoint.safetensors", "result.json"]]
)
def test_fit_does_not_replace_a_run_or_a_model(files: list[str], tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).write_text("somebody's")
    with pytest.raises(tam.UserError, match=files[-1]):
        tam.Learner(preset="smoke").fit(small_benchmark("classification"), tmp_path)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(files, "somebody's")


def test_a_fit_that_was_stopped_is_taken_up(tmp_path: Path) -> None:
    """And shown again once it is finished; with other settings it is somebody else's."""
    tasks, steps = small_benchmark("classification"), list[int]()

    def stop(record: Mapping[str, Any]) -> None:
        steps.append(record["step"])
        if record["step"] == 2 and "loss" in record:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match="stopped after step 2 of 4: the learner keeps the model so far"):
        tam.Learner(preset="smoke").fit(tasks, tmp_path, stop)
    learner = tam.Learner(preset="smoke").fit(tasks, tmp_path, lambda record: steps.append(record["step"]))
    assert steps == [1, 2, 2, 3, 4, 4]  # twice where it validates
    again = tam.Learner(preset="smoke").fit(tasks, tmp_path)
    assert again.identity_ == learner.identity_ == tam.load(tmp_path).identity_
    with pytest.raises(tam.UserError, match="seed was 0 and is 3"):
        tam.Learner(preset="smoke", seed=3).fit(tasks, tmp_path)
    assert tam.load(tmp_path).identity_ == learner.identity_


def test_a_learner_that_knows_nothing_says_so(tmp_path: Path) -> None:
    learner, rule = tam.Learner(), tam.TaskEmbedding(np.zeros(2, np.float32), (), "", 0.0)
    for use in (
        lambda: learner.adapt([(X, 3)]),
        lambda: learner.predict(rule, [X]),
        lambda: learner.evaluate([]),
        lambda: learner.save(tmp_path),
    ):
        with pytest.raises(tam.UserError, match="call fit first"):
            use()


def test_a_learner_says_what_it_is(classifier: tam.Learner) -> None:
    assert repr(tam.Learner("maml", preset="smoke")) == "Learner(maml, not trained)"
    assert repr(classifier).startswith("Learner(tam, trained for classification: ")
