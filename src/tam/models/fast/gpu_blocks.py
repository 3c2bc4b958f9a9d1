"""The blocks of a transformer in a few kernels each, for GPUs; see `tam.models.fast.kernels`.

All blocks are one operation for autograd, with a first derivative only. The residual stream stays in
float32; matrix products are in bfloat16 under autocast, else in float32.

Shapes: R rows, L places, Q of them read, d width, W = 12 · d² + 13 · d weights of a block.
"""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from tam.models.fast.cpu_block import of_weights
from tam.models.fast.gpu_device import Beside
from tam.models.fast.gpu_launch import (
    LONGEST,
    MOST_BEFORE,
    SHARES,
    WIDTHS,
    Before,
    Kernels,
    Projection,
    block_of,
    kept_of,
    rows_at_once,
)
from tam.models.fast.gpu_packing import Rearrange, pack

_NARROWEST_HEAD = 16
_MOST = 2**31  # entries of what kernels look at: they count in 32 bits
_PER_BLOCK = 14  # tensors
_QKV = 3  # their place in what the operation returns


def can_fuse(hidden: Tensor, heads: int) -> bool:
    """Whether the kernels take these hidden states `[R, L, d]`, and are faster than plain code."""
    rows, length, width = hidden.shape
    fits = length <= LONGEST and width in WIDTHS and width // heads >= _NARROWEST_HEAD
    fits = fits and rows * length * 4 * width < _MOST
    return fits and hidden.is_cuda and torch.is_autocast_enabled("cuda")


def can_see(rows: int, blocks: int, width: int, places: int) -> bool:
    """Whether they take what `fused_prefix` returns for so many places before those hidden states."""
    return places <= MOST_BEFORE and rows * blocks * 2 * width * places < _MOST


