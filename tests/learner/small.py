"""A small benchmark, an input for it, and a learner as if it had been fitted."""

from typing import Any

import torch

import tam
from tam.config.config import Config
from tam.evaluation.protocol import Choice
from tam.methods import make_method
from tam.models import ModelSpec, build_model
from tam.tasks.vocabulary import Vocabulary
from tam.training.saved import Saved

X = [3, 1, 4, 1, 5]


def small_benchmark(name: Any) -> tam.TaskSet:
    """A benchmark of few tasks, always the same ones, so that they are made once."""
    return tam.benchmark(name, train=20, valid=2, test=2)


def untrained(method: str, kind: Any = "classification", starts: int = 1, **shape: Any) -> tam.Learner:
    """A learner of 12 tokens as if it had been fitted."""
    shape |= {"classes": 4} if kind == "classification" else {"max_y": 2}
    spec = ModelSpec(kind=kind, vocabulary=12, max_x=5, layers=1, width=8, heads=2, **shape)
    config = Config.from_preset("smoke", method)
    config = config if starts == 1 else config.override(starts=starts)
    made = make_method(config)
    model = build_model(made.spec(spec, 3), torch.Generator().manual_seed(0))
    primitives = {str(number): number for number in range(spec.primitives)} or None
    choice = Choice(2, 0.1) if config.settings.by_steps else Choice(0, 0.0)
    choices = dict.fromkeys(config.protocol.shots, choice)
    return tam.Learner.of(Saved(config, model, Vocabulary(range(12)), primitives, choices))
