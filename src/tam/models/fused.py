"""The blocks of a transformer in a few kernels each, for GPUs; see `tam.models.kernels`.

All blocks are one operation for autograd, with a first derivative only. The residual stream stays in
float32; matrix products are in bfloat16 under autocast, else in float32.

Shapes: R rows, L places, Q of them read, d width; of each block 12 · d² entries of matrices and 9 · d of
biases.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tam.models.launch import SHARES, Kernels, block_of, kept_of

_LONGEST = 128
_WIDTHS = (16, 32, 64, 128)
_NARROWEST_HEAD = 16
_MOST = 2**31  # entries of what kernels look at: they count in 32 bits
_PER_BLOCK = 14  # tensors
_HAS_TRITON = importlib.util.find_spec("triton") is not None


def can_fuse(hidden: Tensor, heads: int) -> bool:
    """Whether the kernels take these hidden states `[R, L, d]`, and are faster than plain code."""
    rows, length, width = hidden.shape
    fits = length <= _LONGEST and width in _WIDTHS and width // heads >= _NARROWEST_HEAD
    fits = fits and rows * length * 4 * width < _MOST
    return fits and hidden.is_cuda and torch.is_autocast_enabled("cuda") and _HAS_TRITON


def fused_blocks(
    hidden: Tensor,
    valid: Tensor | None,
    weights: Sequence[Tensor],
    *,
    heads: int,
    causal: bool,
    read: slice,
) -> Tensor:
    """All blocks of a transformer.

    Args:
        hidden: The vectors, `[R, L, d]`.
        valid: Which places hold tokens, `[R, L]`; the others are seen by themselves alone. None: all do.
        weights: Of each block scale and bias of its LayerNorm, weight and bias of query, key_value and out,
            scale and bias of the second LayerNorm, weight and bias of the MLP's inner and out layer.
        heads: Attention heads.
        causal: Whether a place sees none after it.
        read: The places wanted.

    Returns:
        The hidden states at the places `read`, `[R, Q, d]`.
    """
    first = read.start or 0
    last = hidden.shape[1] if read.stop is None else read.stop
    half = torch.is_autocast_enabled(hidden.device.type)
    seen = None if valid is None else valid.to(torch.uint8)
    shape = [heads, int(causal), first, last]
    return _forward(hidden.float().contiguous(), seen, *_folded(weights), shape, half)[0]


def _folded(weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Matrices `[blocks, 12 · d²]` and biases `[blocks, 9 · d]`, each LayerNorm in the matrix after it."""
    each = [torch.stack(list(weights[place::_PER_BLOCK])) for place in range(_PER_BLOCK)]
    scale, shift, w_q, b_q, w_kv, b_kv, w_o, b_o, mlp_scale, mlp_shift, w_inner, b_inner, w_out, b_out = each
    w_qkv, b_qkv = torch.cat([w_q, w_kv], dim=1), torch.cat([b_q, b_kv], dim=1)
    b_qkv = b_qkv + (w_qkv * shift.unsqueeze(1)).sum(2)
    b_inner = b_inner + (w_inner * mlp_shift.unsqueeze(1)).sum(2)
    w_qkv, w_inner = w_qkv * scale.unsqueeze(1), w_inner * mlp_scale.unsqueeze(1)
    matrices = [matrix.flatten(1) for matrix in (w_qkv, w_o, w_inner, w_out)]
    return torch.cat(matrices, dim=1), torch.cat([b_qkv, b_o, b_inner, b_out], dim=1)