def fused_blocks(
    hidden: Tensor,
    valid: Tensor | None,
    weights: Sequence[Tensor],
    *,
    heads: int,
    causal: bool,
    read: slice,
    before: Before | None = None,
) -> Tensor:
    """All blocks of a transformer.

    Args:
        hidden: The vectors, `[R, L, d]`.
        valid: Which places hold tokens, `[R, L]`; the others are left out. None: all do.
        weights: Of each block scale and bias of its LayerNorm, weight and bias of query, key_value and out,
            scale and bias of the second LayerNorm, weight and bias of the MLP's inner and out layer.
        heads: Attention heads.
        causal: Whether a place sees none after it.
        read: The places wanted.
        before: What `fused_prefix` returned for the places before these, which all of these see, and how many
            each sequence has.

    Returns:
        The hidden states at the places `read`, `[R, Q, d]`, 0 where they hold no token.
    """
    rows, length, width = hidden.shape
    first = read.start or 0
    last = length if read.stop is None else read.stop
    half = torch.is_autocast_enabled(hidden.device.type)
    hidden = hidden.float().contiguous()
    seen = [] if before is None else [before.values.contiguous(), before.lengths]
    if valid is None:
        return _blocks(hidden, [], seen, weights, [heads, int(causal), first, last], half)[0]
    packing, source, place = pack(valid)
    packed = Rearrange.apply(hidden.flatten(0, 1), source, place)
    shape = [heads, int(causal), 0, length]
    out = _blocks(packed.view(hidden.shape), packing, seen, weights, shape, half)[0]
    at = source % length
    is_read = (source >= 0) & (at >= first) & (at < last)
    to = torch.where(is_read, source // length * (last - first) + at - first, -1)
    out = Rearrange.apply(out.flatten(0, 1), place.view(rows, length)[:, first:last].flatten(), to)
    return out.view(rows, last - first, width)


def fused_rows(
    hidden: Tensor,
    packing: Sequence[Tensor],
    weights: Sequence[Tensor],
    *,
    heads: int,
    causal: bool,
    read: slice,
    before: Before | None = None,
) -> Tensor:
    """All blocks of a transformer, on rows that are packed already, or all places of sequences.

    Args:
        hidden: The vectors, `[R, L, d]`, of which the first are there if they are packed.
        packing: First rows and lengths of the sequences, and the number of rows; empty if not packed.
        weights: As those of `fused_blocks`.
        heads: Attention heads.
        causal: Whether a place sees none after it.
        read: The places wanted, from a start to the end or another.
        before: As that of `fused_blocks`.

    Returns:
        The hidden states of all rows if they are packed, else of the places `read`; `[rows, d]`.
    """
    length = hidden.shape[1]
    first, last = (0, length) if packing else (read.start or 0, length if read.stop is None else read.stop)
    half = torch.is_autocast_enabled(hidden.device.type)
    seen = [] if before is None else [before.values.contiguous(), before.lengths]
    shape = [heads, int(causal), first, last]
    return _blocks(hidden, packing, seen, weights, shape, half)[0].flatten(0, 1)


def fused_prefix(hidden: Tensor, valid: Tensor | None, weights: Sequence[Tensor], *, heads: int) -> Tensor:
    """Keys and values of places that see none after them, for all that come after.

    Args:
        hidden: The vectors, `[R, X, d]`.
        valid: Which places hold tokens, `[R, X]`. None: all do.
        weights: As those of `fused_blocks`.
        heads: Attention heads.

    Returns:
        Those of every block, `[R, blocks, 2, H, X, d / H]`, in float32, 0 where there is no token.
    """
    rows, length, width = hidden.shape
    half = torch.is_autocast_enabled(hidden.device.type)
    hidden = hidden.float().contiguous()
    shape = [heads, 1, 0, 0]
    if valid is None:
        qkv = _blocks(hidden, [], [], weights, shape, half)[_QKV].transpose(0, 1)
    else:
        packing, source, place = pack(valid)
        packed = Rearrange.apply(hidden.flatten(0, 1), source, place)
        qkv = _blocks(packed.view(hidden.shape), packing, [], weights, shape, half)[_QKV]
        qkv = Rearrange.apply(qkv.transpose(0, 1).flatten(1), place, source)
    keys_values = qkv.reshape(rows, length, -1, 3, heads, width // heads)[:, :, :, 1:]
    return keys_values.permute(0, 2, 3, 4, 1, 5).float().contiguous()


def in_rows(weights: Sequence[Tensor]) -> Tensor:
    """The weights of every block, `[blocks, W]`: not copied if they stand one after another in memory."""
    blocks, place = len(weights) // _PER_BLOCK, weights[0].storage_offset()
    storage = weights[0].untyped_storage().data_ptr()
    for weight in weights:
        here = weight.untyped_storage().data_ptr() == storage and weight.storage_offset() == place
        if not here or not weight.is_contiguous():
            return torch.cat([weight.detach().flatten() for weight in weights]).view(blocks, -1)
        place += weight.numel()
    size = sum(weight.numel() for weight in weights) // blocks
    return weights[0].detach().as_strided((blocks, size), (size, 1))


def _forward(
    hidden: Tensor,
    packing: list[Tensor],
    before: list[Tensor],
    weights: list[Tensor],
    shape: list[int],
    half: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The hidden states read; for the way back what was standardised, q, k, v, mixtures and folded weights.

    Of these, q, k, v may have a gradient from elsewhere. If no place is read, the last block makes no more.
    """
    kernels = Kernels(hidden, packing, before, shape, half)
    places, width = kernels.places, kernels.width
    rows = in_rows(weights)
    blocks = len(rows)
    matrices = hidden.new_empty(blocks, 12 * width**2, dtype=torch.bfloat16 if half else torch.float32)
    biases = hidden.new_empty(blocks, 9 * width)
    kernels.fold(rows, matrices, biases)
    reading = kernels.places_of(blocks - 1, blocks)[0]
    normed = matrices.new_empty((2 * blocks - 1) * places + reading, width)
    inverses = hidden.new_empty(len(normed))
    qkv = matrices.new_empty(blocks, places, 3 * width)
    mixed = matrices.new_empty((blocks - 1) * places + reading, width)
    to = [
        Projection(
            block_of(matrices[index], biases[index], width),
            kept_of(normed, inverses, 2 * index, places),
            qkv[index],
        )
        for index in range(blocks)
    ]
    state = hidden.view(places, width)
    kernels.project_forward(state, to[0])
    for index in range(blocks):
        which = kernels.places_of(index, blocks)
        if not which[0]:
            state = hidden.new_empty(0, width)
            break
        mixtures = mixed[index * places :][: which[0]]
        kernels.attention_forward(index, qkv[index], mixtures, which)
        after = hidden.new_empty(which[0], width)
        kept = kept_of(normed, inverses, 2 * index + 1, places)
        following = to[index + 1] if index < blocks - 1 else None
        kernels.mlp_forward(to[index].block, state, mixtures, kept, after, which, following)
        state = after
    return (
        state.view(kernels.rows, kernels.last - kernels.first, width),
        normed,
        inverses,
        qkv,
        mixed,
        matrices,
        biases,
    )


class _WeightGradients:
    """Makes the gradients of a block's weights, `[blocks, W]` of all, while other work goes on."""

    def __init__(self, kernels: Kernels, weights: Tensor, to: Tensor) -> None:
        self._kernels, self._weights, self._to = kernels, weights, to
        width, self._blocks = kernels.width, len(weights)
        self._squares = to.new_empty(SHARES, self._blocks, 12 * width**2)
        self._lines = to.new_empty(SHARES, self._blocks, 12 * width)
        self._norms = to.new_empty(self._blocks, 12 * width // rows_at_once(width), 2 * width)
        self._beside = Beside(to.device)

    def make(self, block: int, which: tuple[int, int, int, int], *tensors: Tensor) -> None:
        """Start with a block, given what the kernel `weight_gradients` takes."""
        sums, number = (self._squares, self._lines), {"block": block, "blocks": self._blocks}
        with self._beside.work():
            self._kernels.weight_gradients(*tensors, *sums, which=which, **number)
            self._kernels.unfold(*sums, self._weights, self._to, self._norms, **number)

    def finish(self) -> None:
        """What is launched from here on starts once all are made."""
        with self._beside.work():
            self._kernels.norm_gradients(self._norms, self._to)
        self._beside.finish()


def _backward(
    gradient: Tensor,
    of_qkv: Tensor | None,
    hidden: Tensor,
    packing: list[Tensor],
    before: list[Tensor],
    weights: list[Tensor],
    kept: list[Tensor],
    shape: list[int],
    wanted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the hidden states, and if wanted at what is before, and of the weights `[blocks, W]`.

    `of_qkv` is what q, k, v get from elsewhere.
    """
    normed, inverses, qkv, mixed, matrices, biases = kept
    kernels = Kernels(hidden, packing, before, shape, matrices.dtype == torch.bfloat16)
    places, width = kernels.places, kernels.width
    blocks = len(matrices)
    to = _empty_gradients(hidden, before, blocks, wanted)
    of_block = _WeightGradients(kernels, in_rows(weights), to[1]) if wanted else None
    # Each block has its own, and all stay: a block's weights' gradients are made beside the next block's.
    g_kept, inner, g_inner = (
        matrices.new_empty(blocks, places if wanted else 1, columns * width) for columns in (1, 4, 4)
    )
    g_qkv, g_mixed = torch.empty_like(qkv), matrices.new_empty(places, width)
    g_residual = hidden.new_empty(places, width)
    g = gradient.contiguous().view(-1, width)
    halves = [g.to(matrices.dtype)]
    for index in reversed(range(blocks)):
        block = block_of(matrices[index], biases[index], width)
        which = kernels.places_of(index, blocks)
        kept_attention, kept_mlp = (kept_of(normed, inverses, 2 * index + place, places) for place in (0, 1))
        if which[0]:
            kernels.mlp_backward(
                block, (g, halves[-1]), kept_mlp, (g_residual, g_kept[index]), g_mixed,
                (inner[index], g_inner[index]), which[0], wanted,
            )  # fmt: skip
            kernels.attention_backward(index, g_mixed, qkv[index], (g_qkv[index], to[0]), which, wanted)
        else:
            g_qkv[index].zero_()
        if of_qkv is not None:
            g_qkv[index] += of_qkv[index]
        if of_block is not None:
            of_block.make(
                index, which, g_qkv[index], kept_attention.normed, g_kept[index], mixed[index * places :],
                g_inner[index], kept_mlp.normed, halves[-1], inner[index],
            )  # fmt: skip
        g = hidden.new_empty(places, width)
        halves.append(matrices.new_empty(places, width))
        kernels.project_backward(block, g_qkv[index], g_residual, kept_attention, (g, halves[-1]), which)
    if of_block is not None:
        of_block.finish()
    return g.view(hidden.shape), *to


def _empty_gradients(
    hidden: Tensor, before: Sequence[Tensor], blocks: int, wanted: bool
) -> tuple[Tensor, Tensor]:
    """Room for the gradients at what is before, and of the weights."""
    width, count = hidden.shape[-1], blocks if wanted else 0
    return (
        torch.empty_like(before[0]) if before and wanted else hidden.new_empty(0),
        hidden.new_empty(count, 12 * width**2 + 13 * width),
    )


class _Blocks(torch.autograd.Function):
    """All blocks as one operation; a first derivative only."""

    @staticmethod
    def forward(
        ctx: Any, shape: list[int], half: bool, counts: tuple[int, int, int], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        """`tensors`: the hidden states, and so many of what packs them, what is before, and weights."""
        (hidden,), packing, before, weights = _apart(tensors, counts)
        output = _forward(hidden, packing, before, weights, shape, half)
        ctx.shape, ctx.counts = shape, counts
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(kept for place, kept in enumerate(output) if place not in (0, _QKV)))
        ctx.save_for_backward(*tensors, *output[1:])
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        """The gradients of hidden states, of what is before, and of weights."""
        saved = ctx.saved_tensors
        (hidden,), packing, before, weights = _apart(saved, ctx.counts)
        kept = list(saved[1 + sum(ctx.counts) :])
        gradient, of_qkv = gradients[0], gradients[_QKV]
        if gradient is None:
            rows, width = hidden.shape[0], hidden.shape[2]
            gradient = hidden.new_zeros(rows, ctx.shape[3] - ctx.shape[2], width)
        wanted = of_weights() and any(ctx.needs_input_grad[4:])
        g, g_before, g_weights = _backward(
            gradient, of_qkv, hidden, packing, before, weights, kept, ctx.shape, wanted
        )
        nothing = [None] * len(packing)
        if not wanted:
            return None, None, None, g, *nothing, *[None] * len(before), *[None] * len(weights)
        parts = g_weights.flatten().split([weight.numel() for weight in weights])
        shaped = [part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]
        return None, None, None, g, *nothing, *([g_before, None] if before else []), *shaped


def _apart(tensors: Sequence[Tensor], counts: tuple[int, int, int]) -> list[list[Tensor]]:
    """The hidden states, what packs them, what is before, and the weights."""
    each = iter(tensors)
    return [list(islice(each, count)) for count in (1, *counts)]


def _blocks(
    hidden: Tensor,
    packing: Sequence[Tensor],
    before: Sequence[Tensor],
    weights: Sequence[Tensor],
    shape: list[int],
    half: bool,
) -> tuple[Tensor, ...]:
    """What `_forward` returns, with derivatives."""
    counts = (len(packing), len(before), len(weights))
    return _Blocks.apply(shape, half, counts, hidden, *packing, *before, *weights)
