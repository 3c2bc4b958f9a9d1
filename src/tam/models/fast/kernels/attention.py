"""Attention within sequences and to cached places before them; and backward."""

import triton
import triton.language as tl

from tam.models.fast.kernels.parts import among_read, dot


@triton.jit
def _places(tile, each, starts, lengths, P, L, span: tl.constexpr, packed: tl.constexpr):
    """For the places of a tile: their sequences, indices in these, rows, and which of them exist."""
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
    """For the cached places of a tile: sequences, offsets of the first head, valid slots, filled slots."""
    index = tl.arange(0, before_span)
    sequence, place = index // X, index % X
    number = tile * each + sequence
    room = (sequence < each) & (number * L < P)
    inside = room & (place < tl.load(lengths + number, mask=room, other=0))
    at = (number * stride + place * E)[:, None] + tl.arange(0, E)[None, :]
    return sequence, at, room[:, None], inside


@triton.jit
def _seen(sequence, place, inside, causal: tl.constexpr):
    """Attention mask of a tile: which places (rows) see which (columns)."""
    seen = (sequence[:, None] == sequence[None, :]) & inside[None, :]
    if causal:
        seen = seen & (place[None, :] <= place[:, None])
    return seen | ((sequence[:, None] == sequence[None, :]) & (place[:, None] == place[None, :]))


@triton.jit
def _scores(q, k, seen, E: tl.constexpr, dtype: tl.constexpr):
    return tl.where(seen, dot(q, tl.trans(k), dtype) * (E**-0.5), float("-inf"))


@triton.jit
def _mixture(q, k, seen, E: tl.constexpr, dtype: tl.constexpr):
    """The attention weights."""
    scores = _scores(q, k, seen, E, dtype)
    scores = tl.exp(scores - tl.max(scores, 1)[:, None])
    return scores / tl.sum(scores, 1)[:, None]


@triton.jit
def _two_mixtures(q, k, seen, k_before, seen_before, E: tl.constexpr, dtype: tl.constexpr):
    """The attention weights within the sequence, and those of cached places, from one softmax."""
    scores, earlier = _scores(q, k, seen, E, dtype), _scores(q, k_before, seen_before, E, dtype)
    top = tl.maximum(tl.max(scores, 1), tl.max(earlier, 1))[:, None]
    scores, earlier = tl.exp(scores - top), tl.exp(earlier - top)
    total = (tl.sum(scores, 1) + tl.sum(earlier, 1))[:, None]
    return scores / total, earlier / total


@triton.jit(do_not_specialize=["P", "L", "first", "Q", "each", "X"])
def attention_forward(
    qkv, before, before_lengths, starts, lengths, mixed, P, L, first, Q, each, X, stride,
    span: tl.constexpr, before_span: tl.constexpr, D: tl.constexpr, H: tl.constexpr, packed: tl.constexpr,
    causal: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Attention, of which the places `first` … `first + Q` are kept.

    If `packed`, all places are kept, and sequences start at the rows `starts` and have their own `lengths`.
    If `before_span` is not 0, `before` holds cached keys and values of each sequence, `stride` numbers apart.
    """
    E: tl.constexpr = D // H
    head = tl.arange(0, E)
    tile = tl.program_id(0)
    sequence, place, row, inside = _places(tile, each, starts, lengths, P, L, span, packed)
    to, kept = row, inside[:, None]
    if not packed:
        to, read = among_read(row, L, first, Q)
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
            o = dot(p, v, dtype) + dot(p_before, v_before, dtype)
        else:
            o = dot(_mixture(q, k, seen, E, dtype), v, dtype)
        tl.store(mixed + to * D + (index * E + head)[None, :], o.to(dtype), mask=kept)


@triton.jit(do_not_specialize=["P", "L", "first", "Q", "each", "X"])
def attention_backward(
    g_mixed, qkv, before, before_lengths, starts, lengths, g_qkv, g_before, P, L, first, Q, each, X, stride,
    span: tl.constexpr, before_span: tl.constexpr, weights: tl.constexpr, D: tl.constexpr, H: tl.constexpr,
    packed: tl.constexpr, causal: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradients of queries, keys and values; if `weights`, also of cached keys and values."""
    E: tl.constexpr = D // H
    head = tl.arange(0, E)
    tile = tl.program_id(0)
    sequence, place, row, inside = _places(tile, each, starts, lengths, P, L, span, packed)
    source, kept = row, inside[:, None]
    if not packed:
        source, read = among_read(row, L, first, Q)
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
        g_p = dot(g, tl.trans(v), dtype)
        if before_span:
            at_head = at_before + index * (X * E)
            k_before = tl.load(before + at_head, mask=there, other=0.0).to(dtype)
            v_before = tl.load(before + at_head + X * D, mask=there, other=0.0).to(dtype)
            p, p_before = _two_mixtures(q, k, seen, k_before, seen_before, E, dtype)
            g_p_before = dot(g, tl.trans(v_before), dtype)
            along = (tl.sum(g_p * p, 1) + tl.sum(g_p_before * p_before, 1))[:, None]
            g_earlier = (p_before * (g_p_before - along) * (E**-0.5)).to(dtype)
            if weights:
                tl.store(g_before + at_head, dot(tl.trans(g_earlier), q, dtype), mask=room)
                g_v_before = dot(tl.trans(p_before.to(dtype)), g, dtype)
                tl.store(g_before + at_head + X * D, g_v_before, mask=room)
        else:
            p = _mixture(q, k, seen, E, dtype)
            along = tl.sum(g_p * p, 1)[:, None]
        g_v = dot(tl.trans(p.to(dtype)), g, dtype)
        g_scores = (p * (g_p - along) * (E**-0.5)).to(dtype)
        g_q = dot(g_scores, k, dtype)
        if before_span:
            g_q += dot(g_earlier, k_before, dtype)
        g_k = dot(tl.trans(g_scores), q, dtype)
        tl.store(g_qkv + at, g_q.to(dtype), mask=inside)
        tl.store(g_qkv + at + D, g_k.to(dtype), mask=inside)
        tl.store(g_qkv + at + 2 * D, g_v.to(dtype), mask=inside)
