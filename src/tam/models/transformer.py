"""The transformer: pre-norm blocks over any sequence of vectors.

Shapes: R rows, L places, d width.
"""

from collections.abc import Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.attention import Attention, additive
from tam.models.conditioning import BlockOffsets, Modulation
from tam.models.fast.cpu_block import can_be_one, in_transform, whole_block
from tam.models.fast.gpu_blocks import can_fuse, can_see, fused_blocks, fused_prefix, fused_rows
from tam.models.fast.gpu_launch import Before
from tam.models.layers import Adapter, LayerNorm, Linear

ALL = slice(None)


def transformer_parameters(layers: int, width: int) -> int:
    """Number of parameters of a transformer without adapters."""
    attention = 4 * width * (width + 1)
    mlp = 8 * width * width + 5 * width
    norm = 2 * width
    return layers * (attention + mlp + 2 * norm) + norm


class MLP(nn.Module):
    """Two linear layers with a GELU between them, four times as wide inside."""

    def __init__(self, width: int, generator: torch.Generator, *, out_std: float):
        super().__init__()
        self.inner = Linear(width, 4 * width, generator)
        self.out = Linear(4 * width, width, generator, std=out_std)

    def forward(self, hidden: Tensor) -> Tensor:
        """Apply to each place."""
        return self.out(F.gelu(self.inner(hidden)))


class Block(nn.Module):
    """Attention and MLP, each on a normalised copy and added back, each with its adapter if there is one."""

    def __init__(
        self, width: int, heads: int, bottleneck: int | None, generator: torch.Generator, *, depth: int
    ):
        super().__init__()
        # What the 2 · depth branches add to the residual stream then sums to about unit variance.
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
        offsets: BlockOffsets,
        read: slice,
        before: Tensor | None = None,
        known: Sequence[Tensor] = (),
        *,
        fused: bool,
    ) -> Tensor:
        """Transform `[R, L, d]`, and return the places `read` alone.

        `before` are keys and values of places before those; see `Attention`. `known` is what `project` gave
        for places after those; then all places are read.
        """
        plain = self.adapters is None and offsets.norms[0] is None and before is None
        if plain and can_be_one(hidden):
            return whole_block(hidden, known, bias, self._weights, heads=self.attention.heads, read=read)
        if known:
            hidden = torch.cat([hidden, known[0]], dim=1)
        normed = self.attention_norm(hidden, offsets.norms[0])
        change = self.attention(normed[:, read], normed, bias, before, fused=fused)
        hidden = hidden[:, read] + self._adapt(0, change, offsets)
        change = self.mlp(self.mlp_norm(hidden, offsets.norms[1]))
        return hidden + self._adapt(1, change, offsets)

    def project(self, hidden: Tensor) -> list[Tensor]:
        """The vectors `[R, L, d]` themselves, and their queries, keys and values, `[R, H, L, D]` each."""
        normed = self.attention_norm(hidden)
        found = self.attention.queries(normed), *self.attention.keys_values(normed)
        return [hidden, *(part.contiguous() for part in found)]

    @property
    def _weights(self) -> list[Tensor]:
        layers = self.attention.query, self.attention.key_value, self.attention.out
        mlp = self.mlp.inner, self.mlp.out
        return [
            *(self.attention_norm.scale, self.attention_norm.bias),
            *(tensor for layer in layers for tensor in (layer.weight, layer.bias)),
            *(self.mlp_norm.scale, self.mlp_norm.bias),
            *(tensor for layer in mlp for tensor in (layer.weight, layer.bias)),
        ]

    def _adapt(self, index: int, change: Tensor, offsets: BlockOffsets) -> Tensor:
        return change if self.adapters is None else self.adapters[index](change, offsets.adapters[index])


