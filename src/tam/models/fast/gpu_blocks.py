"""Transformer blocks with a few kernels each, for GPUs; see `tam.models.fast.kernels`.

All blocks are one autograd operation, with a first derivative only. The residual stream stays in float32;
matrix products are in bfloat16 under autocast, else in float32.

Shapes: R rows, L places, Q of them read, X cached places, d width, W = 12 · d² + 13 · d weights of a block.
"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tam.models.attention import Mask
from tam.models.fast.context import check_first_derivative, wants_weight_gradients
from tam.models.fast.gpu_device import SideStream
from tam.models.fast.gpu_launch import (
    MOST_CACHED,
    MOST_PLACES,
    SHARES,
    WIDTHS,
    Kernels,
    Places,
    Projection,
    XCache,
    block_of,
    kept_of,
    rows_per_fold,
)
from tam.models.fast.gpu_packing import Rearrange, pack
from tam.models.fast.weights import PER_BLOCK

if TYPE_CHECKING:
    from tam.models.transformer import Transformer

_NARROWEST_HEAD = 16
_MOST = 2**31  # entries of a tensor: kernels index in 32 bits
_QKV = 3  # index of q, k and v in the outputs of the operation


def takes(network: "Transformer", hidden: Tensor, mask: Mask, x_cache: Sequence[Tensor] = ()) -> bool:
    """Whether the kernels support these hidden states `[R, L, d]`, and are faster than plain code."""
    rows, length, width = hidden.shape
    cached = x_cache[0].shape[4] if x_cache else 0  # these come first, and every other place sees them anyway
    fits = length <= MOST_PLACES and width in WIDTHS and width // network.heads >= _NARROWEST_HEAD
    fits = fits and rows * length * 4 * width < _MOST and mask.front <= cached
    fits = fits and takes_cache(network, rows, cached)
    return fits and torch.is_autocast_enabled("cuda")


def takes_cache(network: "Transformer", rows: int, places: int) -> bool:
    """Whether the kernels support cached keys and values of this number of places."""
    size = rows * len(network.blocks) * 2 * len(network.norm.scale) * places
    return places <= MOST_CACHED and size < _MOST


def transform(
    network: "Transformer", hidden: Tensor, mask: Mask, read: slice, x_cache: Sequence[Tensor] = ()
) -> Tensor:
    """See `tam.models.fast.engine.transform`. Results in padding are undefined."""
    rows, length, width = hidden.shape
    first, last = _bounds(read, length)
    cache = None
    if x_cache:
        places = x_cache[0].shape[4]
        lengths = mask.seen[:, :places].sum(1, dtype=torch.int32)
        cache = XCache(x_cache[0].float(), lengths)
        mask = mask._replace(seen=mask.seen[:, places:])
    hidden = hidden.float().contiguous()
    if mask.valid is None:
        out = run(network, hidden, [], read, causal=mask.causal, x_cache=cache)
    else:
        packing, source, place = pack(mask.valid)
        packed = Rearrange.apply(hidden.flatten(0, 1), source, place).view(hidden.shape)
        out = run(network, packed, packing, read, causal=mask.causal, x_cache=cache)
        at = source % length
        is_read = (source >= 0) & (at >= first) & (at < last)
        to = torch.where(is_read, source // length * (last - first) + at - first, -1)
        out = Rearrange.apply(out, place.view(rows, length)[:, first:last].flatten(), to)
    return network.norm(out.view(rows, last - first, width))


def run(
    network: "Transformer",
    hidden: Tensor,
    packing: Sequence[Tensor],
    read: slice,
    *,
    causal: bool,
    x_cache: XCache | None = None,
) -> Tensor:
    """Compute all blocks, without the final LayerNorm, on packed rows or on all places of sequences.

    Args:
        network: The transformer.
        hidden: The vectors, `[R, L, d]`, in float32; if they are packed, only the first ones are used.
        packing: First rows and lengths of the sequences, and the number of rows; empty if not packed.
        read: The range of places to return.
        causal: Whether a place does not see later places.
        x_cache: Keys and values of x, which comes before these places and is seen by all of them.

    Returns:
        The hidden states of all rows if they are packed, else of the places `read`; `[rows, d]`.
    """
    length = hidden.shape[1]
    shape = [network.heads, int(causal), *((0, length) if packing else _bounds(read, length))]
    cache = [] if x_cache is None else [x_cache.keys_values.contiguous(), x_cache.lengths]
    return _blocks(network, hidden, packing, cache, shape)[0].flatten(0, 1)


def keys_values(network: "Transformer", hidden: Tensor, valid: Tensor | None) -> Tensor:
    """See `Transformer.x_cache`; the mask is causal, and places that are not `valid` get 0."""
    rows, length, width = hidden.shape
    hidden, shape = hidden.float().contiguous(), [network.heads, 1, 0, 0]
    if valid is None:
        qkv = _blocks(network, hidden, [], [], shape)[_QKV].transpose(0, 1)
    else:
        packing, source, place = pack(valid)
        packed = Rearrange.apply(hidden.flatten(0, 1), source, place)
        qkv = _blocks(network, packed.view(hidden.shape), packing, [], shape)[_QKV]
        qkv = Rearrange.apply(qkv.transpose(0, 1).flatten(1), place, source)
    keys_values = qkv.reshape(rows, length, -1, 3, network.heads, width // network.heads)[:, :, :, 1:]
    return keys_values.permute(0, 2, 3, 4, 1, 5).float().contiguous()


def _bounds(read: slice, length: int) -> tuple[int, int]:
    return read.start or 0, length if read.stop is None else read.stop


def in_rows(weights: Sequence[Tensor]) -> Tensor:
    """The weights of every block, `[blocks, W]`; not copied if they are contiguous in memory."""
    blocks, place = len(weights) // PER_BLOCK, weights[0].storage_offset()
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
    x_cache: list[Tensor],
    weights: list[Tensor],
    shape: list[int],
    half: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return the hidden states read, and what is kept for the backward pass.

    That is: standardised vectors, q, k and v, outputs of attention, folded weights. q, k and v may have a
    gradient of their own. If no place is read, the last block computes nothing after them.
    """
    kernels = Kernels(hidden, packing, x_cache, shape, half)
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
        if not which.number:
            state = hidden.new_empty(0, width)
            break
        mixtures = mixed[index * places :][: which.number]
        kernels.attention_forward(index, qkv[index], mixtures, which)
        after = hidden.new_empty(which.number, width)
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
    """Computes the weight gradients of all blocks, `[blocks, W]`, on a second stream."""

    def __init__(self, kernels: Kernels, weights: Tensor, to: Tensor) -> None:
        self._kernels, self._weights, self._to = kernels, weights, to
        width, self._blocks = kernels.width, len(weights)
        self._squares = to.new_empty(SHARES, self._blocks, 12 * width**2)
        self._lines = to.new_empty(SHARES, self._blocks, 12 * width)
        self._norms = to.new_empty(self._blocks, 12 * width // rows_per_fold(width), 2 * width)
        self._side = SideStream(to.device)

    def make(self, block: int, which: Places, *tensors: Tensor) -> None:
        """Start the computation for a block, with the inputs of the kernel `weight_gradients`."""
        sums, number = (self._squares, self._lines), {"block": block, "blocks": self._blocks}
        with self._side.work():
            self._kernels.weight_gradients(*tensors, *sums, which=which, **number)
            self._kernels.unfold(*sums, self._weights, self._to, self._norms, **number)

    def finish(self) -> None:
        """Make everything launched from now on wait for the gradients."""
        with self._side.work():
            self._kernels.norm_gradients(self._norms, self._to)
        self._side.finish()


def _backward(
    gradient: Tensor,
    of_qkv: Tensor | None,
    hidden: Tensor,
    packing: list[Tensor],
    x_cache: list[Tensor],
    weights: list[Tensor],
    kept: list[Tensor],
    shape: list[int],
    wanted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of the hidden states, and if `wanted` of cached x and the weights `[blocks, W]`.

    `of_qkv` is the gradient that q, k and v have of their own.
    """
    normed, inverses, qkv, mixed, matrices, biases = kept
    kernels = Kernels(hidden, packing, x_cache, shape, matrices.dtype == torch.bfloat16)
    places, width = kernels.places, kernels.width
    blocks = len(matrices)
    to = (
        torch.empty_like(x_cache[0]) if x_cache and wanted else hidden.new_empty(0),
        hidden.new_empty(blocks if wanted else 0, 12 * width**2 + 13 * width),
    )
    of_block = _WeightGradients(kernels, in_rows(weights), to[1]) if wanted else None
    # Not reused across blocks: a block's weight gradients are computed while the next block runs.
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
        if which.number:
            kernels.mlp_backward(
                block, (g, halves[-1]), kept_mlp, (g_residual, g_kept[index]), g_mixed,
                (inner[index], g_inner[index]), which.number, wanted,
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


class _Blocks(torch.autograd.Function):
    """All blocks as one operation; a first derivative only."""

    @staticmethod
    def forward(
        ctx: Any, shape: list[int], half: bool, counts: tuple[int, int, int], *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        """`tensors`: the hidden states, then `counts` tensors of packing, cached x and weights."""
        (hidden,), packing, x_cache, weights = _split(tensors, counts)
        output = _forward(hidden, packing, x_cache, weights, shape, half)
        ctx.shape, ctx.counts = shape, counts
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(kept for place, kept in enumerate(output) if place not in (0, _QKV)))
        ctx.save_for_backward(*tensors, *output[1:])
        return output

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Any, ...]:
        """The gradients of the hidden states, cached x and the weights."""
        check_first_derivative()
        saved = ctx.saved_tensors
        (hidden,), packing, x_cache, weights = _split(saved, ctx.counts)
        kept = list(saved[1 + sum(ctx.counts) :])
        gradient, of_qkv = gradients[0], gradients[_QKV]
        if gradient is None and of_qkv is None:
            return (None,) * (4 + sum(ctx.counts))
        if gradient is None:
            rows, width = hidden.shape[0], hidden.shape[2]
            gradient = hidden.new_zeros(rows, ctx.shape[3] - ctx.shape[2], width)
        wanted = wants_weight_gradients() and any(ctx.needs_input_grad[4:])
        g, g_cache, g_weights = _backward(
            gradient, of_qkv, hidden, packing, x_cache, weights, kept, ctx.shape, wanted
        )
        first = None, None, None, g, *[None] * len(packing)
        if not wanted:
            return *first, *[None] * len(x_cache), *[None] * len(weights)
        parts = g_weights.flatten().split([weight.numel() for weight in weights])
        shaped = [part.view(weight.shape) for part, weight in zip(parts, weights, strict=True)]
        return *first, *([g_cache, None] if x_cache else []), *shaped


def _split(tensors: Sequence[Tensor], counts: tuple[int, int, int]) -> list[list[Tensor]]:
    """The hidden states, their packing, cached x, and the weights."""
    each = iter(tensors)
    return [list(islice(each, count)) for count in (1, *counts)]


def _blocks(
    network: "Transformer",
    hidden: Tensor,
    packing: Sequence[Tensor],
    x_cache: Sequence[Tensor],
    shape: list[int],
) -> tuple[Tensor, ...]:
    """`_forward`, with a derivative."""
    weights = list(network.blocks.parameters())
    counts = (len(packing), len(x_cache), len(weights))
    half = torch.is_autocast_enabled(hidden.device.type)
    return _Blocks.apply(shape, half, counts, hidden, *packing, *x_cache, *weights)
