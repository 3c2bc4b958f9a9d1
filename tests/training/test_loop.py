"""The training loop: it learns, the seed decides, and a run can be stopped anywhere and taken up."""

import json
import math
import random
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from tam import evaluation
from tam.config import Config
from tam.errors import InterruptedRunError, UserError
from tam.evaluation import TaskScore
from tam.methods import Losses
from tam.tasks.taskset import TaskSet
from tam.training import checkpoint
from tam.training.checkpoint import read_tensors, write_tensors
from tam.training.folder import alone_in, best_file, checkpoint_file
from tam.training.log import TrainingLog
from tam.training.loop import DivergedError, Trainer, train
from tam.training.run import check, read_config, read_result, run, start

MakeTasks = Callable[..., TaskSet]
MakeConfig = Callable[..., Config]
Start = Callable[..., "subprocess.Popen[str]"]


def ignore(_: Mapping[str, Any]) -> None:
    """A log that keeps nothing."""


def weights(folder: Path, file: str = "model.safetensors") -> dict[str, torch.Tensor]:
    return read_tensors(folder / file)[0]


def assert_same_weights(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def records(folder: Path) -> list[dict[str, Any]]:
    """The metrics, without the times, which are never the same."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]


def plain(values: object) -> object:
    """Values as JSON has them."""
    return json.loads(json.dumps(values))


# ── What training does ────────────────────────────────────────────────────────────────────────────

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
}
"""For each sort of training its settings, and the losses at z = 0 and after the inner loop."""


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_losses(name: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    options, blank, adapted = GOLDEN[name]
    kind, _, form = name.partition("-")
    tasks = toy_tasks(kind, compositional=form == "compositional")
    train(toy_config(validate_every=6, **options), tasks, tmp_path, ignore)
    losses = [record for record in records(tmp_path) if "loss" in record]
    assert [record["blank_loss"] for record in losses] == pytest.approx(blank, abs=1e-4)
    assert [record["loss"] for record in losses] == pytest.approx(adapted, abs=1e-4)


def test_the_seed_decides(toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    results: list[dict[str, torch.Tensor]] = []
    for place, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(place)
        folder.mkdir()
        train(toy_config(seed=seed, steps=3), toy_tasks(), folder, ignore)
        results.append(weights(folder))
    assert_same_weights(results[0], results[1])
    assert not any(
        torch.equal(value, results[2][name]) for name, value in results[0].items() if value.std() > 0
    )


@pytest.mark.parametrize("theta_update", ["accumulated", "interleaved"])
def test_training_learns(
    theta_update: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    """The middle of three seeds: after so few steps, on two tasks, one may be unlucky."""
    found: list[tuple[float, ...]] = []
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        config = toy_config(
            theta_update=theta_update,
            patience=None,
            inner_steps=5,
            steps=120 if theta_update == "accumulated" else 80,
            width=16,
            tasks=6,
            rows=32,
            rate=0.02 if theta_update == "accumulated" else 0.005,  # five times as many updates
            shots=(3,),
            queries=20,
            adapt_steps=(5, 10),
            validate_every=1000,
            seed=seed,
        )
        (before,) = Trainer(config, toy_tasks(size=80), folder).validate()
        (after,) = train(config, toy_tasks(size=80), folder, ignore).validate()
        losses = [record["loss"] for record in records(folder) if "loss" in record]
        gain = after.accuracy - before.accuracy
        found.append((losses[-1] / losses[0], gain, after.accuracy, after.perplexity / before.perplexity))
    loss, gain, accuracy, perplexity = (statistics.median(values) for values in zip(*found, strict=True))
    assert loss < 0.5
    assert gain > 0.2
    assert accuracy > 0.75
    assert perplexity < 1


def test_records_follow_every_step_and_validation(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    seen: list[Mapping[str, Any]] = []
    config = toy_config(steps=7)
    train(config, toy_tasks(), tmp_path, seen.append)
    assert [record["step"] for record in seen if "loss" in record] == [1, 2, 3, 4, 5, 6, 7]
    assert [record["step"] for record in seen if "valid" in record] == [3, 6, 7]
    assert [{k: v for k, v in record.items() if k != "seconds"} for record in seen] == records(tmp_path)
    rates = [record["rate"] for record in seen if "rate" in record]
    assert rates[:3] == pytest.approx([0.005, 0.01, 0.01])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert all(1 <= record["inner_steps"] <= 2 for record in seen if "loss" in record)
    assert all(set(record["valid"]) == {"1", "2"} for record in seen if "valid" in record)


def test_less_than_asked_is_said_once(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with TrainingLog(2) as log:
        train(toy_config(steps=2, tasks=7, rows=41), toy_tasks(), tmp_path, log)
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert notes == [
        "note: tasks is 7, but there are 6 training tasks: a step has all of them",
        "note: rows is 41, but 6 of 6 training tasks have fewer examples (40): these give all that they have",
    ]
    assert all("step" in record for record in records(tmp_path))
    seen: list[Mapping[str, Any]] = []
    folder = tmp_path / "other"
    folder.mkdir()
    train(toy_config(steps=2, tasks=6, rows=40), toy_tasks(), folder, seen.append)
    assert not any("note" in record for record in seen)


def test_what_a_killed_process_left_is_removed(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    left = [tmp_path / f".{name}.123.part" for name in ("checkpoint.safetensors", "learner.json")]
    others = [tmp_path / name for name in (".notes.part", "checkpoint.123.part")]
    for file in (*left, *others):
        file.write_text("half")
    train(toy_config(steps=2), toy_tasks(), tmp_path, ignore)
    assert not any(file.exists() for file in left)
    assert all(file.read_text() == "half" for file in others)


def test_the_best_weights_are_kept_per_k(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    at_step: dict[int, dict[str, torch.Tensor]] = {}
    config = toy_config(steps=10, validate_every=1, rate=0.1, queries=20)
    folder = tmp_path / "run"
    start(folder, config, {"path": "-"}, resume=False)
    trainer = Trainer(config, toy_tasks(), tmp_path)
    for step in range(1, 11):
        trainer.step()
        at_step[step] = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    result = run(config, toy_tasks(), folder, ignore)
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


def test_a_model_of_each_sort_trains(toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    for number, options in enumerate(
        (
            {"conditioning": "adapter", "bottleneck": 2},
            {"conditioning": "norm"},
            {"backbone": "lstm", "heads": 4},
            {"support": "mixed", "small_after": 1, "small_sizes": (1, 4)},
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        trainer = train(toy_config(steps=2, **options), toy_tasks(), folder, ignore)
        assert all(value.isfinite().all() for value in weights(folder).values())
        assert all(value.dtype == torch.float32 for value in trainer.model.parameters())


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"backbone": "lstm"}, "transduction", "LSTM"),
        ({"use_primitives": True}, "classification", "primitives"),
        ({"method": "multitask", "unknown_share": 0.5}, "classification", "unknown_share has no effect"),
        ({"device": "cuda"}, "classification", "device is 'cuda', but torch finds no GPU here"),
        ({"warmup": 10**400}, "classification", r"warmup is below 2\^63, not 1000"),
        ({"shots": (1, 2**63)}, "classification", r"shots is below 2\^63, not \(1, 9223372036854775808\)"),
        ({"layers": 10**12}, "classification", "layers is 1000000000000 and width 8, .* too large a network"),
    ],
)
def test_settings_that_do_not_go_with_the_tasks_are_errors(
    options: dict[str, Any],
    kind: str,
    message: str,
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    tmp_path: Path,
) -> None:
    with pytest.raises(UserError, match=message):
        Trainer(toy_config(**options), toy_tasks(kind), tmp_path)


@pytest.mark.parametrize(
    ("split", "primitives", "message"),
    [
        ("train", ("p0",), "task 'changed' has 1 primitives, and task 'train 0' has 2"),
        ("valid", ("p0", "q0", "q1"), "task 'changed' has 3 primitives"),
        ("valid", ("p0", "q0"), "task 'changed', not for training: exactly one .*, not 0 of .*; change its"),
        ("test", ("new", "newer"), r"exactly one .*, not 2 of \['new', 'newer'\]: .* use_primitives"),
    ],
)
def test_primitives_are_checked_before_a_run_starts(
    split: str, primitives: tuple[str, ...], message: str, toy_tasks: MakeTasks, toy_config: MakeConfig
) -> None:
    tasks = toy_tasks(compositional=True)
    check(toy_config(), tasks)
    *others, last = tasks.splits[split]
    changed = replace(last, name="changed", primitives=primitives)
    splits = dict(tasks.splits) | {split: (*others, changed)}
    for checked in (check, lambda config, tasks: Trainer(config, tasks, Path())):
        with pytest.raises(UserError, match=message):
            checked(toy_config(), replace(tasks, splits=splits))


def test_draws_are_not_what_the_weights_were_made_of(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    seeds = [Trainer(toy_config(seed=n), toy_tasks(), tmp_path).generator.initial_seed() for n in (0, 1)]
    assert len({0, 1, *seeds}) == 4


def test_a_folder_is_for_one_process(toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(UserError, match="another process is at work on the run there"):
        train(toy_config(), toy_tasks(), tmp_path, ignore)
    train(toy_config(), toy_tasks(), tmp_path, ignore)
    assert not (tmp_path / ".lock").exists()


def test_a_disk_that_is_full_loses_nothing(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "full"
    for place in (whole, folder):
        place.mkdir()
    train(toy_config(), toy_tasks(), whole, ignore)
    written: list[Path] = []

    def full(tensors: object, path: Path, header: object) -> None:
        written.append(path)
        if len(written) == 4:
            raise SafetensorError("No space left on device")
        save_file(tensors, path, header)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_file", full)
        with pytest.raises(
            UserError, match=r"cannot be written: No space left.*take the run up with --resume"
        ):
            train(toy_config(), toy_tasks(), folder, ignore)
    assert not list(folder.glob(".*"))
    train(toy_config(), toy_tasks(), folder, ignore)
    assert_same_weights(weights(folder), weights(whole))


def test_a_run_whose_log_nobody_reads_is_not_finished(
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    write_config: Callable[[TaskSet, Config], Path],
    start_run: Start,
    tmp_path: Path,
) -> None:
    """As by `2>&1 | head -1`."""
    process = start_run(write_config(toy_tasks(), toy_config(steps=5)), "--out", tmp_path / "run")
    assert process.stderr is not None
    process.stderr.close()
    process.stderr = None
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 1
    assert not (tmp_path / "run" / "result.json").exists()
    assert not list((tmp_path / "run").glob(".*"))


def test_a_checkpoint_is_not_taken_up_with_other_settings(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    train(toy_config(), toy_tasks(), tmp_path, ignore)
    with pytest.raises(UserError, match=r"other settings: seed was 0 and is 1; rate was 0.01 and is 0.5"):
        train(toy_config(seed=1, rate=0.5), toy_tasks(), tmp_path, ignore)


NOT_RESULTS: list[tuple[dict[str, Any], str]] = [
    ({"method": 3}, "method is a string, not 3"),
    ({"kind": "sorting"}, r"kind is one of \['classification', 'transduction'\], not 'sorting'"),
    ({"kind": []}, r"kind is one of .*, not \[\]"),
    ({"tasks": None}, "tasks is an object, not None"),
    ({"fingerprint": 3}, "fingerprint is a string, not 3"),
    ({"config": 3}, "config is an object, not 3"),
    ({"config": {"seed": "x"}}, "seed is of type int, not 'x'"),
    ({"scores": {}}, "scores is a list of scores, one or more, not {}"),
    ({"scores": []}, r"scores is a list of scores, one or more, not \[\]"),
    ({"scores": ["x"]}, r"scores\[0\] is an object, not 'x'"),
    ({"scores": [{}]}, r"it has no 'scores\[0\].k'"),
    ({"k": 0}, r"scores\[0\].k is an integer of at least 1, not 0"),
    ({"k": True}, r"scores\[0\].k is an integer of at least 1, not True"),
    ({"accuracy": None}, r"scores\[0\].accuracy is a number, not None"),
    ({"perplexity": "inf"}, r"scores\[0\].perplexity is a number, or null for an infinite one, not 'inf'"),
    ({"accuracy_interval": []}, r"scores\[0\].accuracy_interval is a number, or null for none, not \[\]"),
]


def test_a_result_that_is_none_is_an_error(toy_config: MakeConfig, tmp_path: Path) -> None:
    names = ("accuracy", "accuracy_interval", "perplexity", "perplexity_interval")
    score = {"k": 1} | dict.fromkeys(names, 0.5)
    right = {"method": "tam", "kind": "classification", "tasks": {}, "fingerprint": "f", "scores": [score]}
    right["config"] = plain(toy_config().to_json())
    file = tmp_path / "result.json"
    assert read_result(tmp_path) is None
    for missing in right:
        file.write_text(json.dumps({name: value for name, value in right.items() if name != missing}))
        with pytest.raises(UserError, match=rf"result.json: not the result of a run: it has no '{missing}'"):
            read_result(tmp_path)
    for change, message in NOT_RESULTS:
        wrong = {"scores": [score | change]} if change.keys() <= score.keys() else change
        file.write_text(json.dumps(right | wrong))
        with pytest.raises(UserError, match=f"result.json: not the result of a run: {message}"):
            read_result(tmp_path)
    file.write_text(json.dumps(right | {"config": {}, "scores": [score | {"perplexity": None}]}))
    result = read_result(tmp_path)
    assert result is not None
    assert result["config"] == plain(Config().to_json())  # what is not there has its default


def test_primitives_are_tokens(toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path) -> None:
    tasks = toy_tasks(compositional=True)
    with pytest.raises(UserError, match="'norm'"):
        Trainer(toy_config(conditioning="norm"), tasks, tmp_path)
    trainer = Trainer(toy_config(), tasks, tmp_path)
    assert trainer.primitives == {"p0": 0, "p1": 1, "q0": 2, "q1": 3, "q2": 4}  # not the unseen one
    assert Trainer(toy_config(use_primitives=False), tasks, tmp_path).model.primitives is None


# ── Numbers that are none ─────────────────────────────────────────────────────────────────────────


def test_divergence_says_where_and_what_to_try(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    config = toy_config(rate=1e30, warmup=0, checkpoint_every=1)
    with pytest.raises(DivergedError, match=r"step 2: loss nan.*rate .*e\+.*smaller rate"):
        train(config, toy_tasks(), tmp_path, ignore)
    assert [record["step"] for record in records(tmp_path)] == [1]
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 1


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_after_divergence_the_last_good_checkpoint_stays(
    value: float,
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "diverged"
    for place in (whole, folder):
        place.mkdir()
    train(toy_config(), toy_tasks(), whole, ignore)
    step = Trainer.step

    def poisoned(self: Trainer) -> Losses:
        losses = step(self)
        if self.state.step == 4:
            with torch.no_grad():
                next(self.model.parameters()).fill_(value)
            return losses._replace(end=torch.tensor(value))
        return losses

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", poisoned)
        with pytest.raises(DivergedError, match="step 4"):
            train(toy_config(), toy_tasks(), folder, ignore)
    assert read_tensors(checkpoint_file(folder))[1]["step"] == 2
    train(toy_config(), toy_tasks(), folder, ignore)
    assert_same_weights(weights(folder), weights(whole))
    assert records(folder) == records(whole)


def test_an_infinite_perplexity_is_taken_up_as_such(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, tasks = toy_config(steps=3), toy_tasks("transduction")
    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "_task_score", lambda *_: TaskScore(0.0, math.inf))
        train(config, tasks, tmp_path, ignore)
    assert read_tensors(checkpoint_file(tmp_path))[1]["best"]["1"][1] == [None, 0.0]
    trainer = Trainer(config, tasks, tmp_path)
    trainer.read_checkpoint()
    assert trainer.state.best[1].quality == (math.inf, 0.0)
    trainer.validate()
    assert trainer.state.best[1].quality[0] < math.inf


def test_a_blank_loss_that_is_infinite_is_null(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda self: step(self)._replace(start=torch.tensor(math.inf)))
    train(toy_config(steps=1), toy_tasks(), tmp_path, ignore)
    assert records(tmp_path)[0]["blank_loss"] is None


# ── Stopping and taking up ────────────────────────────────────────────────────────────────────────

SORTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "transduction": ({"kind": "transduction"}, {"theta_update": "interleaved", "patience": None}),
    "compositional": (
        {"compositional": True},
        {"support": "mixed", "small_after": 3, "small_sizes": (1, 4)},
    ),
}


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("how", ["asked", "crashed"])
def test_a_run_stopped_after_any_step_ends_the_same(
    how: str, sort: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    tasks, config = toy_tasks(**SORTS[sort][0]), toy_config(**SORTS[sort][1])
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for place in (whole, parts):
        place.mkdir()
    train(config, tasks, whole, ignore)

    def stop_after(step: int) -> Callable[[Mapping[str, Any]], None]:
        def log(record: Mapping[str, Any]) -> None:
            if record["step"] == step and "loss" in record:
                if how == "crashed":
                    raise MemoryError
                signal.raise_signal(random.choice([signal.SIGTERM, signal.SIGINT]))

        return log

    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    for step in (1, 3, 4, 5):
        with pytest.raises(MemoryError if how == "crashed" else InterruptedRunError):
            train(config, tasks, parts, stop_after(step))
        if how == "asked":
            assert read_tensors(checkpoint_file(parts))[1]["step"] == step
            assert records(parts)[-1]["step"] == step
    assert handlers == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    train(config, tasks, parts, ignore)
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert records(parts) == records(whole)
    for k in (1, 2):
        assert best_file(parts, k).read_bytes() == best_file(whole, k).read_bytes()


def test_a_real_process_stopped_at_random_moments_ends_the_same(
    toy_tasks: MakeTasks,
    toy_config: MakeConfig,
    write_config: Callable[[TaskSet, Config], Path],
    start_run: Start,
    tmp_path: Path,
) -> None:
    """`python -m tam run`, politely stopped twice and killed once, each time taken up."""
    config = toy_config(steps=200, checkpoint_every=7, validate_every=40)
    file, parts, whole = write_config(toy_tasks(), config), tmp_path / "parts", tmp_path / "whole"
    reached = 0
    for turn, number in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGKILL)):
        process = start_run(file, "--out", parts, *(["--resume"] if turn else []))
        wait_for_step(parts, reached + 5, process)
        time.sleep(random.uniform(0, 0.1))
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        reached = last_step(parts)
        if number == signal.SIGKILL:
            assert process.returncode == -signal.SIGKILL
        else:
            assert process.returncode == 1
            assert "take it up again with the same command and --resume" in errors
            assert "Traceback" not in errors
            assert read_tensors(checkpoint_file(parts))[1]["step"] == records(parts)[-1]["step"]
    process = start_run(file, "--out", parts, "--resume")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    whole.mkdir()
    result = run(*_loaded(file), whole, ignore)
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert records(parts) == records(whole)
    assert [r["step"] for r in records(parts) if "loss" in r] == list(range(1, 201))
    assert json.loads(output) == result["scores"]
    assert not checkpoint_file(parts).exists()


def _loaded(file: Path) -> tuple[Config, TaskSet]:
    from tam.training.run import load_tasks

    config, source = read_config(file)
    return config, load_tasks(source)


def last_step(folder: Path) -> int:
    """How far the metrics of a run have come; their last line may be cut off."""
    file = folder / "metrics.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return max((json.loads(line)["step"] for line in lines if line.endswith("\n")), default=0)


def wait_for_step(folder: Path, step: int, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while last_step(folder) < step:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"step {step} was not reached"
        time.sleep(0.005)


def test_a_finished_run_is_not_run_again(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    config, source, folder = toy_config(), {"path": "-"}, tmp_path / "run"
    start(folder, config, source, resume=False)
    result = run(config, toy_tasks(), folder, ignore)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    start(folder, config, source, resume=True)

    def never(_: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is to be trained")

    assert run(config, toy_tasks(), folder, never) == plain(result)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_run_is_not_taken_up_with_other_tasks(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    config = toy_config(steps=4)
    run(config, toy_tasks(), tmp_path, ignore)
    with pytest.raises(UserError, match=r"result\.json: .* tasks with the fingerprint .* start anew"):
        run(config, toy_tasks(size=41), tmp_path, ignore)
    Trainer(config, toy_tasks(), tmp_path).write_checkpoint()
    Trainer(config, toy_tasks(), tmp_path).read_checkpoint()
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .* start anew"):
        Trainer(config, toy_tasks(size=41), tmp_path).read_checkpoint()


def test_a_folder_is_used_once(toy_config: MakeConfig, tmp_path: Path) -> None:
    source, folder = {"path": "-"}, tmp_path / "a" / "run"
    with pytest.raises(UserError, match="no run to resume"):
        start(folder, toy_config(), source, resume=True)
    assert not folder.exists()
    start(folder, toy_config(), source, resume=False)
    assert read_config(folder / "config.json") == (toy_config(), source)
    with pytest.raises(UserError, match="holds a run already"):
        start(folder, toy_config(), source, resume=False)
    start(folder, toy_config(), source, resume=True)
    for other, elsewhere, said in (
        (toy_config(seed=1), source, "other settings: seed was 0 and is 1: resume"),
        (toy_config(rate=0.02), source, "other settings: rate was 0.01 and is 0.02: resume"),
        (toy_config(), {"path": "other"}, "the tasks {'path': '-'}, not {'path': 'other'}"),
    ):
        with pytest.raises(UserError, match=said):
            start(folder, other, elsewhere, resume=True)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        start(file, toy_config(), source, resume=False)


def _damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    tensors, header = read_tensors(path)
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "garbage":
        path.write_bytes(b"\x80\x04not a checkpoint" * 100)
    elif how == "weights alone":
        write_tensors(path, {k: v for k, v in tensors.items() if k.startswith("model.")}, header)
    elif how == "no header":
        write_tensors(path, tensors, {})
    elif how == "other model":
        write_tensors(path, {k: v for k, v in tensors.items() if k != "model.places"}, header)
    elif how == "other optimiser":
        write_tensors(path, tensors | {"adam.mean": torch.zeros(3)}, header)
    elif how == "other numbers":
        write_tensors(path, tensors | {"generator": torch.zeros(3, dtype=torch.uint8)}, header)


BEST = [1, [0.5, 0.5], [1, 0.1]]
WRONG_HEADERS: list[tuple[dict[str, Any], str]] = [
    ({"step": None}, "steps are integers of at least 0"),
    ({"step": -1}, "steps are integers of at least 0"),
    ({"step": True}, "steps are integers of at least 0"),
    ({"seconds": None}, "seconds, scores and rates are numbers"),
    ({"seconds": -1.0}, "seconds, scores and rates are numbers"),
    ({"best": None}, "NoneType"),
    ({"best": {"one": BEST}}, "'one'"),
    ({"best": {"1": BEST[:2]}}, "not enough values"),
    ({"best": {"1": ["1", *BEST[1:]]}}, "steps are integers"),
    ({"best": {"1": [1, [0.5], [1, 0.1]]}}, "not enough values"),
    ({"best": {"1": [1, ["a", 0.5], [1, 0.1]]}}, "scores and rates are numbers"),
    ({"best": {"1": [1, [0.5, 0.5], [1]]}}, "Choice"),
    ({"config": 3}, "its config is an object, not 3"),
]


def test_a_checkpoint_s_header_is_checked(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    train(toy_config(steps=1), toy_tasks(), tmp_path, ignore)
    path = checkpoint_file(tmp_path)
    tensors, header = read_tensors(path)
    for change, message in WRONG_HEADERS:
        write_tensors(path, tensors, header | change)
        with pytest.raises(UserError, match=rf"checkpoint.safetensors: .*{message}"):
            Trainer(toy_config(steps=1), toy_tasks(), tmp_path).read_checkpoint()
    write_tensors(path, tensors, [header])  # pyright: ignore[reportArgumentType]
    with pytest.raises(UserError, match=r"not a file of tam, or a damaged one \('its header is no object'\)"):
        read_tensors(path)


@pytest.mark.parametrize(
    "how",
    [
        "truncated",
        "empty",
        "garbage",
        "weights alone",
        "no header",
        "other model",
        "other optimiser",
        "other numbers",
    ],
)
def test_a_damaged_checkpoint_is_a_clear_error(
    how: str, toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    trainer = Trainer(toy_config(), toy_tasks(), tmp_path)
    trainer.step()
    trainer.write_checkpoint()
    Trainer(toy_config(), toy_tasks(), tmp_path).read_checkpoint()
    _damage(checkpoint_file(tmp_path), how)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*(damaged|another model)"):
        train(toy_config(), toy_tasks(), tmp_path, ignore)


def test_a_line_that_was_cut_off_is_dropped(
    toy_tasks: MakeTasks, toy_config: MakeConfig, tmp_path: Path
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for place in (whole, parts):
        place.mkdir()
    train(toy_config(), toy_tasks(), whole, ignore)

    def stop(record: Mapping[str, Any]) -> None:
        if record["step"] == 4:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(InterruptedRunError):
        train(toy_config(), toy_tasks(), parts, stop)
    with open(parts / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 5, "loss": 1.0}\n{"step": 4, "valid": {"1": {"accuracy": 0.5}')
    train(toy_config(), toy_tasks(), parts, ignore)
    assert records(parts) == records(whole)


def test_files_appear_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.safetensors"
    write_tensors(path, {"a": torch.ones(2)}, {"step": 1})
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(UserError, match=r"some.safetensors: cannot be written: no space"):
            write_tensors(path, {"a": torch.zeros(2)}, {"step": 2})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["some.safetensors"]
