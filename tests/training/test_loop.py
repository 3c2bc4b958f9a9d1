"""The training loop: golden losses, the seed decides, and the best weights are kept."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.evaluation.protocol import Choice, KShotScore, TaskScore
from tam.training.preflight import prepare
from tam.training.run import run, start
from tam.training.trainer import Trainer
from tests.training.run_folder import assert_same_weights, plain, records, weights
from tests.training.toys import ignore, toy_config, toy_tasks, train_in

GOLDEN: dict[str, tuple[dict[str, Any], list[float], list[float]]] = {
    "classification": (
        {},
        [1.09156, 1.12186, 1.08814, 1.0483, 1.0703, 1.07695],
        [1.08345, 1.06865, 1.06362, 1.0155, 1.02626, 0.98886],
    ),
    "classification-compositional": (
        {"theta_update": "interleaved"},
        [1.10795, 1.08707, 1.11612, 1.07156, 1.07317, 1.07404],
        [1.08793, 1.05831, 1.08459, 1.04783, 1.06807, 1.04123],
    ),
    "transduction": (
        {"theta_update": "interleaved", "patience": None},
        [1.79172, 1.76711, 1.73351, 1.67799, 1.64322, 1.58195],
        [1.77123, 1.73454, 1.69224, 1.63434, 1.60256, 1.53639],
    ),
    "transduction-mixed": (
        {"support": "mixed", "small_after": 2, "small_sizes": (1, 4)},
        [1.79172, 1.77776, 1.7713, 1.75601, 1.74378, 1.71785],
        [1.7844, 1.77059, 1.75585, 1.71744, 1.71955, 1.69007],
    ),
    "transduction-extended": (
        {
            "theta_update": "interleaved",
            "patience": None,
            "warm_share": 0.5,
            "learn_blank": True,
            "task_tokens": 2,
            "task_first": True,
        },
        [1.80185, 1.77501, 1.73458, 1.6456, 1.55672, 1.52934],
        [1.76983, 1.72661, 1.63988, 1.56003, 1.52739, 1.53592],
    ),
}
"""For each sort of training its settings, and the losses at z = 0 and after the inner loop."""


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_losses(name: str, tmp_path: Path) -> None:
    options, blank, adapted = GOLDEN[name]
    kind, _, form = name.partition("-")
    tasks = toy_tasks(kind, compositional=form == "compositional")
    train_in(tmp_path, toy_config(validate_every=6, **options), tasks)
    losses = [record for record in records(tmp_path) if "loss" in record]
    assert [record["blank_loss"] for record in losses] == pytest.approx(blank, abs=1e-4)
    assert [record["loss"] for record in losses] == pytest.approx(adapted, abs=1e-4)


def test_training_stops_when_validation_no_longer_improves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At k = 1 the best is after step 2, at k = 2 after step 4; `stop_after` counts from the latest."""
    accuracy = {1: [0.5, 0.4, 0.4, 0.4, 0.4], 2: [0.5, 0.6, 0.6, 0.5, 0.5]}
    validated = {1: 0, 2: 0}

    def choose(_: object, __: object, ___: object, k: int, *____: object) -> KShotScore:
        validated[k] += 1
        return KShotScore(k, Choice(1, 0.1), (TaskScore(accuracy[k][validated[k] - 1], 2.0),))

    monkeypatch.setattr("tam.training.trainer.choose", choose)
    config = toy_config(steps=50, validate_every=2, stop_after=3)
    trainer = train_in(tmp_path, config)
    assert trainer.state.step == 8
    assert {k: best.step for k, best in trainer.state.best.items()} == {1: 2, 2: 4}
    monkeypatch.setattr(Trainer, "step", lambda _: pytest.fail("nothing is left to train"))
    train_in(tmp_path, config)


def test_another_seed_gives_other_weights(tmp_path: Path) -> None:
    for seed in (0, 1):
        train_in(tmp_path / str(seed), toy_config(seed=seed, steps=1))
    first, second = (weights(tmp_path / str(seed)) for seed in (0, 1))
    assert not any(torch.equal(value, second[name]) for name, value in first.items() if value.std() > 0)


def test_records_follow_every_step_and_validation(tmp_path: Path) -> None:
    seen: list[Mapping[str, Any]] = []
    train_in(tmp_path, toy_config(steps=7), log=seen.append)
    assert [record["step"] for record in seen if "loss" in record] == [1, 2, 3, 4, 5, 6, 7]
    assert [record["step"] for record in seen if "valid" in record] == [3, 6, 7]
    assert [{k: v for k, v in record.items() if k != "seconds"} for record in seen] == records(tmp_path)
    rates = [record["rate"] for record in seen if "rate" in record]
    assert rates[:3] == pytest.approx([0.005, 0.01, 0.01])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert all(1 <= record["inner_steps"] <= 2 for record in seen if "loss" in record)
    assert all(set(record["valid"]) == {"1", "2"} for record in seen if "valid" in record)


def test_the_best_weights_are_kept_per_k(tmp_path: Path) -> None:
    at_step: dict[int, dict[str, torch.Tensor]] = {}
    config = toy_config(steps=10, validate_every=1, rate=0.1, queries=20)
    folder = tmp_path / "run"
    start(folder, config, {"path": "-"}, resume=False)
    trainer = Trainer(prepare(config, toy_tasks()), tmp_path)
    for step in range(1, 11):
        trainer.step()
        at_step[step] = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    result = run(prepare(config, toy_tasks()), folder, ignore)
    for k in ("1", "2"):
        history = [(r["step"], r["valid"][k]) for r in records(folder) if "valid" in r]
        best = min(history, key=lambda item: (-item[1]["accuracy"], item[1]["perplexity"], item[0]))
        assert result["best_steps"][k] == best[0]
        assert_same_weights(weights(folder, f"best-{k}.safetensors"), at_step[best[0]])
        (scores,) = [row for row in result["scores"] if str(row["k"]) == k]
        assert (scores["steps"], scores["rate"]) == (best[1]["steps"], best[1]["rate"])
    assert_same_weights(weights(folder), at_step[10])
    assert len({*result["best_steps"].values(), 10}) > 1, "the last must not be the best for every k"
    assert json.loads((folder / "result.json").read_text(encoding="utf-8")) == plain(result)


def test_embeddings_that_a_step_does_not_use_stay(tmp_path: Path) -> None:
    """Others drift on by momentum."""
    trainer = Trainer(prepare(toy_config("multitask"), toy_tasks(compositional=True)), tmp_path)
    for _ in range(3):
        trainer.step()
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.adam.move(torch.tensor(1.0))  # all gradients are 0
    stays = {name for name, value in trainer.model.named_parameters() if torch.equal(value, before[name])}
    assert {"primitives", "unknown", "x.token", "x.position"} == stays
