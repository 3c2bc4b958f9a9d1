"""Triton kernels of a transformer block for short sequences. Where there is no Triton, nothing imports this.

A block is two kernels: attention, and from there through the MLP to the next block's queries, keys and
values. Those of the first block have a kernel of their own. A LayerNorm's scale and shift are part of the
matrix after it, so that kernels standardise only. All but attention look at places one by one. Attention
holds whole sequences on chip: a tile of `span` places is ⌊span / L⌋ sequences or less, and scores are taken
over the whole tile at once, on the matrix units, under a mask that is true inside a sequence only. Keys and
values of places before these may be given, up to X of a sequence, and of a tile `before_span`. The backward
kernels compute again what the forward ones did not keep, and leave behind what the weights' gradients are
made of. Where sequences are packed, one after another without padding, how many places there are is known
to the GPU alone: `P` is then a pointer, and programs that have nothing to do end.

What is read or written as a whole tile is given as a tensor descriptor: the GPU then copies tiles by
itself, and the kernels need no registers for addresses. Vectors, and places of which some are left out,
are pointers.

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
def _standard(h, D: tl.constexpr):
    """Every place's vector less its mean, over its deviation; and one over that deviation."""
    mean = tl.sum(h, 1) / D
    centred = h - mean[:, None]
    inverse = tl.rsqrt(tl.sum(centred * centred, 1) / D + 1e-5)
    # Written so that `centred` is not needed any more.
    return h * inverse[:, None] - (mean * inverse)[:, None], inverse


@triton.jit
def _standard_backward(g, x_hat, inverse, D: tl.constexpr):
    """The gradient before standardising, given the one after it."""
    mean, along = tl.sum(g, 1) / D, tl.sum(g * x_hat, 1) / D
    return (g - mean[:, None] - x_hat * along[:, None]) * inverse[:, None]


@triton.jit
def _normal(a, dtype: tl.constexpr):
    """Distribution and density of the standard normal: GELU is a · Φ(a), its slope Φ(a) + a · φ(a).

    In float32, Φ by Abramowitz and Stegun 7.1.26, off by 3e-7 at most: it needs φ, which is needed anyway.
    In half, by a tangent, which is one instruction: with it, GELU is off by 4e-4 at most.
    """
    if dtype == tl.float32:
        bell = tl.exp(-0.5 * a * a)
        t = 1.0 / (1.0 + 0.23164190 * tl.abs(a))
        tail = t * (
            0.127414796 + t * (-0.142248368 + t * (0.710706871 + t * (-0.726576014 + t * 0.530702715)))
        )
        tail *= bell
        return tl.where(a < 0, tail, 1.0 - tail), bell * 0.3989422804014327
    # The polynomial is fitted up to |a| = 6; beyond, it stays as it is there.
    square = tl.minimum(a * a, 36.0)
    u = a * (0.797480659 + square * (0.0369836551 - square * 0.000346257563))
    t = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [u], dtype=tl.float32, is_pure=True, pack=1
    )
    slope = 0.3987403295 + square * (0.05547548265 - square * 0.0008656439075)
    return 0.5 + 0.5 * t, slope - slope * t * t


