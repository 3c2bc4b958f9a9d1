"""Run by test_kernels.py in a process of its own: all launches of some passes, compiled for a GPU.

Prints for every kernel that was compiled its name, the bytes that a program shares, and its warps.
"""

from typing import Any

import fake_gpu
import torch
from agreement import Case, Example
from interpret_scoring import found_by

from tam.models import ModelSpec, build_model
from tam.models.fast.gpu_adam import Pieces, TaskMoments, Vectors, move_tasks, move_weights, watch_tasks
from tam.models.fast.gpu_device import compile_only
from tam.models.fast.gpu_losses import chosen_rows, loss_gradients, task_losses
from tam.models.fast.gpu_packing import gather

CASES = (Case(16, 100, heads=2), Case(16, 128, heads=2, before=64))
"""With 2 heads they need the most room."""

_SIZES: dict[str, Any] = {"layers": 2, "width": 128, "heads": 4}
_CLASSES = ModelSpec(kind="classification", vocabulary=12, classes=4, max_x=5, **_SIZES)
_PATHS = ModelSpec(kind="transduction", vocabulary=200, max_x=8, max_y=22, **_SIZES)
SPECS: tuple[tuple[ModelSpec, dict[str, Any]], ...] = (
    (_CLASSES, {"limited": True}),
    (_PATHS, {"x_cache": True}),
)


def adam() -> None:
    """Adam on θ, and on task embeddings."""
    vectors = Vectors(*torch.zeros(4, 3000).unbind())
    numbers = [torch.ones(()) for _ in range(4)]
    constants = {"betas": (0.9, 0.98), "epsilon": 1e-8}
    pieces = Pieces([(1000, 10), (2000, 0)], vectors.values.device)
    move_weights(vectors, pieces, *numbers, clip=1.0, **constants)
    for tasks, rates in ((16, ()), (64, (64, 1))):
        z, active = torch.zeros(tasks, 128), torch.ones(tasks)
        state = TaskMoments(z, z, z, torch.ones(2, dtype=torch.float64))
        move_tasks(state, z, active, torch.ones(rates), **constants)
        watch_tasks(active, active, active, active, numbers[0])


def losses() -> None:
    """Losses of sequences and of classes, and their gradients."""
    lengths, present = torch.zeros(16, 300, dtype=torch.int64), torch.zeros(16, 300, dtype=torch.bool)
    for places, y_lengths, there in ((23, lengths, present), (1, None, None)):
        found = task_losses(torch.zeros(16, 300, places), y_lengths, there)
        loss_gradients(found.means, found.counts, there, (16, 300, places))
    chosen_rows(torch.zeros(16, 300, 256), found.totals, found.totals, found.totals)


def scores(spec: ModelSpec, settings: dict[str, Any]) -> None:
    """A pass from tokens to log-probabilities, and back."""
    model = build_model(spec, torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        found_by(model, spec, settings)


if __name__ == "__main__":
    compiled = fake_gpu.install()
    fake_gpu.use_kernels()
    with compile_only():
        adam()
        losses()
        gather(torch.zeros(16, 128), torch.zeros(16, dtype=torch.int64))
        for spec, settings in SPECS:
            scores(spec, settings)
        for case in CASES:
            Example(case, "cpu").gradients(kernels=True, half=True)
    for kernel in compiled:
        print(kernel["name"], kernel["shared"], kernel["num_warps"])
