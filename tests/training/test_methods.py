"""Methods that fit parameters to a task learn, through the one loop."""

from pathlib import Path
from typing import Any

import pytest

from tam.training.preflight import prepare
from tam.training.trainer import Trainer
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
