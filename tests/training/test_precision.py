"""Models have the precision of their config wherever they are made, and kernels where these can be used."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tam.methods import CAVIA
from tam.training import trainer as trainers
from tam.training.checks import spec_of
from tam.training.run import best_models
from tam.training.saved import Saved
from tam.training.trainer import Trainer
from tests.training.run_folder import assert_same_weights, weights
from tests.training.toys import toy_config, toy_tasks, train_in


def test_training_and_what_is_read_later_have_the_precision_of_the_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU it has no effect, and is an error where a run is started."""
    tasks, config = toy_tasks(), toy_config(precision="bfloat16")
    monkeypatch.setattr(trainers, "check_settings", lambda config, tasks: spec_of(tasks, config))
    trainer = train_in(tmp_path / "half", config)
    read = [
        *best_models(config, tasks, tmp_path / "half").values(),
        Saved.read(tmp_path / "half", "cpu").model,
    ]
    assert [model.precision for model in (trainer.model, *read)] == ["bfloat16"] * 4
    single = train_in(tmp_path / "single", config.override(precision="float32"))
    assert single.model.precision == "float32"
    assert_same_weights(weights(tmp_path / "half"), weights(tmp_path / "single"))


@pytest.mark.parametrize("order", ["first", "second"])
def test_only_training_with_second_derivatives_does_without_kernels(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, bool] = {}

    def spy(name: str, call: Any) -> None:
        def noted(method: CAVIA, model: Any, *rest: Any, **named: Mapping[str, Any]) -> Any:
            seen[name] = model.fused
            return call(method, model, *rest, **named)

        monkeypatch.setattr(CAVIA, name, noted)

    spy("training_step", CAVIA.training_step)
    spy("adapt", CAVIA.adapt)
    trainer = Trainer(toy_config("cavia", order=order), toy_tasks(), tmp_path)
    trainer.model.fused = True
    trainer.step()
    trainer.validate()
    assert seen == {"training_step": order == "first", "adapt": True}
