"""A run can be stopped anywhere and resumed, and ends as if it had not been stopped."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from safetensors import SafetensorError
from safetensors.torch import save_file

from tam.errors import InterruptedRunError, UserError
from tam.evaluation.protocol import Choice, KShotScore, TaskScore
from tam.training import checkpoint
from tam.training.checkpoint import read_tensors
from tam.training.folder import best_file, checkpoint_file
from tam.training.preflight import prepare
from tam.training.run import load_tasks, read_config, run, start
from tam.training.trainer import Trainer
from tests.training.run_folder import assert_same_weights, plain, records, weights
from tests.training.toys import Start, WriteConfig, ignore, toy_config, toy_tasks, train_in

pytestmark = pytest.mark.slow

SORTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "transduction": ({"kind": "transduction"}, {"theta_update": "interleaved", "patience": None}),
    "compositional": (
        {"compositional": True},
        {"support": "mixed", "small_after": 3, "small_sizes": (1, 4)},
    ),
    "several starts": ({}, {"starts": 3, "warm_share": 0.5}),
    "warm starts": ({"compositional": True}, {"warm_share": 0.5, "task_tokens": 2, "patience": None}),
    "regularised": ({}, {"dropout": 0.3, "weight_decay": 0.1, "label_smoothing": 0.1}),
    "agnostic": ({"kind": "transduction"}, {"method": "agnostic"}),
    "multitask": ({"compositional": True}, {"method": "multitask"}),
    "maml": ({"kind": "transduction"}, {"method": "maml"}),
    "cavia": ({"compositional": True}, {"method": "cavia"}),
}


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("how", ["asked", "crashed"])
def test_a_run_stopped_after_any_step_ends_the_same(how: str, sort: str, tmp_path: Path) -> None:
    tasks, config = toy_tasks(**SORTS[sort][0]), toy_config(**SORTS[sort][1])
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    train_in(whole, config, tasks)

    def stop_after(step: int) -> Callable[[Mapping[str, Any]], None]:
        def log(record: Mapping[str, Any]) -> None:
            if record["step"] == step and "loss" in record:
                if how == "crashed":
                    raise MemoryError
                signal.raise_signal((signal.SIGTERM, signal.SIGINT)[step % 2])

        return log

    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    for step in (1, 4, 5):
        with pytest.raises(MemoryError if how == "crashed" else InterruptedRunError):
            train_in(parts, config, tasks, stop_after(step))
        if how == "asked":
            assert read_tensors(checkpoint_file(parts))[1]["step"] == step
            assert records(parts)[-1]["step"] == step
        with open(parts / "metrics.jsonl", "a", encoding="utf-8") as file:  # a line that was cut off
            file.write('{"step": 1, "valid": {"1": {"accuracy": 0.5}')
    assert handlers == [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    train_in(parts, config, tasks)
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert records(parts) == records(whole)
    for k in (1, 2):
        assert best_file(parts, k).read_bytes() == best_file(whole, k).read_bytes()


@pytest.mark.parametrize("moment", ["validate", "write_checkpoint"])
def test_a_run_stopped_after_its_last_step_is_only_scored(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy_config(steps=2, validate_every=9, checkpoint_every=9)
    act = getattr(Trainer, moment)

    def stopped(trainer: Trainer) -> object:
        signal.raise_signal(signal.SIGINT)
        return act(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, moment, stopped)
        with pytest.raises(InterruptedRunError, match=r"^stopped after step 2 of 2$"):
            run(prepare(config, toy_tasks()), tmp_path, ignore)
    assert not (tmp_path / "result.json").exists()
    before = records(tmp_path)
    monkeypatch.setattr(Trainer, "step", lambda _: pytest.fail("nothing is left to train"))
    assert [row["k"] for row in run(prepare(config, toy_tasks()), tmp_path, ignore)["scores"]] == [1, 2]
    assert records(tmp_path) == before


def test_what_validation_had_written_when_it_died_is_what_is_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best weights at the first k are newer than the checkpoint, and not reached again."""
    config = toy_config(steps=6, validate_every=3, checkpoint_every=3)
    accuracy, died = {(3, 1): 0.5, (3, 2): 0.5, (6, 1): 0.6}, [False]

    steps = [3, 3, 6, 6, 6, 6]  # of each validation, at k = 1 and 2

    def choose(_: object, __: object, ___: object, k: int, *____: object) -> KShotScore:
        step = steps.pop(0)
        if (step, k) == (6, 2) and not died[0]:
            died[0] = True
            raise MemoryError
        value = 0.4 if died[0] else accuracy[step, k]
        return KShotScore(k, Choice(step, 0.1), (TaskScore(value, 2.0),))

    monkeypatch.setattr("tam.training.trainer.choose", choose)
    with pytest.raises(MemoryError):
        train_in(tmp_path, config)
    assert read_tensors(checkpoint_file(tmp_path))[1]["step"] == 3
    best = train_in(tmp_path, config).state.best
    assert {k: (one.step, one.choice.steps) for k, one in best.items()} == {1: (6, 6), 2: (3, 3)}
    for k, one in best.items():
        assert read_tensors(best_file(tmp_path, k))[1]["best"] == one.to_json()


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


