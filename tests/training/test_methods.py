"""Every method through the one loop: it learns, follows its seed, stops and goes on, saves and loads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tam.training import trainer as trainers
from tam.training.checkpoint import read_tensors
from tam.training.folder import best_file, checkpoint_file
from tam.training.preflight import prepare
from tam.training.trainer import DivergedError, Trainer
from tests.training.toys import toy_config, toy_tasks, train_in

pytestmark = pytest.mark.slow

LEARNS: dict[str, dict[str, Any]] = {
    "tam": {"rate": 0.02, "steps": 80, "inner_steps": 5, "patience": None, "adapt_steps": (5, 10)},
    "agnostic": {"rate": 0.02, "adapt_rates": (0.02,)},
    "multitask": {"rate": 0.005, "adapt_rates": (0.005,)},
    "maml": {"rate": 0.01, "adapt_rates": (0.1,), "support_sizes": (12, 12)},
    "cavia": {"rate": 0.01, "adapt_rates": (1.0,), "support_sizes": (12, 12), "inner_rate": 1.0},
}
LEARNS["tam, interleaved"] = LEARNS["tam"] | {"rate": 0.005, "steps": 50, "theta_update": "interleaved"}


@pytest.mark.parametrize("name", LEARNS)
def test_it_learns(name: str, tmp_path: Path) -> None:
    """Better than chance, one in three, and than its own untrained self."""
    larger: dict[str, Any] = {"width": 16, "tasks": 6, "rows": 32, "steps": 60, "validate_every": 1000}
    protocol: dict[str, Any] = {"shots": (4,), "supports": 4, "queries": 40, "adapt_steps": (1, 4)}
    tasks = toy_tasks(size=80)
    config = toy_config(name.partition(",")[0], seed=1, **larger | protocol | LEARNS[name])
    (after,) = train_in(tmp_path / "run", config, tasks).validate()
    (before,) = Trainer(prepare(config, tasks), tmp_path).validate()
    assert after.accuracy > max(0.75, before.accuracy + 0.25)
    assert after.perplexity < before.perplexity - 0.5


@pytest.mark.parametrize(
    ("method", "kind", "compositional"),
    [
        ("tam", "classification", False),
        ("agnostic", "transduction", False),
        ("multitask", "classification", False),
        ("multitask", "classification", True),
        ("maml", "transduction", False),
        ("cavia", "classification", True),
    ],
)
def test_the_seed_decides_and_a_stopped_run_ends_the_same(
    method: str, kind: str, compositional: bool, tmp_path: Path
) -> None:
    tasks = toy_tasks(kind, compositional=compositional)
    folders = {name: tmp_path / name for name in ("whole", "parts", "other")}
    for name, folder in folders.items():
        config = toy_config(method, steps=4, validate_every=2, seed=int(name == "other"))
        if name == "parts":

            def crash(record: Mapping[str, Any]) -> None:
                if record["step"] == 3:
                    raise MemoryError

            with pytest.raises(MemoryError):
                train_in(folder, config, tasks, crash)
        train_in(folder, config, tasks)
    files = [Path("model.safetensors"), *(best_file(Path(), k) for k in (1, 2))]
    for file in files:
        whole, parts, other = ((folder / file).read_bytes() for folder in folders.values())
        assert whole == parts
        assert whole != other


@pytest.mark.parametrize("method", ["maml", "cavia"])
def test_an_exploding_inner_loop_is_reported(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trainers, "check_same", lambda *_: None)  # the rate that explodes comes later
    train_in(tmp_path, toy_config(method, steps=2, checkpoint_every=1))
    good = read_tensors(checkpoint_file(tmp_path))[0]
    config = toy_config(method, steps=4, inner_rate=1e38, inner_steps=4, checkpoint_every=1)
    with pytest.raises(DivergedError, match=r"step 3: .*inner_rate"):
        train_in(tmp_path, config)
    kept = read_tensors(checkpoint_file(tmp_path))[0]
    assert all(torch.equal(kept[name], value) for name, value in good.items())
