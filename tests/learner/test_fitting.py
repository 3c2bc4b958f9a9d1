"""A learner is fitted to tasks with the presets of their benchmark, and says where it cannot be."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import tam
from tam.cli.train import Train
from tam.config.config import Config
from tam.config.presets import Preset
from tam.errors import InterruptedRunError
from tests.learner.small import X, small_benchmark


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_a_benchmark_s_presets_are_those_of_the_command(
    benchmark_name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the same learner is fitted again, to another benchmark."""
    trained: list[Config] = []

    def stop(config: Config, *_: Any, **__: Any) -> None:
        trained.append(config)
        raise InterruptedError

    monkeypatch.setattr("tam.learner.learner.prepare", stop)
    tasks, others = small_benchmark(benchmark_name), small_benchmark("transduction")
    for preset in get_args(Preset):
        given: dict[str, Any]
        for given in ({}, {"inner_rate": 0.7}):
            learner = tam.Learner(preset=preset, **given)
            expected = Train(benchmark_name, "unused", preset=preset).config
            for fitted in (others, tasks):
                with pytest.raises(InterruptedError):
                    learner.fit(fitted)
            assert trained[-1] == expected.override(**given)
            learner.config = expected.override(seed=3)
            with pytest.raises(InterruptedError):
                learner.fit(others)
            assert trained[-1] == learner.config  # one's own config is not touched


@pytest.mark.parametrize("method", ["matching", "prototypical"])
def test_methods_for_classification_say_so(method: str) -> None:
    tasks = tam.benchmark("pathfinding", train=4, valid=2, test=2, examples=8)
    with pytest.raises(tam.UserError, match=f"^{method} is for classification only, .*snail, nearest$"):
        tam.Learner(method, "smoke").fit(tasks)


def test_fit_takes_tasks_not_their_name() -> None:
    with pytest.raises(tam.UserError, match=r"fit takes tasks: tam.benchmark\('classification'\)"):
        tam.Learner(preset="smoke").fit("classification")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("files", "named"),
    [
        (["config.json"], "config.json"),
        (["learner.json", "model.safetensors"], "learner.json"),
        (["result.json"], "result.json"),
        (["checkpoint.safetensors", "result.json"], "result.json"),
    ],
)
def test_fit_does_not_replace_a_run_or_a_model(files: list[str], named: str, tmp_path: Path) -> None:
    for name in files:
        (tmp_path / name).write_text("somebody's")
    with pytest.raises(tam.UserError, match=rf"^{tmp_path} .*\({named}\)"):
        tam.Learner(preset="smoke").fit(small_benchmark("classification"), tmp_path)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == dict.fromkeys(files, "somebody's")


def test_a_fit_that_was_stopped_is_taken_up(tmp_path: Path) -> None:
    """And shown again once it is finished; with other settings it is somebody else's."""
    tasks, steps = small_benchmark("classification"), list[int]()

    def stop(record: Mapping[str, Any]) -> None:
        steps.append(record["step"])
        if record["step"] == 2 and "loss" in record:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(InterruptedRunError, match="stopped after step 2 of 4"):
        tam.Learner(preset="smoke").fit(tasks, tmp_path, stop)
    learner = tam.Learner(preset="smoke").fit(tasks, tmp_path, lambda record: steps.append(record["step"]))
    assert steps == [1, 2, 2, 3, 4, 4]  # twice where it validates
    again = tam.Learner(preset="smoke").fit(tasks, tmp_path)
    assert again.identity_ == learner.identity_ == tam.load(tmp_path).identity_
    with pytest.raises(tam.UserError, match="other settings: seed was 0 and is 3"):
        tam.Learner(preset="smoke", seed=3).fit(tasks, tmp_path)
    assert tam.load(tmp_path).identity_ == learner.identity_


def test_a_benchmark_is_no_setting_of_a_learner() -> None:
    with pytest.raises(tam.UserError, match="there is no setting 'benchmark': fit is given the tasks"):
        tam.Learner(benchmark="nope")


def test_a_learner_that_knows_nothing_says_so(tmp_path: Path) -> None:
    learner, rule = tam.Learner(), tam.TaskEmbedding(np.zeros(2, np.float32), (), "", 0.0)
    for use in (
        lambda: learner.adapt([(X, 3)]),
        lambda: learner.adapt_many([]),
        lambda: learner.predict(rule, [X]),
        lambda: learner.predict_proba(rule, []),
        lambda: learner.evaluate([]),
        lambda: learner.save(tmp_path),
    ):
        with pytest.raises(tam.UserError, match="call fit first"):
            use()
