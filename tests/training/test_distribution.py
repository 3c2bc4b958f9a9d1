"""Several processes on one run give the same weights as one."""

import json
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.errors import InterruptedRunError, UserError
from tam.methods import Losses
from tam.training import distribution
from tam.training.preflight import prepare
from tam.training.run import load_tasks, read_config, run, start
from tam.training.trainer import Trainer
from tests.in_process import tam
from tests.training.run_folder import records, weights
from tests.training.toys import Start, WriteConfig, ignore, toy_config, toy_tasks, train_in

pytestmark = pytest.mark.slow


def losses(folder: Path) -> list[dict[str, Any]]:
    return [record for record in records(folder) if "loss" in record]


def assert_close_weights(first: Path, second: Path) -> None:
    one, two = map(weights, (first, second))
    assert one.keys() == two.keys()
    for name, value in one.items():
        other = two[name]
        if name.endswith("key_value.bias"):
            # A softmax does not see the keys' bias. Its gradient is rounding alone, which Adam makes large.
            value, other = value.chunk(2)[1], other.chunk(2)[1]
        torch.testing.assert_close(other, value, rtol=1e-5, atol=5e-6, msg=lambda m, n=name: f"{n}: {m}")


def test_several_processes_give_the_weights_of_one(
    write_config: WriteConfig, start_run: Start, tmp_path: Path
) -> None:
    """Under torchrun, with tasks that stop by themselves, so that the processes take different counts.

    The three processes have 1, 1 and 2 of the 4 tasks.
    """
    own: dict[str, Any] = {"inner_steps": 4, "inner_rate": 1.0, "patience": 1, "theta_update": "interleaved"}
    own |= {"steps": 4, "checkpoint_every": 100, "warm_share": 0.5, "learn_blank": True}
    together, alone = tmp_path / "together", tmp_path / "alone"
    file = write_config(toy_tasks(), toy_config(**own))
    process = start_run(file, "--out", together, processes=3)
    alone.mkdir()
    config, source = read_config(file)
    result = run(prepare(config, load_tasks(source)), alone, ignore)
    output, errors = process.communicate(timeout=90)
    assert process.returncode == 0, errors
    assert [row["k"] for row in json.loads(output)] == [row["k"] for row in result["scores"]]
    assert_close_weights(alone, together)
    known = losses(alone)
    assert len({record["inner_steps"] for record in known}) > 1
    for record, same in zip(losses(together), known, strict=True):
        assert record == pytest.approx(same, abs=2e-4)


DYING = """
import os, signal
from tam.cli import run as command
from tam.training import distribution

add_up, moves = distribution.add_up, []

def die(tensors):
    moves.append(len(tensors[0]) > 3)  # θ's gradient, not the losses
    if os.environ["RANK"] == "1" and sum(moves) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    add_up(tensors)

distribution.add_up = die
command.main()
"""


def test_a_process_that_dies_ends_the_run_and_it_resumes(
    write_config: WriteConfig, start_run: Start, tmp_path: Path
) -> None:
    """One of two is killed in the middle of the fourth step; the last checkpoint is of the second."""
    file = write_config(toy_tasks(), toy_config(steps=5, patience=None, shots=(1,), validate_every=100))
    script, logs, together, alone = (tmp_path / name for name in ("dying.py", "logs", "several", "one"))
    script.write_text(DYING, encoding="utf-8")
    process = start_run(file, "--out", together, processes=2, script=script, logs=logs)
    alone.mkdir()
    config, source = read_config(file)
    run(prepare(config, load_tasks(source)), alone, ignore)
    _, launchers = process.communicate(timeout=60)
    assert process.returncode == 1
    (errors,) = (path.read_text(encoding="utf-8") for path in logs.glob("*/attempt_0/0/stderr.log"))
    assert "Traceback" not in errors
    assert "lost another process of the run" in errors
    assert "stopped after step 3 of 5" in errors
    assert "SIGKILL" in launchers
    assert [record["step"] for record in losses(together)] == [1, 2, 3]
    run(prepare(config, load_tasks(source)), together, ignore)
    assert [record["step"] for record in losses(together)] == [1, 2, 3, 4, 5]
    assert_close_weights(alone, together)


