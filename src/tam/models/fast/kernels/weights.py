"""Folding LayerNorms into a block's weights, and the gradients of weights."""

import triton
import triton.language as tl

from tam.models.fast.kernels.parts import dot


@triton.jit(do_not_specialize=["P_attention", "P_mlp", "block", "blocks"])
def weight_gradients(
    g_qkv, x_attention, g_attention, mixed, g_inner, x_mlp, g_mlp, inner, weights, biases,
    P_attention, P_mlp, block, blocks,
    D: tl.constexpr, span: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Gᵀ X and Gᵀ 1 of the block's linear layers, over a share of the places.

    The gradients are twelve squares of D × D: three of W_qkv, one of W_o, four of W₁, four of W₂. A program
    computes one square for one share; the shares are added up afterwards, in a fixed order.
    """
    square, share, shares = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    if packed:
        P_attention, P_mlp = tl.load(P_attention), tl.load(P_mlp)
    if square < 3:
        g, x, g_width, x_width, g_first, x_first, P = g_qkv, x_attention, 3 * D, D, square * D, 0, P_attention
    elif square == 3:
        g, x, g_width, x_width, g_first, x_first, P = g_attention, mixed, D, D, 0, 0, P_mlp
    elif square < 8:
        g, x, g_width, x_width, g_first, x_first, P = g_inner, x_mlp, 4 * D, D, (square - 4) * D, 0, P_mlp
    else:
        g, x, g_width, x_width, g_first, x_first, P = g_mlp, inner, D, 4 * D, 0, (square - 8) * D, P_mlp
    size = tl.cdiv(tl.cdiv(P, shares), span) * span
    start = share * size
    end = tl.minimum(start + size, P)
    column = tl.arange(0, D)
    total = tl.zeros((D, D), tl.float32)
    ones = tl.full((span, 16), 1.0, dtype)
    bias = tl.zeros((D, 16), tl.float32)
    for at in range(start, end, span):
        row = (at + tl.arange(0, span))[:, None]
        inside = row < end
        a = tl.load(g + row * g_width + g_first + column[None, :], mask=inside, other=0.0)
        b = tl.load(x + row * x_width + x_first + column[None, :], mask=inside, other=0.0)
        total += dot(tl.trans(a), b, dtype)
        bias += dot(tl.trans(a), ones, dtype)
    if square < 8:
        to = square * D * D + column[:, None] * D + column[None, :]
    else:
        to = 8 * D * D + column[:, None] * (4 * D) + (square - 8) * D + column[None, :]
    share = share * blocks + block
    tl.store(weights + share * (12 * D * D) + to, total)
    tl.store(biases + (share * 12 + square) * D + column, tl.sum(bias, 1) / 16)


@triton.jit
def _of_layer(row, of_q, of_kv, of_o, of_inner, of_out, D: tl.constexpr):
    """Select by the layer that a row belongs to.

    The matrices are 12 · D rows of D: W_q, W_kv, W_o, W₁, and W₂, each of whose rows is split into four.
    """
    of_mlp = tl.where(row < 8 * D, of_inner, of_out)
    return tl.where(row < D, of_q, tl.where(row < 3 * D, of_kv, tl.where(row < 4 * D, of_o, of_mlp)))


@triton.jit
def _starts_of(row, D: tl.constexpr):
    """Offsets of matrix row 0 and bias 0 in a block's weights, extrapolated from the layer of `row`.

    The weights are a LayerNorm's scale and shift, W_q, b_q, W_kv, b_kv, W_o, b_o, scale and shift, W₁, b₁,
    W₂, b₂.
    """
    vectors = _of_layer(row, 2, 3, 5, 8, 12, D)  # before the matrix
    first, end = _of_layer(row, 0, 1, 3, 4, 8, D), _of_layer(row, 1, 3, 4, 8, 12, D)  # of its rows, over D
    return vectors * D, (vectors + end * D - first) * D


@triton.jit
def _norm_before(row, D: tl.constexpr):
    """Whether a LayerNorm comes before a row's layer, and the offset of its scale in the weights."""
    return (row < 3 * D) | ((row >= 4 * D) & (row < 8 * D)), tl.where(row < 4 * D, 0, 4 * D * D + 6 * D)


@triton.jit
def fold(weights, folded, biases, span: tl.constexpr, D: tl.constexpr, dtype: tl.constexpr):
    """W · scale and b + W · shift of a block's linear layers, where a LayerNorm comes before."""
    start, block, column = tl.program_id(0) * span, tl.program_id(1), tl.arange(0, D)
    row = start + tl.arange(0, span)
    at = row[:, None] * D + column[None, :]
    weights += block * (12 * D * D + 13 * D)
    matrix, vector = _starts_of(start, D)
    w = tl.load(weights + matrix + at)
    bias = tl.load(weights + vector + row, mask=row < 9 * D, other=0.0)
    normed, norm = _norm_before(start, D)
    if normed:
        bias += tl.sum(w * tl.load(weights + norm + D + column)[None, :], 1)
        w *= tl.load(weights + norm + column)[None, :]
    tl.store(folded + block * (12 * D * D) + at, w.to(dtype))
    tl.store(biases + block * (9 * D) + row, bias, mask=row < 9 * D)


@triton.jit(do_not_specialize=["shares", "block", "blocks"])
def unfold(
    squares, lines, weights, g_weights, g_norms, shares, block, blocks,
    span: tl.constexpr, D: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """A block's weight gradients from shares of those of the folded weights; partial sums for LayerNorms."""
    tile, tiles, column = tl.program_id(0), tl.num_programs(0), tl.arange(0, D)
    start = tile * span
    row = start + tl.arange(0, span)
    at = row[:, None] * D + column[None, :]
    total, line = tl.zeros((span, D), tl.float32), tl.zeros((span,), tl.float32)
    for share in range(shares):
        first = share * blocks + block
        total += tl.load(squares + first * (12 * D * D) + at)
        line += tl.load(lines + first * (12 * D) + row)
    weights += block * (12 * D * D + 13 * D)
    g_weights += block * (12 * D * D + 13 * D)
    matrix, vector = _starts_of(start, D)
    tl.store(g_weights + vector + row, line, mask=row < 9 * D)
    normed, norm = _norm_before(start, D)
    if normed:
        w = tl.load(weights + matrix + at)
        to = g_norms + (block * tiles + tile) * (2 * D) + column
        tl.store(to, tl.sum(total * w, 0))
        tl.store(to + D, tl.sum(line[:, None] * w, 0))
        scale = weights + norm + column
        total = total * tl.load(scale)[None, :] + line[:, None] * tl.load(scale + D)[None, :]
    tl.store(g_weights + matrix + at, total)


@triton.jit
def norm_gradients(g_norms, g_weights, tiles, span: tl.constexpr, D: tl.constexpr, dtype: tl.constexpr):
    """The gradients of scale and shift of a block's first or second LayerNorm: sums of parts by `unfold`."""
    block, second, column = tl.program_id(0), tl.program_id(1), tl.arange(0, 2 * D)
    each: tl.constexpr = D // span
    total = tl.zeros((2 * D,), tl.float32)
    for tile in range(second * 4 * each, (3 + second * 5) * each):
        total += tl.load(g_norms + (block * tiles + tile) * (2 * D) + column)
    tl.store(g_weights + block * (12 * D * D + 13 * D) + second * (4 * D * D + 6 * D) + column, total)
