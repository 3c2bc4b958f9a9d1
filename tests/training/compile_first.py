"""Run by test_compiling.py in a process of its own: trainers that have Triton compile for a GPU.

Prints for each how many kernels it had compiled before its first step, before its validation, and at the
end. What kernels compute is undefined here, as none is launched.
"""

import sys
from pathlib import Path

import torch

from tam.evaluation.protocol import KShotScore
from tam.methods import search
from tam.training import adam
from tam.training import trainer as trainers
from tam.training.preflight import prepare
from tests.models import fake_gpu
from tests.training.toys import toy_config, toy_tasks

RUNS = (
    ("tam", "classification", {"support": "mixed", "small_after": 2, "small_sizes": (1, 4)}),
    ("tam", "classification", {"starts": 3, "proposer": True, "learn_blank": True, "warm_share": 0.5}),
    (
        "tam",
        "transduction",
        {"theta_update": "interleaved", "starts": 3, "task_first": True, "task_tokens": 2},
    ),
)


def changed_by_steps(trainer: trainers.Trainer) -> list[torch.Tensor]:
    """All that an outer step changes."""
    optimiser = trainer.adam
    tensors = [optimiser.gradient, optimiser.norm, optimiser.rate, *optimiser.state().values()]
    return [
        tensor.clone()
        for tensor in (*trainer.model.state_dict().values(), *tensors, trainer.generator.get_state())
    ]


if __name__ == "__main__":
    compiled = fake_gpu.install()
    fake_gpu.use_kernels()
    search.has_kernels = adam.has_kernels = lambda _: True
    trainers.compiles_ahead = lambda _: True
    KShotScore.is_nan = False  # pyright: ignore[reportAttributeAccessIssue]  # whatever it computes
    for method, kind, settings in RUNS:
        config = toy_config(method, width=16, heads=1, **settings)
        trainer = trainers.Trainer(prepare(config, toy_tasks(kind)), Path(sys.argv[1]))
        count, before = len(compiled), changed_by_steps(trainer)
        trainer.compile()
        for a, b in zip(before, changed_by_steps(trainer), strict=True):
            assert torch.equal(a, b)
        ahead = [len(compiled) - count]
        for _ in range(config.training.steps):
            trainer.step()
        assert len(compiled) - count == ahead[0]
        trainer.compile_validation()
        ahead.append(len(compiled) - count)
        trainer.validate()
        print(*ahead, len(compiled) - count)