def test_a_finished_run_is_shown_by_the_first_process_alone(
    write_config: WriteConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With --resume; without, the first has an error, and the second nothing to add to it."""
    file, folder = write_config(toy_tasks(), toy_config(steps=2)), tmp_path / "run"
    config, source = read_config(file)
    start(folder, config, source, resume=False)
    result = run(prepare(config, load_tasks(source)), folder, ignore)
    command = ["run", str(file), "--out", str(folder)]
    monkeypatch.setenv("WORLD_SIZE", "2")
    for rank, words, shown in (("0", ["--resume"], True), ("1", ["--resume"], False), ("1", [], False)):
        monkeypatch.setenv("RANK", rank)
        tam(*command, *words)
        output, errors = capsys.readouterr()
        assert errors == ""
        assert output == (f"{json.dumps(result['scores'], indent=1)}\n" if shown else "")


@pytest.fixture
def group_of_one(tmp_path: Path) -> Generator[None]:
    meet = f"file://{tmp_path}/meet"
    torch.distributed.init_process_group("gloo", init_method=meet, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.usefixtures("group_of_one")
def test_processes_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As where a host does not see the checkpoint that the others resume from."""
    trainer = Trainer(prepare(toy_config(), toy_tasks()), tmp_path)
    trainer.check_ranks()
    other = torch.tensor([5, -5])
    reduce = torch.distributed.all_reduce

    def with_another(values: torch.Tensor, operation: Any) -> None:
        reduce(values, operation)
        values.copy_(torch.maximum(values, other))

    monkeypatch.setattr(torch.distributed, "all_reduce", with_another)
    with pytest.raises(UserError, match="differ"):
        trainer.check_ranks()


def test_ranks_agree_on_losses_and_on_stops(
    group_of_one: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As the second of three ranks; the others add these values to every sum."""
    others: list[float] = []
    monkeypatch.setattr(distribution, "world_size", lambda: 3)
    monkeypatch.setattr(distribution, "rank", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda tensor, _: tensor.add_(torch.tensor(others)))
    trainer = Trainer(prepare(toy_config(tasks=4), toy_tasks()), tmp_path)  # 2 tasks of 4 are this rank's
    others[:] = [3.0, 2.0, 1.0]
    losses = trainer.mean_losses(Losses(*map(torch.tensor, (1.5, 1.0, 2.0))))
    assert [value.item() for value in losses.means] == [1.5, 1.0, 1.25]
    for asked in (False, True):
        others[:] = [float(asked)]
        assert [trainer.any_rank(own) for own in (False, True)] == [asked, True]
        assert [trainer.first_rank(own) for own in (False, True)] == [asked, asked]


def test_what_happened_is_said_before_the_launcher_ends_the_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def lose(_: Trainer) -> Losses:
        raise distribution.LostProcessError("process 0 lost another")

    monkeypatch.setattr(Trainer, "step", lose)
    before = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(InterruptedRunError, match="lost another; stopped after step 0"):
            train_in(tmp_path)
        os.kill(os.getpid(), signal.SIGTERM)  # as torchrun does; it would end this process
    finally:
        signal.signal(signal.SIGTERM, before)


def test_each_process_takes_its_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the second of two processes, on a host with two GPUs, and with one."""
    done: list[object] = []
    for name, value in (("WORLD_SIZE", "2"), ("LOCAL_RANK", "1"), ("LOCAL_WORLD_SIZE", "2")):
        monkeypatch.setenv(name, value)
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match="could not connect"), distribution.process_group("cpu"):
        pass
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", done.append)
    monkeypatch.setattr(torch.distributed, "init_process_group", lambda backend, **_: done.append(backend))
    monkeypatch.setattr(torch.distributed, "destroy_process_group", lambda: None)
    for device in ("cpu", "cuda"):
        with distribution.process_group(device):
            pass
    assert done == ["gloo", 1, "nccl"]
    with pytest.raises(UserError, match="cuda:1"):
        distribution.check_processes("cuda:1", 4)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(UserError, match=r"2 processes .* 1 GPUs"):
        distribution.check_processes("cuda", 4)
    distribution.check_processes("cpu", 4)


@pytest.mark.parametrize("rank", ["0", "5"])
def test_tasks_that_cannot_be_split_leave_no_folder(
    rank: str, monkeypatch: pytest.MonkeyPatch, write_config: WriteConfig, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "6")
    monkeypatch.setenv("RANK", rank)
    file = write_config(toy_tasks(), toy_config(tasks=4))
    with pytest.raises(SystemExit, match=r"4 tasks .* 6 processes"):
        tam("run", str(file), "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()
