"""Run by test_fused.py in a process of its own: all launches of some passes, compiled for a GPU.

Prints for every kernel that was compiled its name, the bytes that a program shares, and its warps.
"""

import fake_gpu
import torch
from agreement import Case, Example  # pyright: ignore[reportMissingImports]

from tam.models.compiling import compile_only
from tam.models.launch_adam import Pieces, TaskMoments, Vectors, move_tasks, move_weights, watch_tasks
from tam.models.launch_rows import embedding_gradients, gather

CASES = (
    Case(16, 6, causal=False, masked=False, last=1),
    Case(16, 6, causal=False, masked=True, last=1),
    Case(16, 100, heads=2),
    Case(16, 6, before=5),
    Case(16, 22, before=8),
    Case(16, 128, heads=2, before=64),
)
"""With 2 heads they need the most room."""


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


if __name__ == "__main__":
    compiled = fake_gpu.install()
    with compile_only():
        adam()
        embedding_gradients(torch.zeros(16, 5, 128), torch.zeros(16, 5, dtype=torch.int64), 12)
        gather(torch.zeros(16, 128), torch.zeros(16, dtype=torch.int64))
        for case in CASES:
            Example(case, "cpu").gradients(kernels=True, half=True)
    for kernel in compiled:
        print(kernel["name"], kernel["shared"], kernel["num_warps"])
