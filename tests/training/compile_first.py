"""Run by test_compiling.py in a process of its own: trainers that have Triton compile for a GPU.

Prints for each how many kernels it compiled before its steps, and in these and a validation. What kernels
compute is undefined here, as none is launched.
"""

import sys
from pathlib import Path

import torch

from tam.methods import search
from tam.models import Transformer, transformer
from tam.training import adam
from tam.training import trainer as trainers
from tests.models import fake_gpu
from tests.training.toys import toy_config, toy_tasks

RUNS = (
    ("tam", "classification", {"support": "mixed", "small_after": 2, "small_sizes": (1, 4)}),
    ("tam", "transduction", {"theta_update": "interleaved"}),
    ("cavia", "transduction", {"order": "first"}),
)


def changed_by_steps(trainer: trainers.Trainer) -> list[torch.Tensor]:
    """All that an outer step changes."""
    optimiser = trainer.adam
    tensors = [optimiser.gradient, optimiser.norm, optimiser.rate, *optimiser.state().values()]
    return [
        tensor.clone() for tensor in (*trainer.model.parameters(), *tensors, trainer.generator.get_state())
    ]


if __name__ == "__main__":
    compiled = fake_gpu.install()
    transformer.can_fuse = lambda hidden, heads: True
    search._has_kernels = lambda _: True  # pyright: ignore[reportPrivateUsage]
    adam.Adam._has_kernels = lambda self: True  # pyright: ignore[reportPrivateUsage]
    trainers.compiles_ahead = lambda: True
    for method, kind, settings in RUNS:
        config = toy_config(method, width=16, heads=1, **settings)
        trainer = trainers.Trainer(config, toy_tasks(kind), Path(sys.argv[1]))
        assert isinstance(trainer.model.backbone, Transformer)
        trainer.model.backbone.fused = trainer.model.backbone.kernels = True
        count, before = len(compiled), changed_by_steps(trainer)
        trainer.compile()
        for a, b in zip(before, changed_by_steps(trainer), strict=True):
            assert torch.equal(a, b)
        first = len(compiled)
        for _ in range(config.training.steps):
            trainer.step()
        trainer.validate()
        print(first - count, len(compiled) - first)
