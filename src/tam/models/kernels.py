"""Triton kernels of a transformer block for short sequences. Where there is no Triton, nothing imports this.

A block is three kernels: to queries, keys and values; attention; and from there through the MLP to the
next block. The first and the last look at places one by one. Attention holds whole sequences on chip: a
tile of `span` places is ⌊span / L⌋ sequences, and scores are taken over the whole tile at once, on the
matrix units, under a mask that is true inside a sequence only. The backward kernels compute again what
the forward ones did not keep, and leave behind what the weights' gradients are made of.

Shapes: P places in all, L places of a sequence, D width, H heads, E = D / H.
"""

# Parameters of kernels are pointers, numbers and constants of the compiler; types have no place for that.
# pyright: reportMissingImports=false, reportMissingParameterType=false, reportUnknownParameterType=false
# pyright: reportMissingTypeStubs=false, reportPossiblyUnboundVariable=false, reportOperatorIssue=false
# pyright: reportArgumentType=false, reportIndexIssue=false, reportAttributeAccessIssue=false
# pyright: reportCallIssue=false, reportOptionalSubscript=false, reportGeneralTypeIssues=false
# pyright: reportReturnType=false

import triton
import triton.language as tl


@triton.jit
def _dot(a, b, dtype: tl.constexpr):
    return tl.dot(a.to(dtype), b.to(dtype), input_precision="ieee")


@triton.jit
def _inverse_deviation(centred, D: tl.constexpr):
    return tl.rsqrt(tl.sum(centred * centred, 1) / D + 1e-5)[:, None]


@triton.jit
def _centred(h, D: tl.constexpr):
    return h - (tl.sum(h, 1) / D)[:, None]


@triton.jit
def _norm(h, scale, shift, D: tl.constexpr):
    """LayerNorm."""
    column = tl.arange(0, D)
    centred = _centred(h, D)
    x_hat = centred * _inverse_deviation(centred, D)
    return x_hat * tl.load(scale + column)[None, :] + tl.load(shift + column)[None, :]


@triton.jit
def _norm_backward(g, h, scale, inside, lines, weights: tl.constexpr, D: tl.constexpr):
    """The gradient before LayerNorm, given the one after it; those of scale and shift go to `lines`."""
    column = tl.arange(0, D)
    centred = _centred(h, D)
    inverse = _inverse_deviation(centred, D)
    x_hat = centred * inverse
    if weights:
        tl.store(lines + column, tl.sum(tl.where(inside, g * x_hat, 0.0), 0))
        tl.store(lines + D + column, tl.sum(tl.where(inside, g, 0.0), 0))
    g = g * tl.load(scale + column)[None, :]
    along = tl.sum(g * x_hat, 1) / D
    return (_centred(g, D) - x_hat * along[:, None]) * inverse


@triton.jit
def _normal(a):
    """Distribution and density of the standard normal: GELU is a · Φ(a), its slope Φ(a) + a · φ(a).

    Φ by Abramowitz and Stegun 7.1.26, off by 1e-7 at most: it needs φ, which is needed anyway.
    """
    bell = tl.exp(-0.5 * a * a)
    t = 1.0 / (1.0 + 0.23164190 * tl.abs(a))
    tail = t * (0.127414796 + t * (-0.142248368 + t * (0.710706871 + t * (-0.726576014 + t * 0.530702715))))
    tail *= bell
    return tl.where(a < 0, tail, 1.0 - tail), bell * 0.3989422804014327


@triton.jit
def project_forward(
    h_in, scale, shift, w_qkv, b_qkv, qkv, P, span: tl.constexpr, D: tl.constexpr, dtype: tl.constexpr
):
    """Queries, keys and values of LayerNorm(h)."""
    row, column = (tl.program_id(0) * span + tl.arange(0, span)).to(tl.int64)[:, None], tl.arange(0, D)
    inside = row < P
    h = tl.load(h_in + row * D + column[None, :], mask=inside, other=0.0)
    x = _norm(h, scale, shift, D).to(dtype)
    for part in range(3):
        unit = part * D + column
        y = _dot(x, tl.load(w_qkv + unit[None, :] * D + column[:, None]), dtype)
        y += tl.load(b_qkv + unit)[None, :]
        tl.store(qkv + row * (3 * D) + unit[None, :], y.to(dtype), mask=inside)