@torch.library.custom_op("tam::blocks", mutates_args=())
def _forward(
    hidden: Tensor, valid: Tensor | None, matrices: Tensor, biases: Tensor, shape: list[int], half: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The hidden states read; and for the way back what was standardised, q, k, v, mixtures and matrices."""
    kernels = Kernels(hidden, valid, shape, half)
    places, width = kernels.places, kernels.width
    matrices = matrices.to(torch.bfloat16 if half else torch.float32, copy=True)
    blocks = len(matrices)
    reading = kernels.places_of(blocks - 1, blocks)[0]
    normed = matrices.new_empty((2 * blocks - 1) * places + reading, width)
    inverses = hidden.new_empty(len(normed))
    qkv = matrices.new_empty(blocks, places, 3 * width)
    mixed = matrices.new_empty((blocks - 1) * places + reading, width)
    state = hidden.view(places, width)
    for index in range(blocks):
        block = block_of(matrices[index], biases[index], width)
        which = kernels.places_of(index, blocks)
        mixtures = mixed[index * places :][: which[0]]
        kernels.project_forward(block, state, kept_of(normed, inverses, 2 * index, places), qkv[index])
        kernels("attention_forward", places, qkv[index], kernels.valid, mixtures, places, *which[1:])
        after = hidden.new_empty(which[0], width)
        kept = kept_of(normed, inverses, 2 * index + 1, places)
        kernels.mlp_forward(block, state, mixtures, kept, after, which)
        state = after
    return state.view(kernels.rows, -1, width), normed, inverses, qkv, mixed, matrices


@_forward.register_fake
def _(
    hidden: Tensor, valid: Tensor | None, matrices: Tensor, biases: Tensor, shape: list[int], half: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    rows, length, width = hidden.shape
    blocks = len(matrices)
    matrices = torch.empty_like(matrices, dtype=torch.bfloat16 if half else torch.float32)
    places, reading = rows * length, shape[3] - shape[2]
    normed = (2 * blocks - 1) * places + rows * reading
    return (
        hidden.new_empty(rows, reading, width),
        matrices.new_empty(normed, width),
        hidden.new_empty(normed),
        matrices.new_empty(blocks, places, 3 * width),
        matrices.new_empty((blocks - 1) * places + rows * reading, width),
        matrices,
    )


@torch.library.custom_op("tam::blocks_backward", mutates_args=())
def _backward(
    gradient: Tensor,
    hidden: Tensor,
    valid: Tensor | None,
    biases: Tensor,
    kept: list[Tensor],
    shape: list[int],
    wanted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the hidden states, and in shares those of matrices and biases, if wanted."""
    normed, inverses, qkv, mixed, matrices = kept
    kernels = Kernels(hidden, valid, shape, matrices.dtype == torch.bfloat16)
    places, width = kernels.places, kernels.width
    blocks = len(matrices)
    shares = SHARES if wanted else 0
    squares = hidden.new_empty(shares, blocks, 12 * width**2)
    lines = hidden.new_empty(shares, blocks, 12 * width)
    g_kept, inner, g_inner = (
        matrices.new_empty(places if wanted else 1, columns * width) for columns in (1, 4, 4)
    )
    g_mixed, g_qkv = matrices.new_empty(places, width), torch.empty_like(qkv[0])
    g_residual = hidden.new_empty(places, width)
    g = gradient.contiguous().view(-1, width)
    g_half = g.to(matrices.dtype)
    for index in reversed(range(blocks)):
        block = block_of(matrices[index], biases[index], width)
        which = kernels.places_of(index, blocks)
        kept_attention, kept_mlp = (kept_of(normed, inverses, 2 * index + place, places) for place in (0, 1))
        kernels.mlp_backward(
            block, (g, g_half), kept_mlp, (g_residual, g_kept), g_mixed, (inner, g_inner), which[0], wanted
        )
        kernels("attention_backward", places, g_mixed, qkv[index], kernels.valid, g_qkv, places, *which[1:])
        g_out = g_half
        g, g_half = hidden.new_empty(places, width), matrices.new_empty(places, width)
        kernels.project_backward(block, g_qkv, g_residual, kept_attention, (g, g_half), which)
        if wanted:
            kernels.weight_gradients(
                g_qkv, kept_attention.normed, g_kept, mixed[index * places :], g_inner, kept_mlp.normed,
                g_out, inner, squares, lines, places, which[0], index, blocks,
            )  # fmt: skip
    return g.view(hidden.shape), squares, lines


@_backward.register_fake
def _(
    gradient: Tensor,
    hidden: Tensor,
    valid: Tensor | None,
    biases: Tensor,
    kept: list[Tensor],
    shape: list[int],
    wanted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    shares, blocks, width = SHARES if wanted else 0, len(biases), hidden.shape[-1]
    squares, lines = (hidden.new_empty(shares, blocks, size) for size in (12 * width**2, 12 * width))
    return torch.empty_like(hidden), squares, lines


def _set_up(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    hidden, valid, _, biases, ctx.shape, _ = inputs
    ctx.save_for_backward(hidden, valid, biases, *output[1:])


def _differentiate(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Any, ...]:
    hidden, valid, biases, *kept = ctx.saved_tensors
    wanted = any(ctx.needs_input_grad[2:4])
    g, squares, lines = _backward(gradient, hidden, valid, biases, kept, ctx.shape, wanted)
    if not wanted:
        return g, None, None, None, None, None
    return g, None, squares.sum(0), lines.sum(0)[:, : biases.shape[1]], None, None


_forward.register_autograd(_differentiate, setup_context=_set_up)
