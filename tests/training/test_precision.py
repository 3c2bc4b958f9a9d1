"""Models have the precision of their config wherever they are made, and kernels where these can be used."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tam.methods import CAVIA
from tam.models.fast import context
from tam.training.loop import train
from tam.training.preflight import prepare
from tam.training.saved import Saved
from tam.training.trainer import Trainer
from tests.training.run_folder import assert_same_weights, weights
from tests.training.toys import ignore, toy_config, toy_tasks


def test_training_and_what_is_read_later_have_the_precision_of_the_config(tmp_path: Path) -> None:
    """On a CPU it has no effect; `prepare` sets it to float32 there."""
    single = prepare(toy_config(), toy_tasks())
    half = replace(single, config=toy_config(precision="bfloat16"))
    for folder in ("half", "single"):
        (tmp_path / folder).mkdir()
    trainer = train(half, tmp_path / "half", ignore)
    saved = Saved.read(tmp_path / "half", "cpu")
    read = [saved.model, *(model for _, model in saved.best.values())]
    assert [model.precision for model in (trainer.model, *read)] == ["bfloat16"] * 4
    assert train(single, tmp_path / "single", ignore).model.precision == "float32"
    assert_same_weights(weights(tmp_path / "half"), weights(tmp_path / "single"))


@pytest.mark.parametrize("order", ["first", "second"])
def test_only_training_with_second_derivatives_does_without_kernels(
    order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, bool] = {}

    def spy(name: str, call: Any) -> None:
        def noted(method: CAVIA, model: Any, *rest: Any, **named: Mapping[str, Any]) -> Any:
            seen[name] = not context._twice.get()  # pyright: ignore[reportPrivateUsage]
            return call(method, model, *rest, **named)

        monkeypatch.setattr(CAVIA, name, noted)

    spy("training_step", CAVIA.training_step)
    spy("adapt", CAVIA.adapt)
    trainer = Trainer(prepare(toy_config("cavia", order=order), toy_tasks()), tmp_path)
    trainer.step()
    trainer.validate()
    assert seen == {"training_step": order == "first", "adapt": True}
