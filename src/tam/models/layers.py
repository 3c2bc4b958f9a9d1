"""Parameters drawn from a given generator, and the linear layer made of them.

`torch.nn.Linear` draws from the global random state; every weight here comes from one generator that
is passed in, so that building a model changes nothing else.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def normal(generator: torch.Generator, *shape: int, std: float) -> nn.Parameter:
    """A parameter with entries from N(0, std²)."""
    values = torch.empty(shape, device=generator.device)
    return nn.Parameter(values.normal_(std=std, generator=generator))


def constant(generator: torch.Generator, *shape: int, value: float) -> nn.Parameter:
    """A parameter with equal entries, on the generator's device."""
    return nn.Parameter(torch.full(shape, value, device=generator.device))


class Linear(nn.Module):
    """x ↦ x Wᵀ + b, with W from N(0, std²) and b = 0.

    Without `std`, W keeps the scale of its input: std = 1 / √inputs.
    """

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator, *, std: float | None = None):
        super().__init__()
        self.weight = normal(generator, outputs, inputs, std=inputs**-0.5 if std is None else std)
        self.bias = constant(generator, outputs, value=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to the last dimension."""
        return F.linear(x, self.weight, self.bias)