class Transformer(nn.Module):
    """Pre-norm blocks and a final LayerNorm.

    Attributes:
        fused: Whether kernels without a second derivative may be used.
        kernels: Whether ours may be.
    """

    def __init__(
        self, *, layers: int, width: int, heads: int, bottleneck: int | None, generator: torch.Generator
    ):
        super().__init__()
        self.fused = self.kernels = False
        self._heads = heads
        self.blocks = nn.ModuleList(
            Block(width, heads, bottleneck, generator, depth=layers) for _ in range(layers)
        )
        self.norm = LayerNorm(width, generator)
        self._has_adapters = bottleneck is not None

    def forward(
        self,
        hidden: Tensor,
        mask: Tensor | None = None,
        modulation: Modulation | None = None,
        read: slice = ALL,
        prefix: Tensor | None = None,
        known: Sequence[Tensor] = (),
    ) -> Tensor:
        """Transform a sequence of vectors.

        Args:
            hidden: The vectors, `[R, L, d]`.
            mask: Which place (row) sees which (column); broadcasts to `[R, L, L]`. Each place must see
                at least one. None: all see all.
            modulation: What the tasks add to LayerNorms or adapters. Row r belongs to group ⌊r · G / R⌋.
            read: The places wanted. The last block computes these alone.
            prefix: What `prefix` returned for the places before these, which then are seen too and come
                first in the mask's columns.
            known: What `known` returned for places after these; they are the last in the mask.

        Returns:
            The hidden states at the places `read`.
        """
        modulation = Modulation() if modulation is None else modulation
        bias = None if mask is None else additive(mask, hidden.dtype).unsqueeze(-3)
        last, fused = len(self.blocks) - 1, self._may_fuse
        for index, block in enumerate(self.blocks):
            places = read if index == last else ALL
            offsets = modulation.block(index)
            before = None if prefix is None else prefix[:, index]
            of_first = known if index == 0 else ()
            hidden = block(hidden, _ask(bias, places), offsets, places, before, of_first, fused=fused)
        return self.norm(hidden, modulation.final_norm)

    def prefix(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """Keys and values of places that see none after them, for all that come after.

        Args:
            hidden: The vectors, `[R, P, d]`.
            mask: Which place (row) sees which (column), `[R, P, P]`.

        Returns:
            Those of every block, `[R, blocks, 2, H, P, D]`.
        """
        bias = additive(mask, hidden.dtype).unsqueeze(-3)
        found: list[Tensor] = []
        for module in self.blocks:
            block = cast(Block, module)
            keys_values = block.attention.keys_values(block.attention_norm(hidden))
            found.append(torch.stack(keys_values, dim=1))
            if len(found) < len(self.blocks):
                hidden = block(hidden, bias, BlockOffsets(), ALL, fused=self._may_fuse)
        return torch.stack(found, dim=1)

    def can_know(self, hidden: Tensor) -> bool:
        """Whether `forward` makes use of `known` for vectors like these."""
        return len(self.blocks) > 1 and not self._has_adapters and can_be_one(hidden)

    def known(self, hidden: Tensor) -> list[Tensor]:
        """What the first block has of each place by itself.

        Args:
            hidden: The vectors, `[R, X, d]`.

        Returns:
            These, and queries, keys and values, `[R, H, X, D]` each.
        """
        return cast(Block, self.blocks[0]).project(hidden)

    def can_fuse(self, hidden: Tensor) -> bool:
        """Whether `fused_forward` takes these vectors."""
        return self._may_fuse and self.kernels and not self._has_adapters and can_fuse(hidden, self._heads)

    def can_see(self, rows: int, places: int) -> bool:
        """Whether it takes keys and values of so many places before, for so many rows."""
        return can_see(rows, len(self.blocks), len(self.norm.scale), places)

    def fused_forward(
        self,
        hidden: Tensor,
        valid: Tensor | None,
        read: slice,
        *,
        causal: bool,
        before: Before | None = None,
    ) -> Tensor:
        """The same in kernels of our own.

        Args:
            hidden: The vectors, `[R, L, d]`.
            valid: Which places hold tokens, `[R, L]`. None: all do. The others are left out, and what is
                read there says nothing.
            read: The places wanted.
            causal: Whether a place sees none after it.
            before: What `prefix` or `fused_prefix` returned for the places before these, which then are seen,
                in float32, and how many each sequence has.
        """
        weights = self._fused_weights
        out = fused_blocks(hidden, valid, weights, heads=self._heads, causal=causal, read=read, before=before)
        return self.norm(out)

    def fused_rows(
        self,
        hidden: Tensor,
        packing: Sequence[Tensor],
        read: slice,
        *,
        causal: bool,
        before: Before | None = None,
    ) -> Tensor:
        """The same without the last LayerNorm, on rows that may be packed."""
        weights = self._fused_weights
        shape = {"heads": self._heads, "causal": causal, "read": read}
        return fused_rows(hidden, packing, weights, **shape, before=before)

    def fused_prefix(self, hidden: Tensor, valid: Tensor | None) -> Tensor:
        """The same as `prefix`, in kernels of our own.

        Args:
            hidden: The vectors, `[R, P, d]`.
            valid: Which places hold tokens, `[R, P]`. None: all do.
        """
        return fused_prefix(hidden, valid, self._fused_weights, heads=self._heads)

    @property
    def _may_fuse(self) -> bool:
        """Whether kernels may be used that have one derivative, and one set of weights for all tasks."""
        return self.fused and not in_transform()

    @property
    def _fused_weights(self) -> list[Tensor]:
        return [weight for block in self.blocks for weight in block.parameters()]


def _ask(bias: Tensor | None, places: slice) -> Tensor | None:
    """The rows of the bias that belong to the asking places."""
    return bias if bias is None or bias.shape[-2] == 1 else bias[..., places, :]
