"""A learner is fitted to tasks with the presets of their benchmark, and says where it cannot be."""

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import tam
from tam.commands.train import Train
from tam.config import Config
from tam.presets import Preset
from tests.learner.small import X, small_benchmark

_PARTS = ("network", "settings", "training", "protocol")


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_a_benchmark_s_presets_are_those_of_the_command(
    benchmark_name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the same learner is fitted again, to another benchmark."""
    trained: list[Config] = []

    def stop(config: Config, *_: Any) -> None:
        trained.append(config)
        raise InterruptedError

    monkeypatch.setattr("tam.learner.train", stop)
    tasks, others = small_benchmark(benchmark_name), small_benchmark("transduction")
    for preset in get_args(Preset):
        given: dict[str, Any]
        for given in ({}, {"inner_rate": 0.7}):
            learner = tam.Learner(preset=preset, **given)
            words = ["--preset", preset, "--out", "unused"]
            command: Any = Train.with_defaults_of([benchmark_name, *words])
            expected = Config(**{part: command.__dataclass_fields__[part].default for part in _PARTS})
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