@triton.jit
def project_backward(
    g_qkv, g_residual, h_in, scale, shift, w_qkv, g_in, x_kept, lines, P, L, first, Q,
    span: tl.constexpr, D: tl.constexpr, weights: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradient at h, given those at queries, keys and values and the one that passes by."""
    tile = tl.program_id(0)
    row, column = (tile * span + tl.arange(0, span))[:, None], tl.arange(0, D)
    inside = row < P
    source, read = _among_read(row, L, first, Q)
    row = row.to(tl.int64)
    at = row * D + column[None, :]
    g_x = tl.zeros((span, D), tl.float32)
    for part in range(3):
        unit = part * D + column
        g = tl.load(g_qkv + row * (3 * D) + unit[None, :], mask=inside, other=0.0)
        g_x += _dot(g, tl.load(w_qkv + unit[:, None] * D + column[None, :]), dtype)
    h = tl.load(h_in + at, mask=inside, other=0.0)
    if weights:
        tl.store(x_kept + at, _norm(h, scale, shift, D).to(dtype), mask=inside)
    g_h = _norm_backward(g_x, h, scale, inside, lines + tile * 4 * D, weights, D)
    g_h += tl.load(g_residual + source * D + column[None, :], mask=inside & read, other=0.0)
    tl.store(g_in + at, g_h, mask=inside)


@triton.jit
def _seen(tile, valid, P, L, span: tl.constexpr, masked: tl.constexpr, causal: tl.constexpr):
    """Which places of a tile (rows) see which (columns)."""
    place = tl.arange(0, span)
    sequence = place // L
    seen = sequence[:, None] == sequence[None, :]
    itself = place[:, None] == place[None, :]
    if causal:
        seen = seen & (place[None, :] <= place[:, None])
    if masked:
        at = tile * (span // L) * L + place
        token = tl.load(valid + at, mask=at < P, other=0) != 0
        seen = seen & token[None, :]
    return seen | itself


@triton.jit
def _mixture(q, k, seen, E: tl.constexpr, dtype: tl.constexpr):
    """The weights with which each place takes from the others."""
    scores = _dot(q, tl.trans(k), dtype) * (E**-0.5)
    scores = tl.where(seen, scores, float("-inf"))
    scores = tl.exp(scores - tl.max(scores, 1)[:, None])
    return scores / tl.sum(scores, 1)[:, None]


@triton.jit
def attention_forward(
    qkv, valid, mixed, P, L,
    span: tl.constexpr, D: tl.constexpr, H: tl.constexpr, masked: tl.constexpr, causal: tl.constexpr,
    dtype: tl.constexpr,
):  # fmt: skip
    """Each place takes a mixture of the values that it may see."""
    E: tl.constexpr = D // H
    tile = tl.program_id(0)
    place, head = tl.arange(0, span), tl.arange(0, E)
    count = (span // L) * L
    row = (tile * count + place).to(tl.int64)[:, None]
    inside = (place < count)[:, None] & (row < P)
    seen = _seen(tile, valid, P, L, span, masked, causal)
    for index in range(H):
        at = qkv + row * (3 * D) + (index * E + head)[None, :]
        q = tl.load(at, mask=inside, other=0.0)
        k = tl.load(at + D, mask=inside, other=0.0)
        v = tl.load(at + 2 * D, mask=inside, other=0.0)
        o = _dot(_mixture(q, k, seen, E, dtype), v, dtype)
        tl.store(mixed + row * D + (index * E + head)[None, :], o.to(dtype), mask=inside)


@triton.jit
def attention_backward(
    g_mixed, qkv, valid, g_qkv, P, L, first, Q,
    span: tl.constexpr, D: tl.constexpr, H: tl.constexpr, masked: tl.constexpr, causal: tl.constexpr,
    dtype: tl.constexpr,
):  # fmt: skip
    """The gradients at queries, keys and values."""
    E: tl.constexpr = D // H
    tile = tl.program_id(0)
    place, head = tl.arange(0, span), tl.arange(0, E)
    count = (span // L) * L
    row = (tile * count + place)[:, None]
    inside = (place < count)[:, None] & (row < P)
    source, read = _among_read(row, L, first, Q)
    row = row.to(tl.int64)
    seen = _seen(tile, valid, P, L, span, masked, causal)
    for index in range(H):
        part = index * E + head
        at = row * (3 * D) + part[None, :]
        q = tl.load(qkv + at, mask=inside, other=0.0)
        k = tl.load(qkv + at + D, mask=inside, other=0.0)
        v = tl.load(qkv + at + 2 * D, mask=inside, other=0.0)
        g = tl.load(g_mixed + source * D + part[None, :], mask=inside & read, other=0.0)
        p = _mixture(q, k, seen, E, dtype)
        g_v = _dot(tl.trans(p.to(dtype)), g, dtype)
        g_p = _dot(g, tl.trans(v), dtype)
        along = tl.sum(g_p * p, 1)
        g_scores = (p * (g_p - along[:, None]) * (E**-0.5)).to(dtype)
        g_q = _dot(g_scores, k, dtype)
        g_k = _dot(tl.trans(g_scores), q, dtype)
        tl.store(g_qkv + at, g_q.to(dtype), mask=inside)
        tl.store(g_qkv + at + D, g_k.to(dtype), mask=inside)
        tl.store(g_qkv + at + 2 * D, g_v.to(dtype), mask=inside)


@triton.jit
def _among_all(row, L, first, Q):
    """Where the rows stand among all places, being the places `first` … `first + Q` of every sequence."""
    return (row // Q * L + first + row % Q).to(tl.int64)


@triton.jit
def _among_read(row, L, first, Q):
    """Where the rows, being all places, stand among those read; and which of them are read."""
    place = row % L - first
    return (row // L * Q + place).to(tl.int64), (place >= 0) & (place < Q)


@triton.jit
def mlp_forward(
    h_in, mixed, w_o, b_o, scale, shift, w_inner, b_inner, w_out, b_out, h_kept, h_out, P, L, first, Q,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """From the mixtures through the MLP, of the places `first` … `first + Q` of every sequence."""
    to, column = (tl.program_id(0) * span + tl.arange(0, span))[:, None], tl.arange(0, D)
    inside = to < P
    at = _among_all(to, L, first, Q) * D + column[None, :]
    m = tl.load(mixed + at, mask=inside, other=0.0)
    h = tl.load(h_in + at, mask=inside, other=0.0) + tl.load(b_o + column)[None, :]
    h += _dot(m, tl.load(w_o + column[None, :] * D + column[:, None]), dtype)
    to = to.to(tl.int64)
    tl.store(h_kept + to * D + column[None, :], h, mask=inside)
    x = _norm(h, scale, shift, D).to(dtype)
    h += tl.load(b_out + column)[None, :]
    for start in range(0, 4 * D, part):
        unit = start + tl.arange(0, part)
        a = _dot(x, tl.load(w_inner + unit[None, :] * D + column[:, None]), dtype)
        a += tl.load(b_inner + unit)[None, :]
        below, _density = _normal(a)
        h += _dot(a * below, tl.load(w_out + column[None, :] * (4 * D) + unit[:, None]), dtype)
    tl.store(h_out + to * D + column[None, :], h, mask=inside)


@triton.jit
def mlp_backward(
    g_out, h_kept, w_o, scale, shift, w_inner, b_inner, w_out,
    g_in, g_mixed, g_kept, x_kept, inner_kept, g_inner, g_out_kept, lines, P,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr, weights: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradients before the MLP, on the residual stream and at the mixtures."""
    tile = tl.program_id(0)
    row, column = (tile * span + tl.arange(0, span)).to(tl.int64)[:, None], tl.arange(0, D)
    inside = row < P
    at = row * D + column[None, :]
    x = _norm(tl.load(h_kept + at, mask=inside, other=0.0), scale, shift, D).to(dtype)
    g = tl.load(g_out + at, mask=inside, other=0.0).to(dtype)
    if weights:
        tl.store(x_kept + at, x, mask=inside)
        tl.store(g_out_kept + at, g, mask=inside)
    g_x = tl.zeros((span, D), tl.float32)
    for start in range(0, 4 * D, part):
        unit = start + tl.arange(0, part)
        a = _dot(x, tl.load(w_inner + unit[None, :] * D + column[:, None]), dtype)
        a += tl.load(b_inner + unit)[None, :]
        below, density = _normal(a)
        slope = below + a * density
        g_a = _dot(g, tl.load(w_out + column[:, None] * (4 * D) + unit[None, :]), dtype) * slope
        if weights:
            tl.store(inner_kept + row * (4 * D) + unit[None, :], (a * below).to(dtype), mask=inside)
            tl.store(g_inner + row * (4 * D) + unit[None, :], g_a.to(dtype), mask=inside)
        g_x += _dot(g_a, tl.load(w_inner + unit[:, None] * D + column[None, :]), dtype)
    h = tl.load(h_kept + at, mask=inside, other=0.0)
    g_h = _norm_backward(g_x, h, scale, inside, lines + (tile * 4 + 2) * D, weights, D)
    g_h += tl.load(g_out + at, mask=inside, other=0.0)
    tl.store(g_in + at, g_h, mask=inside)
    g = g_h.to(dtype)
    if weights:
        tl.store(g_kept + at, g, mask=inside)
    y = _dot(g, tl.load(w_o + column[:, None] * D + column[None, :]), dtype)
    tl.store(g_mixed + at, y.to(dtype), mask=inside)


@triton.jit
def weight_gradients(
    g_qkv, x_attention, g_attention, mixed, g_inner, x_mlp, g_mlp, inner, weights, biases,
    P_attention, P_mlp, L, first, Q, D: tl.constexpr, span: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Gᵀ X and Gᵀ 1 of the block's linear layers, over a share of the places.

    The gradients are twelve squares of D × D: three of W_qkv, W_o, four of W₁ and four of W₂. A program
    makes one square of one share; the shares are added up afterwards, in a fixed order.
    """
    square, share, shares = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    step, place, width = 1, 0, 1
    if square < 3:
        g, x, g_width, x_width, g_first, x_first, P = g_qkv, x_attention, 3 * D, D, square * D, 0, P_attention
    elif square == 3:
        g, x, g_width, x_width, g_first, x_first, P = g_attention, mixed, D, D, 0, 0, P_mlp
        step, place, width = L, first, Q
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
        source = _among_all(row, step, place, width)
        a = tl.load(g + row.to(tl.int64) * g_width + g_first + column[None, :], mask=inside, other=0.0)
        b = tl.load(x + source * x_width + x_first + column[None, :], mask=inside, other=0.0)
        total += _dot(tl.trans(a), b, dtype)
        bias += _dot(tl.trans(a), ones, dtype)
    if square < 8:
        to = square * D * D + column[:, None] * D + column[None, :]
    else:
        to = 8 * D * D + column[:, None] * (4 * D) + (square - 8) * D + column[None, :]
    tl.store(weights + share * (12 * D * D) + to, total)
    tl.store(biases + (share * 12 + square) * D + column, tl.sum(bias, 1) / 16)
