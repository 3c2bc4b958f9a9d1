"""Trackers: real TensorBoard files, and what is said where a package is missing."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tam.errors import InterruptedRunError, UserError
from tam.training.folder import checkpoint_file
from tam.training.preflight import prepare
from tam.training.run import run, start
from tam.training.tracking import make_tracker, tracked
from tests.training.run_folder import records
from tests.training.toys import ignore, toy_config, toy_tasks


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard shows of a run."""
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {
        tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]
    }


def assert_same_as_metrics(folder: Path) -> None:
    """Check that the event files have exactly the numbers of metrics.jsonl and of the result."""
    found = scalars(folder)
    losses = [record for record in records(folder) if "loss" in record]
    for name in ("loss", "blank_loss", "gradient", "rate"):
        expected = [(record["step"], pytest.approx(record[name])) for record in losses]
        assert found[f"train/{name}"] == expected
    valid = [record for record in records(folder) if "valid" in record]
    expected = [(record["step"], pytest.approx(record["valid"]["2"]["accuracy"])) for record in valid]
    assert found["valid/accuracy at k=2"] == expected
    scores = json.loads((folder / "result.json").read_text())["scores"]
    for score in scores:
        (event,) = found[f"test/perplexity at k={score['k']}"]
        assert event == (6, pytest.approx(score["perplexity"]))


def test_a_resumed_run_goes_on_in_the_same_tracked_run(tmp_path: Path) -> None:
    setup, folder = prepare(toy_config(), toy_tasks()), tmp_path / "run"
    start(folder, setup.config, {}, resume=False)

    def stop(record: Mapping[str, Any]) -> None:
        if record.get("step") == 6:  # the checkpoint is of step 4, so that 5 and 6 are recorded again
            raise InterruptedRunError("stopped")

    name = ""
    for log in (stop, ignore):
        tracker = make_tracker("tensorboard")
        try:
            with tracked(tracker, folder, setup.config.to_json(), log) as both:
                run(setup, folder, both)
        except InterruptedRunError:
            assert checkpoint_file(folder).exists()
            name = (folder / "tracking.json").read_text()
            assert scalars(folder)["train/loss"][-1][0] == 5
    assert (folder / "tracking.json").read_text() == name
    assert [step for step, _ in scalars(folder)["train/loss"]] == [1, 2, 3, 4, 5, 6]
    assert_same_as_metrics(folder)
    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    (text,) = events.Tensors("config/text_summary")
    assert b'"method": "tam"' in text.tensor_proto.string_val[0]


@pytest.mark.parametrize("package", ["tensorboard", "trackio", "wandb"])
def test_a_missing_package_names_its_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"track {package} needs .*pip install 'tam-fewshot\[{package}\]'"):
        make_tracker(package)
    with pytest.raises(UserError, match=r"track must be one of .*'wandb'.*: got 'mlflow'"):
        make_tracker("mlflow")