def test_a_real_process_stopped_at_random_moments_ends_the_same(
    write_config: WriteConfig, start_run: Start, tmp_path: Path
) -> None:
    """`python -m tam run`, stopped politely and killed, and each time resumed."""
    config = toy_config(steps=90, checkpoint_every=7, validate_every=40)
    file, parts, whole = write_config(toy_tasks(), config), tmp_path / "parts", tmp_path / "whole"
    reached = 0
    for turn, number in enumerate((signal.SIGTERM, signal.SIGKILL)):
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
            assert "--resume" in errors
            assert "Traceback" not in errors
            assert read_tensors(checkpoint_file(parts))[1]["step"] == records(parts)[-1]["step"]
    process = start_run(file, "--out", parts, "--resume")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    whole.mkdir()
    loaded, source = read_config(file)
    result = run(prepare(loaded, load_tasks(source)), whole, ignore)
    assert (parts / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert records(parts) == records(whole)
    assert [r["step"] for r in records(parts) if "loss" in r] == list(range(1, 91))
    assert json.loads(output) == result["scores"]
    assert not checkpoint_file(parts).exists()


def test_a_run_that_begins_again_records_its_first_validation_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that starts as a rule is validated before its first step."""
    config, tasks = toy_config(copy=True, hints=2, mask_tokens=0.02), toy_tasks("transduction")
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "step", lambda _: (_ for _ in ()).throw(MemoryError))
        with pytest.raises(MemoryError):
            train_in(tmp_path, config, tasks)
    train_in(tmp_path, config, tasks)
    assert [record["step"] for record in records(tmp_path) if "valid" in record] == [0, 3, 6]


def test_a_disk_that_is_full_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, folder = tmp_path / "whole", tmp_path / "full"
    train_in(whole)
    written: list[Path] = []

    def full(tensors: object, path: Path, header: object) -> None:
        written.append(path)
        if len(written) == 4:
            raise SafetensorError("No space left on device")
        save_file(tensors, path, header)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_file", full)
        with pytest.raises(UserError, match=r"No space left"):
            train_in(folder)
    assert not list(folder.glob(".*"))
    train_in(folder)
    assert_same_weights(weights(folder), weights(whole))


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    config, source, folder = toy_config(), {"path": "-"}, tmp_path / "run"
    start(folder, config, source, resume=False)
    result = run(prepare(config, toy_tasks()), folder, ignore)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    start(folder, config, source, resume=True)

    def never(_: Mapping[str, Any]) -> None:
        raise AssertionError("nothing is to be trained")

    assert run(prepare(config, toy_tasks()), folder, never) == plain(result)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_run_is_not_resumed_with_other_tasks_or_settings(tmp_path: Path) -> None:
    config = toy_config(steps=2)
    run(prepare(config, toy_tasks()), tmp_path, ignore)
    with pytest.raises(UserError, match=r"result\.json: .* fingerprint"):
        run(prepare(config, toy_tasks(size=50)), tmp_path, ignore)
    with pytest.raises(UserError, match=r"result\.json: .*seed was 0 and is 9"):
        run(prepare(toy_config(steps=2, seed=9), toy_tasks()), tmp_path, ignore)
    Trainer(prepare(config, toy_tasks()), tmp_path).write_checkpoint()
    Trainer(prepare(config, toy_tasks()), tmp_path).read_checkpoint()
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .* fingerprint"):
        Trainer(prepare(config, toy_tasks(size=50)), tmp_path).read_checkpoint()
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*seed was 0 and is 1; rate was 0.01"):
        train_in(tmp_path, toy_config(steps=2, seed=1, rate=0.5))
