"""The transformer in ordinary torch: pre-norm blocks over any sequence of vectors.

`tam.models.fast` computes the same numbers faster.

Shapes: R rows, L places, X cached ones, d width, H heads, D = d / H.
"""

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.attention import ALL, Attention, additive, for_places
from tam.models.conditioning import Modulation
from tam.models.dropout import drop
from tam.models.layers import Adapter, LayerNorm, Linear
from tam.models.rotary import Rotation


def transformer_parameters(layers: int, width: int) -> int:
    """Number of parameters of a transformer without adapters."""
    attention = 4 * width * (width + 1)
    mlp = 8 * width * width + 5 * width
    norm = 2 * width
    return layers * (attention + mlp + 2 * norm) + norm


class MLP(nn.Module):
    """Two linear layers with a GELU between them; the hidden layer is four times as wide."""

    def __init__(self, width: int, generator: torch.Generator, *, out_std: float):
        super().__init__()
        self.inner = Linear(width, 4 * width, generator)
        self.out = Linear(4 * width, width, generator, std=out_std)

    def forward(self, hidden: Tensor) -> Tensor:
        """Apply to each place."""
        return self.out(F.gelu(self.inner(hidden)))


class Block(nn.Module):
    """Pre-norm attention and MLP with residual connections, each followed by its adapter if there is one."""

    def __init__(
        self, width: int, heads: int, bottleneck: int | None, generator: torch.Generator, *, depth: int
    ):
        super().__init__()
        # So that the 2 · depth branches add about unit variance to the residual stream.
        shrink = (2 * depth) ** -0.5
        self.attention_norm = LayerNorm(width, generator)
        self.attention = Attention(width, heads, generator, out_std=shrink * width**-0.5)
        self.mlp_norm = LayerNorm(width, generator)
        self.mlp = MLP(width, generator, out_std=shrink * (4 * width) ** -0.5)
        self.adapters: nn.ModuleList | None = None
        if bottleneck is not None:
            self.adapters = nn.ModuleList(Adapter(width, bottleneck, generator) for _ in range(2))

    def forward(
        self,
        hidden: Tensor,
        bias: Tensor | None,
        offsets: Modulation,
        read: slice,
        x_cache: Sequence[Tensor] = (),
        rotation: Rotation | None = None,
    ) -> Tensor:
        """Transform `[R, L, d]` and return the places `read`; for other arguments see `Transformer`."""
        normed = self.attention_norm(hidden, offsets.norm(0))
        change = self.attention(normed, read, bias, x_cache, rotation)
        hidden = hidden[:, read] + drop(self._adapt(0, change, offsets))
        change = self.mlp(self.mlp_norm(hidden, offsets.norm(1)))
        return hidden + drop(self._adapt(1, change, offsets))

    def _adapt(self, index: int, change: Tensor, offsets: Modulation) -> Tensor:
        return change if self.adapters is None else self.adapters[index](change, offsets.adapter(index))


RunBlock = Callable[
    [Block, Tensor, Tensor | None, Modulation, slice, Sequence[Tensor], Rotation | None], Tensor
]
"""Computes a block, with the arguments of `Block.forward`; the engine for CPUs has its own."""


class Transformer(nn.Module):
    """Pre-norm blocks and a final LayerNorm."""

    def __init__(
        self,
        *,
        layers: int,
        width: int,
        heads: int,
        generator: torch.Generator,
        bottleneck: int | None = None,
    ):
        super().__init__()
        self.head_size = width // heads
        self.heads, self.has_adapters = heads, bottleneck is not None
        self.blocks = nn.ModuleList(
            Block(width, heads, bottleneck, generator, depth=layers) for _ in range(layers)
        )
        self.norm = LayerNorm(width, generator)

    def forward(
        self,
        hidden: Tensor,
        mask: Tensor | None = None,
        modulation: Modulation | None = None,
        read: slice = ALL,
        x_cache: Sequence[Sequence[Tensor]] = (),
        positions: Tensor | None = None,
        run: RunBlock = Block.__call__,
    ) -> Tensor:
        """Transform a sequence of vectors.

        Args:
            hidden: The vectors, `[R, L, d]`.
            mask: True where a place (row) may attend to another (column); broadcasts to `[R, L, L]`. Each
                place must see at least one. None: all see all.
            modulation: The tasks' offsets on LayerNorms or adapters. Row r belongs to group ⌊r · G / R⌋.
            read: The places to return; the last block computes no others.
            x_cache: For each block the keys and values, `[R, H, X, D]` each, of places before these, which
                are then seen too and come first in the mask's columns; see `x_cache`.
            positions: The position of each place, `[L]`, if positions are rotary.
            run: What computes a block.

        Returns:
            The hidden states at the places `read`.
        """
        modulation = Modulation() if modulation is None else modulation
        bias = None if mask is None else additive(mask, hidden.dtype).unsqueeze(-3)
        rotation, last = self.rotation(positions, hidden), len(self.blocks) - 1
        for index, block in enumerate(self.blocks):
            places = read if index == last else ALL
            own_bias = None if bias is None else for_places(bias, places)
            own = own_bias, modulation.block(index), places
            cached = x_cache[index] if index < len(x_cache) else ()
            here = None if rotation is None else rotation.at(slice(hidden.shape[1]))
            hidden = run(cast(Block, block), hidden, *own, cached, here)
        return self.norm(hidden, modulation.norm(-1))

    def rotation(self, positions: Tensor | None, hidden: Tensor) -> Rotation | None:
        """The rotation of queries and keys at these positions `[L]`; None without positions."""
        dtype = torch.promote_types(hidden.dtype, torch.float32)
        return None if positions is None else Rotation.of(positions, self.head_size, dtype)

    def x_cache(self, hidden: Tensor, mask: Tensor | None, positions: Tensor | None, run: RunBlock) -> Tensor:
        """Keys and values of places that see none after them, to be read by the places after them.

        Args:
            hidden: The vectors, `[R, X, d]`.
            mask: True where a place (row) may attend to another (column), `[R, X, X]`.
            positions: The position of each place, `[X]`, if positions are rotary.
            run: What computes a block.

        Returns:
            The keys and values of every block, `[R, blocks, 2, H, X, D]`.
        """
        bias = None if mask is None else additive(mask, hidden.dtype).unsqueeze(-3)
        rotation, cache = self.rotation(positions, hidden), list[Tensor]()
        for module in self.blocks:
            block = cast(Block, module)
            keys_values = block.attention.keys_values(block.attention_norm(hidden), rotation)
            cache.append(torch.stack(keys_values, dim=1))
            if len(cache) < len(self.blocks):
                hidden = run(block, hidden, bias, Modulation(), ALL, (), rotation)
        return torch.stack(cache, dim=1)
