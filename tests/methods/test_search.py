"""The search for z: torch's Adam for each task by itself, with its own stop."""

import math

import pytest
import torch
from torch import Tensor

from tam.methods.search import Descent, Search

CENTRES = torch.tensor([[1.0, -2.0], [0.3, 0.1], [-5.0, 4.0]], dtype=torch.float64)
SHAPES = torch.tensor([[1.0, 10.0], [0.1, 3.0], [2.0, 2.0]], dtype=torch.float64)


def bowls(z: Tensor) -> Tensor:
    """The loss `[B]`, a bowl of its own for each task."""
    return (SHAPES * (z - CENTRES).square()).sum(1)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_a_task_stops_when_its_loss_has_not_improved_on_its_best_for_so_long(patience: int) -> None:
    losses = torch.tensor(
        [
            [5.0, 4, 3, 2, 1, 0.5, 0.4, 0.3],  # improves all the way
            [5.0, 6, 4, 6, 5, 3, 7, 7],  # worse once, then better; worse twice, then better; …
            [5.0, 5, 5, 5, 5, 5, 5, 5],  # as good is not better
            [5.0, 4, 4.5, 4.2, 4.1, 3, 2, 1],  # better than the last is not better than the best
        ]
    )
    search = Search(torch.zeros(4, 1), 0.1, patience)
    for step in range(8):
        before = search.z.clone()
        search.observe(losses[:, step])
        search.step(torch.ones(4, 1))
        for task in range(4):
            seen = losses[task, : step + 1].tolist()
            stopped = any(
                now - max(t for t in range(now + 1) if seen[t] < min(seen[:t], default=math.inf)) >= patience
                for now in range(step + 1)
            )
            assert search.active[task].item() == (0 if stopped else 1)
            assert (search.z[task] == before[task]).all().item() == stopped


def test_a_search_that_diverges_returns_where_it_was_before() -> None:
    (found,) = Descent(torch.ones(3, 2, dtype=torch.float64), 1e200).follow(bowls, [6])
    assert found.isfinite().all()
    assert torch.equal(found, torch.ones(3, 2, dtype=torch.float64))
