"""Run by test_kernels.py in a process of its own: Triton's interpreter is chosen when it is imported.

Prints the largest relative error of each check against plain torch in float64.
"""

import json
import math

import torch
from interpret import let_loops_have_bounds
from torch import Tensor, nn

from tam.methods import search
from tam.methods.search import Search
from tam.training import adam as adams
from tam.training.adam import Adam

COUNTS = (3.0, 0.0, 1.0, 2.0, 7.0)


class Network(nn.Module):
    """Tables with rows narrower and wider than what a program takes at once, and other weights."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        shapes = {"narrow": (7, 3), "matrix": (60, 40), "wide": (3, 1500), "vector": (5,)}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape, generator=draw).to(dtype)))


def errors(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference, relative to the largest number; infinite if other numbers are NaN."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        if not torch.equal(a.isnan(), b.isnan()):
            return math.inf
        size = b.nan_to_num().abs().max().clamp(min=1e-12)
        worst = max(worst, float((a.double() - b).nan_to_num().abs().max() / size))
    return worst


def moves_of_weights(*, kernels: bool, clip: float, poison: float) -> list[Tensor]:
    """Everything that Adam on θ changes, after each of some moves; the last gradient is poisoned."""
    model = Network(torch.float32 if kernels else torch.float64)
    adams.has_kernels = lambda _: kernels
    adam = Adam(model, ("narrow", "wide"), clip)
    adam.rate.fill_(0.1)
    draw = torch.Generator().manual_seed(1)
    found: list[Tensor] = []
    for count in COUNTS:
        gradient = torch.randn(len(adam.gradient), generator=draw)
        narrow = gradient[:21].view(7, 3)
        narrow[torch.rand(7, generator=draw) < 0.5] = 0
        wide = gradient[21 + 2400 :][:4500].view(3, 1500)
        wide[0, :1499] = wide[1] = 0  # the last number of a wide row counts too
        if count == COUNTS[-1]:
            gradient[30] = poison
        adam.gradient.copy_(gradient)
        adam.move(adam.gradient.new_tensor(count))
        found += [
            value.clone()
            for value in (*(p.detach() for p in model.parameters()), *adam.state().values(), adam.norm)
        ]
        assert adam.gradient.eq(0).all()
    return found


def search_of_tasks(tasks: int, size: int, patience: int, *, kernels: bool, own_rates: bool) -> list[Tensor]:
    """Everything that a search changes, after each of some steps; many tasks are watched, and do not move."""
    search.has_kernels = lambda _: kernels
    dtype = torch.float32 if kernels else torch.float64
    draw = torch.Generator().manual_seed(tasks)
    rate = torch.linspace(0.01, 0.5, tasks).to(dtype) if own_rates else 0.1
    looked = Search(torch.zeros(tasks, size, dtype=dtype), rate, patience)
    found: list[Tensor] = []
    for step in range(6 if tasks < 100 else 2):
        loss = torch.rand(tasks, generator=draw)
        gradient = torch.randn(tasks, size, generator=draw)
        if step == 3:
            loss[0] = math.nan
        looked.observe(loss.to(dtype))
        if tasks < 100:
            looked.step(gradient.to(dtype))
        found += [looked.z, looked.best_z, looked.best, looked.active, looked.count]
    return found


if __name__ == "__main__":
    let_loops_have_bounds()
    moves = [
        [moves_of_weights(kernels=kernels, clip=clip, poison=poison) for kernels in (True, False)]
        for clip, poison in ((0.01, math.nan), (1e9, math.inf))
    ]
    searches = [
        [search_of_tasks(tasks, size, patience, kernels=kernels, own_rates=own) for kernels in (True, False)]
        for tasks, size, patience, own in (
            (1, 1, 9, False),
            (5, 16, 1, True),
            (1030, 3, 2, True),
            (3, 130, 2, False),
            (2, 2100, 2, True),
        )
    ]
    pairs = {"moves": moves, "searches": searches}
    print(json.dumps({name: [errors(*pair) for pair in some] for name, some in pairs.items()}))
