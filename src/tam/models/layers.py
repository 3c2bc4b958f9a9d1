"""Layers: linear, LayerNorm, adapter, embedding. A task can offset the weights of LayerNorms and adapters.

`torch.nn.Linear` draws from the global random state; here every weight is drawn from a generator that is
passed in, so building a model has no side effects.

Shapes: R rows in G groups of equal size that share an offset, L places, d width, r bottleneck.
"""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

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


def table_names(model: nn.Module) -> set[str]:
    """Names of embedding tables, of which a step may use only some rows; classes list them in `tables`."""
    return {
        f"{path}.{name}".removeprefix(".")
        for path, module in model.named_modules()
        for name in getattr(module, "tables", ())
    }


class Linear(nn.Module):
    """x ↦ x Wᵀ + b, with W from N(0, std²) and b = 0.

    By default std = 1 / √inputs, which preserves the scale of the input.
    """

    def __init__(self, inputs: int, outputs: int, generator: torch.Generator, *, std: float | None = None):
        super().__init__()
        self.weight = normal(generator, outputs, inputs, std=inputs**-0.5 if std is None else std)
        self.bias = constant(generator, outputs, value=0.0)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to the last dimension."""
        return F.linear(x, self.weight, self.bias)


class NormOffset(NamedTuple):
    """A task's offset on one LayerNorm."""

    scale: Tensor  # [G, 1, d]
    bias: Tensor  # [G, 1, d]


class LayerNorm(nn.Module):
    """LayerNorm whose scale and bias are the shared ones plus the task's offset."""

    def __init__(self, width: int, generator: torch.Generator):
        super().__init__()
        self.scale = constant(generator, width, value=1.0)
        self.bias = constant(generator, width, value=0.0)

    def forward(self, hidden: Tensor, offset: NormOffset | None = None) -> Tensor:
        """Normalise `[R, L, d]`."""
        if offset is None:
            return F.layer_norm(hidden, self.scale.shape, self.scale, self.bias)
        groups = offset.scale.shape[0]
        grouped = F.layer_norm(hidden, self.scale.shape).reshape(groups, -1, hidden.shape[-1])
        moved = grouped * (self.scale + offset.scale) + (self.bias + offset.bias)
        return moved.view(hidden.shape)


class AdapterOffset(NamedTuple):
    """A task's offset on one adapter."""

    down: Tensor  # [G, d, r]
    down_bias: Tensor  # [G, 1, r]
    up: Tensor  # [G, r, d]
    up_bias: Tensor  # [G, 1, d]


def split_offsets(z: Tensor, layers: int, shapes: Sequence[tuple[int, int]]) -> Iterator[list[Tensor]]:
    """Split task embeddings `[G, S]` into the offsets of consecutive layers, each with these shapes."""
    for part in z.unflatten(-1, (layers, -1)).unbind(1):
        pieces = part.split([rows * columns for rows, columns in shapes], dim=-1)
        yield [piece.unflatten(-1, shape) for piece, shape in zip(pieces, shapes, strict=True)]


class Adapter(nn.Module):
    """h ↦ h + up(GELU(down(h))), each weight the shared one plus the task's offset.

    `up` starts small, so that a block starts close to one without adapters, but not at zero, where `down`
    would get no gradient.
    """

    def __init__(self, width: int, bottleneck: int, generator: torch.Generator):
        super().__init__()
        self.down = normal(generator, width, bottleneck, std=width**-0.5)
        self.down_bias = constant(generator, bottleneck, value=0.0)
        self.up = normal(generator, bottleneck, width, std=0.02)
        self.up_bias = constant(generator, width, value=0.0)

    def forward(self, hidden: Tensor, offset: AdapterOffset | None = None) -> Tensor:
        """Adapt `[R, L, d]`."""
        if offset is None:
            return hidden + F.gelu(hidden @ self.down + self.down_bias) @ self.up + self.up_bias
        groups = offset.down.shape[0]
        grouped = hidden.reshape(groups, -1, hidden.shape[-1])
        inner = torch.baddbmm(self.down_bias + offset.down_bias, grouped, self.down + offset.down)
        change = torch.baddbmm(self.up_bias + offset.up_bias, F.gelu(inner), self.up + offset.up)
        return hidden + change.view(hidden.shape)


EMBEDDING_STD = 0.3


def within(length: Tensor, width: int) -> Tensor:
    """Mask of the tokens in sequences padded to `width`: `[..., width]` for lengths `[...]`."""
    return torch.arange(width, device=length.device) < length.unsqueeze(-1)


class Embedding(nn.Module):
    """Token embeddings, plus position embeddings if there is a table of those.

    Positions are counted from the start of this part of the sequence. `longest` is the length of their table;
    None for none.
    """

    tables: ClassVar = ("token", "position")

    def __init__(self, vocabulary: int, longest: int | None, width: int, generator: torch.Generator):
        super().__init__()
        self.token = normal(generator, vocabulary, width, std=EMBEDDING_STD)
        self.position: nn.Parameter | None = None
        if longest is not None:
            self.position = normal(generator, longest, width, std=EMBEDDING_STD)

    def forward(self, ids: Tensor, valid: Tensor) -> Tensor:
        """Embed ids `[R, L]`; where not `valid`, the id may be any number."""
        length = ids.shape[-1]
        if self.position is not None and length > (longest := len(self.position)):
            raise ValueError(f"sequences must have at most {longest} tokens: got {length}")
        if length == 0:  # torch's second derivative of an empty lookup fails
            return self.token.new_zeros(*ids.shape, self.token.shape[-1])
        ids = ids.masked_fill(~valid, 0)
        vectors = F.embedding(ids, self.token)
        return vectors if self.position is None else vectors + self.position[:length]
