"""Run by test_kernels.py in a process of its own: Triton's interpreter is chosen when it is imported."""

import copy
import json
import sys
from collections.abc import Iterable
from typing import Any

import torch
import triton.runtime.interpreter as interpreter
from agreement import Case, disagreement
from fake_gpu import use_kernels
from torch import Tensor

from tam.methods.tam import TAM
from tam.models import Batch, ModelSpec, Transformer, build_model
from tam.models.fast import gpu_blocks, gpu_launch
from tam.training.adam import Adam


def let_loops_have_bounds() -> None:
    """A loop's bound is an array with one entry, which newer numpy does not take for a number."""
    patch = interpreter._patch_lang_tensor  # pyright: ignore[reportPrivateUsage]

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        tensor.__index__ = lambda self: self.handle.data.item()

    interpreter._patch_lang_tensor = patched  # pyright: ignore[reportPrivateUsage]


def worst(errors: Iterable[Tensor | float]) -> float:
    """The largest error; unlike `max`, NaN if one of them is."""
    return torch.tensor([float(error) for error in errors]).max().item()


def relative_error(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two tensors, relative to the norm of what is expected."""
    pairs = zip(found, expected, strict=True)
    return worst((a.double() - b).norm() / b.norm().clamp(min=1e-3) for a, b in pairs)


def step_error() -> float:
    """The largest relative error of a step of TAM, and of an adaptation, that reuse what is computed for x.

    Of the step, θ's gradient is looked at: the model has no plain code left. Of the adaptation, z: the
    weights then ask for no gradient.
    """
    generator = torch.Generator().manual_seed(3)
    spec = ModelSpec(kind="transduction", vocabulary=5, max_x=4, max_y=3, layers=2, width=16, heads=1)
    model = build_model(spec, generator)

    def draw(most: int, *shape: int) -> Tensor:
        return torch.randint(most, shape, generator=generator)

    batch = Batch(x=draw(5, 2, 3, 4), x_length=draw(5, 2, 3), y=draw(5, 2, 3, 3), y_length=draw(4, 2, 3))
    tam = TAM(inner_steps=2, inner_rate=0.1, patience=None)
    exact = copy.deepcopy(model).double()
    Adam(model, (), 1.0)  # after which the weights stand one after another, as they do in training
    assert isinstance(model.backbone, Transformer)
    model.backbone.forward = model.backbone.x_cache = None  # pyright: ignore[reportAttributeAccessIssue]
    found: list[list[Tensor]] = []
    for network in (model, exact):
        tam.training_step(network, batch, lambda _: None, 0)
        found.append([p.grad for p in network.parameters() if p.grad is not None])
    for network, gradients in zip((model, exact), found, strict=True):
        gradients += tam.adapt(network.requires_grad_(False), batch, [1], 0.1)
    return relative_error(*found)


if __name__ == "__main__":
    let_loops_have_bounds()
    use_kernels()
    gpu_blocks.SHARES = gpu_launch.SHARES = 2  # fewer programs take less time here
    found = [disagreement(Case(*case), "cpu") for case in json.loads(sys.argv[1])]
    blocks = [worst([one["output"], one["worst_gradient"]]) for one in found]
    print(json.dumps({"step": [step_error()], "blocks": blocks}))