@triton.jit
def _project(
    h, row, place, w_qkv, b_qkv, normed, inverses, qkv, P,
    D: tl.constexpr, part: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Queries, keys and values of h, standardised."""
    x_hat, inverse = _standard(h, D)
    x = x_hat.to(dtype)
    normed.store([row, 0], x)
    tl.store(inverses + place, inverse, mask=place < P)
    for start in range(0, 3 * D, part):
        y = _dot(x, w_qkv.load([start, 0]).T, dtype)
        y += tl.load(b_qkv + start + tl.arange(0, part))[None, :]
        qkv.store([row, start], y.to(dtype))


@triton.jit
def project_forward(
    h_in, w_qkv, b_qkv, normed, inverses, qkv, P,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Queries, keys and values of h, standardised."""
    row = tl.program_id(0) * span
    place = row + tl.arange(0, span)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    _project(h_in.load([row, 0]), row, place, w_qkv, b_qkv, normed, inverses, qkv, P, D, part, dtype)


@triton.jit
def project_backward(
    g_qkv, g_residual, normed, inverses, w_qkv, g_in, g_half, P, L, first, Q,
    span: tl.constexpr, D: tl.constexpr, some: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradient at h, given those at queries, keys and values and the one that passes by.

    If `some`, the one that passes by is a pointer, to the places `first` … `first + Q` of every sequence.
    """
    row = tl.program_id(0) * span
    place, column = row + tl.arange(0, span), tl.arange(0, D)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    g_x = tl.zeros((span, D), tl.float32)
    for part in range(3):
        g_x += _dot(g_qkv.load([row, part * D]), w_qkv.load([part * D, 0]), dtype)
    inverse = tl.load(inverses + place, mask=place < P, other=0.0)
    g_h = _standard_backward(g_x, normed.load([row, 0]).to(tl.float32), inverse, D)
    if some:
        source, read = _among_read(place, L, first, Q)
        mask = read & (place < P)
        g_h += tl.load(g_residual + source[:, None] * D + column[None, :], mask=mask[:, None], other=0.0)
    else:
        g_h += g_residual.load([row, 0])
    g_in.store([row, 0], g_h)
    g_half.store([row, 0], g_h.to(dtype))


@triton.jit
def _places(tile, each, starts, lengths, P, L, span: tl.constexpr, packed: tl.constexpr):
    """Of a tile's places: which they are in their sequence, their rows, and which of them are there."""
    index = tl.arange(0, span)
    sequence, place = index // L, index % L
    number = tile * each + sequence
    inside = (sequence < each) & (number * L + place < P)
    row = number * L + place
    if packed:
        inside = inside & (place < tl.load(lengths + number, mask=inside, other=0))
        row = tl.load(starts + number, mask=inside, other=0) + place
    return sequence, place, row[:, None], inside


@triton.jit
def _places_before(tile, each, lengths, P, L, X, stride, E: tl.constexpr, before_span: tl.constexpr):
    """Of the places before a tile's: their sequences, where the first head is, which have room, which are."""
    index = tl.arange(0, before_span)
    sequence, place = index // X, index % X
    number = tile * each + sequence
    room = (sequence < each) & (number * L < P)
    inside = room & (place < tl.load(lengths + number, mask=room, other=0))
    at = (number * stride + place * E)[:, None] + tl.arange(0, E)[None, :]
    return sequence, at, room[:, None], inside


@triton.jit
def _seen(sequence, place, inside, causal: tl.constexpr):
    """Which places of a tile (rows) see which (columns)."""
    seen = (sequence[:, None] == sequence[None, :]) & inside[None, :]
    if causal:
        seen = seen & (place[None, :] <= place[:, None])
    return seen | ((sequence[:, None] == sequence[None, :]) & (place[:, None] == place[None, :]))


@triton.jit
def _scores(q, k, seen, E: tl.constexpr, dtype: tl.constexpr):
    return tl.where(seen, _dot(q, tl.trans(k), dtype) * (E**-0.5), float("-inf"))


@triton.jit
def _mixture(q, k, seen, E: tl.constexpr, dtype: tl.constexpr):
    """The weights with which each place takes from the others."""
    scores = _scores(q, k, seen, E, dtype)
    scores = tl.exp(scores - tl.max(scores, 1)[:, None])
    return scores / tl.sum(scores, 1)[:, None]


@triton.jit
def _two_mixtures(q, k, seen, k_before, seen_before, E: tl.constexpr, dtype: tl.constexpr):
    """The weights with which each place takes from the others, and from those before."""
    scores, earlier = _scores(q, k, seen, E, dtype), _scores(q, k_before, seen_before, E, dtype)
    top = tl.maximum(tl.max(scores, 1), tl.max(earlier, 1))[:, None]
    scores, earlier = tl.exp(scores - top), tl.exp(earlier - top)
    total = (tl.sum(scores, 1) + tl.sum(earlier, 1))[:, None]
    return scores / total, earlier / total


@triton.jit
def attention_forward(
    qkv, before, before_lengths, starts, lengths, mixed, P, L, first, Q, each, X, stride,
    span: tl.constexpr, before_span: tl.constexpr, D: tl.constexpr, H: tl.constexpr, packed: tl.constexpr,
    causal: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Each place takes a mixture of the values that it may see; the places `first` … `first + Q` are kept.

    If `packed`, all are, and sequences have `lengths` of their own, from the rows `starts` on. If there is a
    `before_span`, keys and values of each sequence's places before these are in `before`, its own `stride`
    after those of the sequence before it.
    """
    E: tl.constexpr = D // H
    head = tl.arange(0, E)
    tile = tl.program_id(0)
    sequence, place, row, inside = _places(tile, each, starts, lengths, P, L, span, packed)
    to, kept = row, inside[:, None]
    if not packed:
        to, read = _among_read(row, L, first, Q)
        kept = kept & read
    seen = _seen(sequence, place, inside, causal)
    inside = inside[:, None]
    if before_span:
        earlier, at_before, _room, there = _places_before(
            tile, each, before_lengths, P, L, X, stride, E, before_span
        )
        seen_before = (sequence[:, None] == earlier[None, :]) & there[None, :]
        there = there[:, None]
    for index in range(H):
        at = qkv + row * (3 * D) + (index * E + head)[None, :]
        q = tl.load(at, mask=inside, other=0.0)
        k = tl.load(at + D, mask=inside, other=0.0)
        v = tl.load(at + 2 * D, mask=inside, other=0.0)
        if before_span:
            at_head = before + at_before + index * (X * E)
            k_before = tl.load(at_head, mask=there, other=0.0)
            v_before = tl.load(at_head + X * D, mask=there, other=0.0)
            p, p_before = _two_mixtures(q, k, seen, k_before, seen_before, E, dtype)
            o = _dot(p, v, dtype) + _dot(p_before, v_before, dtype)
        else:
            o = _dot(_mixture(q, k, seen, E, dtype), v, dtype)
        tl.store(mixed + to * D + (index * E + head)[None, :], o.to(dtype), mask=kept)


@triton.jit
def attention_backward(
    g_mixed, qkv, before, before_lengths, starts, lengths, g_qkv, g_before, P, L, first, Q, each, X, stride,
    span: tl.constexpr, before_span: tl.constexpr, weights: tl.constexpr, D: tl.constexpr, H: tl.constexpr,
    packed: tl.constexpr, causal: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradients at queries, keys and values; if `weights`, also at the keys and values before."""
    E: tl.constexpr = D // H
    head = tl.arange(0, E)
    tile = tl.program_id(0)
    sequence, place, row, inside = _places(tile, each, starts, lengths, P, L, span, packed)
    source, kept = row, inside[:, None]
    if not packed:
        source, read = _among_read(row, L, first, Q)
        kept = kept & read
    seen = _seen(sequence, place, inside, causal)
    inside = inside[:, None]
    if before_span:
        earlier, at_before, room, there = _places_before(
            tile, each, before_lengths, P, L, X, stride, E, before_span
        )
        seen_before = (sequence[:, None] == earlier[None, :]) & there[None, :]
        there = there[:, None]
    for index in range(H):
        part = index * E + head
        at = row * (3 * D) + part[None, :]
        q = tl.load(qkv + at, mask=inside, other=0.0)
        k = tl.load(qkv + at + D, mask=inside, other=0.0)
        v = tl.load(qkv + at + 2 * D, mask=inside, other=0.0)
        g = tl.load(g_mixed + source * D + part[None, :], mask=kept, other=0.0)
        g_p = _dot(g, tl.trans(v), dtype)
        if before_span:
            at_head = at_before + index * (X * E)
            k_before = tl.load(before + at_head, mask=there, other=0.0).to(dtype)
            v_before = tl.load(before + at_head + X * D, mask=there, other=0.0).to(dtype)
            p, p_before = _two_mixtures(q, k, seen, k_before, seen_before, E, dtype)
            g_p_before = _dot(g, tl.trans(v_before), dtype)
            along = (tl.sum(g_p * p, 1) + tl.sum(g_p_before * p_before, 1))[:, None]
            g_earlier = (p_before * (g_p_before - along) * (E**-0.5)).to(dtype)
            if weights:
                tl.store(g_before + at_head, _dot(tl.trans(g_earlier), q, dtype), mask=room)
                g_v_before = _dot(tl.trans(p_before.to(dtype)), g, dtype)
                tl.store(g_before + at_head + X * D, g_v_before, mask=room)
        else:
            p = _mixture(q, k, seen, E, dtype)
            along = tl.sum(g_p * p, 1)[:, None]
        g_v = _dot(tl.trans(p.to(dtype)), g, dtype)
        g_scores = (p * (g_p - along) * (E**-0.5)).to(dtype)
        g_q = _dot(g_scores, k, dtype)
        if before_span:
            g_q += _dot(g_earlier, k_before, dtype)
        g_k = _dot(tl.trans(g_scores), q, dtype)
        tl.store(g_qkv + at, g_q.to(dtype), mask=inside)
        tl.store(g_qkv + at + D, g_k.to(dtype), mask=inside)
        tl.store(g_qkv + at + 2 * D, g_v.to(dtype), mask=inside)


@triton.jit
def _among_all(row, L, first, Q):
    """Where the rows stand among all places, being the places `first` … `first + Q` of every sequence."""
    return row // Q * L + first + row % Q


@triton.jit
def _among_read(row, L, first, Q):
    """Where the rows, being all places, stand among those read; and which of them are read."""
    place = row % L - first
    return row // L * Q + place, (place >= 0) & (place < Q)


@triton.jit
def mlp_forward(
    h_in, mixed, w_o, b_o, w_inner, b_inner, w_out, b_out, normed, inverses, h_out, P, L, first, Q,
    next_w_qkv, next_b_qkv, next_normed, next_inverses, next_qkv,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr,
    some: tl.constexpr, last: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """From the mixtures of P places through the MLP, and to the next queries, keys and values.

    If `some`, these are the places `first` … `first + Q` of every sequence, and h is a pointer to all. If
    `last`, no block comes next.
    """
    row = tl.program_id(0) * span
    place, column = row + tl.arange(0, span), tl.arange(0, D)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    if some:
        source = _among_all(place, L, first, Q)[:, None]
        h = tl.load(h_in + source * D + column[None, :], mask=(place < P)[:, None], other=0.0)
    else:
        h = h_in.load([row, 0])
    h += tl.load(b_o + column)[None, :]
    for start in range(0, D, part):
        h += _dot(mixed.load([row, start]), w_o.load([0, start]).T, dtype)
    x_hat, inverse = _standard(h, D)
    x = x_hat.to(dtype)
    normed.store([row, 0], x)
    tl.store(inverses + place, inverse, mask=place < P)
    h += tl.load(b_out + column)[None, :]
    for start in range(0, 4 * D, part):
        a = _dot(x, w_inner.load([start, 0]).T, dtype)
        a += tl.load(b_inner + start + tl.arange(0, part))[None, :]
        below, _density = _normal(a, dtype)
        h += _dot(a * below, w_out.load([0, start]).T, dtype)
    h_out.store([row, 0], h)
    if not last:
        _project(
            h, row, place, next_w_qkv, next_b_qkv, next_normed, next_inverses, next_qkv, P, D, part, dtype
        )


@triton.jit
def mlp_backward(
    g_out, g_half, normed, inverses, w_o, w_inner, b_inner, w_out, g_in, g_mixed, g_kept, inner, g_inner, P,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr,
    weights: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradients before the MLP, on the residual stream and at the mixtures."""
    row = tl.program_id(0) * span
    place = row + tl.arange(0, span)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    x, g = normed.load([row, 0]), g_half.load([row, 0])
    g_x = tl.zeros((span, D), tl.float32)
    for start in range(0, 4 * D, part):
        w = w_inner.load([start, 0])
        a = _dot(x, w.T, dtype)
        a += tl.load(b_inner + start + tl.arange(0, part))[None, :]
        below, density = _normal(a, dtype)
        slope = below + a * density
        g_a = (_dot(g, w_out.load([0, start]), dtype) * slope).to(dtype)
        if weights:
            inner.store([row, start], (a * below).to(dtype))
            g_inner.store([row, start], g_a)
        g_x += _dot(g_a, w, dtype)
    inverse = tl.load(inverses + place, mask=place < P, other=0.0)
    g_h = _standard_backward(g_x, normed.load([row, 0]).to(tl.float32), inverse, D) + g_out.load([row, 0])
    g_in.store([row, 0], g_h)
    g = g_h.to(dtype)
    if weights:
        g_kept.store([row, 0], g)
    for start in range(0, D, part):
        g_mixed.store([row, start], _dot(g, w_o.load([0, start]), dtype).to(dtype))


@triton.jit
def weight_gradients(
    g_qkv, x_attention, g_attention, mixed, g_inner, x_mlp, g_mlp, inner, weights, biases,
    P_attention, P_mlp, block, blocks,
    D: tl.constexpr, span: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Gᵀ X and Gᵀ 1 of the block's linear layers, over a share of the places.

    The gradients are twelve squares of D × D: three of W_qkv, W_o, four of W₁ and four of W₂. A program
    makes one square of one share; the shares are added up afterwards, in a fixed order.
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
        total += _dot(tl.trans(a), b, dtype)
        bias += _dot(tl.trans(a), ones, dtype)
    if square < 8:
        to = square * D * D + column[:, None] * D + column[None, :]
    else:
        to = 8 * D * D + column[:, None] * (4 * D) + (square - 8) * D + column[None, :]
    share = share * blocks + block
    tl.store(weights + share * (12 * D * D) + to, total)
    tl.store(biases + (share * 12 + square) * D + column, tl.sum(bias, 1) / 16)


@triton.jit
def _of_layer(row, of_q, of_kv, of_o, of_inner, of_out, D: tl.constexpr):
    """The number of the layer whose matrix has a row.

    The matrices are 12 · D rows of D: W_q, W_kv, W_o, W₁, and W₂ with four in one of its own.
    """
    of_mlp = tl.where(row < 8 * D, of_inner, of_out)
    return tl.where(row < D, of_q, tl.where(row < 3 * D, of_kv, tl.where(row < 4 * D, of_o, of_mlp)))


@triton.jit
def _starts_of(row, D: tl.constexpr):
    """Where a block's weights would have row 0 of the matrices, and its bias, if a row's layer went so far.

    They are a LayerNorm's scale and shift, W_q, b_q, W_kv, b_kv, W_o, b_o, scale and shift, W₁, b₁, W₂, b₂.
    """
    vectors = _of_layer(row, 2, 3, 5, 8, 12, D)  # before the matrix
    first, end = _of_layer(row, 0, 1, 3, 4, 8, D), _of_layer(row, 1, 3, 4, 8, 12, D)  # of its rows, over D
    return vectors * D, (vectors + end * D - first) * D


@triton.jit
def _norm_before(row, D: tl.constexpr):
    """Whether a LayerNorm comes before rows of the matrices, and where the weights have its scale."""
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


@triton.jit
def unfold(
    squares, lines, weights, g_weights, g_norms, shares, block, blocks,
    span: tl.constexpr, D: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """A block's weights' gradients, given in shares those of the folded ones; of scale and shift, parts."""
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
    """Gradients of scale and shift of a block's first or second LayerNorm: sums of the parts of `unfold`."""
    block, second, column = tl.program_id(0), tl.program_id(1), tl.arange(0, 2 * D)
    each: tl.constexpr = D // span
    total = tl.zeros((2 * D,), tl.float32)
    for tile in range(second * 4 * each, (3 + second * 5) * each):
        total += tl.load(g_norms + (block * tiles + tile) * (2 * D) + column)
    tl.store(g_weights + block * (12 * D * D + 13 * D) + second * (4 * D * D + 6 * D) + column, total)


@triton.jit
def embedding_gradients(
    g, ids, parts, P, L, row_stride, place_stride, tokens, count,
    span: tl.constexpr, D: tl.constexpr, sums: tl.constexpr,
):  # fmt: skip
    """Sums of gradients over the places of each token, and after these over each place of sequences.

    A program makes so many of the `sums`, over `count` tiles; programs' sums are added up afterwards, in a
    fixed order.
    """
    program, column = tl.program_id(0), tl.arange(0, D)
    line = tl.program_id(1) * sums + tl.arange(0, sums)
    total = tl.zeros((sums, D), tl.float32)
    for tile in range(program * count, (program + 1) * count):
        place = tile * span + tl.arange(0, span)
        row, at = (place // L).to(tl.int64), place % L
        token = tl.load(ids + place, mask=place < P, other=-1)
        is_of = (token[None, :] == line[:, None]) | ((at + tokens)[None, :] == line[:, None])
        where = g + (row * row_stride + at * place_stride)[:, None] + column[None, :]
        found = tl.load(where, mask=(place < P)[:, None], other=0.0)
        total += tl.dot(is_of.to(tl.float32), found.to(tl.float32))
    parts += program * tl.num_programs(1) * (sums * D)
    tl.store(parts + line[:, None] * D + column[None, :], total)


@triton.jit
def gather(rows, source, out, count, width, span: tl.constexpr, part: tl.constexpr):
    """The rows `source`, 0 where that is −1; a program takes a part of their columns."""
    place = tl.program_id(0) * span + tl.arange(0, span)
    column = tl.program_id(1) * part + tl.arange(0, part)
    row = tl.load(source + place, mask=place < count, other=-1)[:, None]
    found = tl.load(rows + row * width + column[None, :], mask=row >= 0, other=0.0)
    to = out + place[:, None].to(tl.int64) * width + column[None, :]
    tl.store(to, found, mask=(place < count)[:, None])
