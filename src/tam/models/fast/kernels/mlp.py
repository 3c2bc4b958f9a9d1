"""From attention's output through the MLP to the next block's queries, keys and values; and backward."""

import triton
import triton.language as tl

from tam.models.fast.kernels.parts import among_all, cdf_and_density, dot, keep_standard, standard_backward
from tam.models.fast.kernels.project import project


@triton.jit(do_not_specialize=["P", "L", "first", "Q"])
def mlp_forward(
    h_in, mixed, w_o, b_o, w_inner, b_inner, w_out, b_out, normed, inverses, h_out, P, L, first, Q,
    next_w_qkv, next_b_qkv, next_normed, next_inverses, next_qkv,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr,
    some: tl.constexpr, last: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """From attention's output at P places through the MLP to the next queries, keys and values.

    If `some`, these are the places `first` … `first + Q` of every sequence, and `h_in` points to all places.
    If `last`, there is no next block.
    """
    row = tl.program_id(0) * span
    place, column = row + tl.arange(0, span), tl.arange(0, D)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    if some:
        source = among_all(place, L, first, Q)[:, None]
        h = tl.load(h_in + source * D + column[None, :], mask=(place < P)[:, None], other=0.0)
    else:
        h = h_in.load([row, 0])
    h += tl.load(b_o + column)[None, :]
    for start in range(0, D, part):
        h += dot(mixed.load([row, start]), w_o.load([0, start]).T, dtype)
    x = keep_standard(h, row, place, normed, inverses, P, D, dtype)
    h += tl.load(b_out + column)[None, :]
    for start in range(0, 4 * D, part):
        a = dot(x, w_inner.load([start, 0]).T, dtype)
        a += tl.load(b_inner + start + tl.arange(0, part))[None, :]
        below, _density = cdf_and_density(a, dtype)
        h += dot(a * below, w_out.load([0, start]).T, dtype)
    h_out.store([row, 0], h)
    if not last:
        project(
            h, row, place, next_w_qkv, next_b_qkv, next_normed, next_inverses, next_qkv, P, D, part, dtype
        )


@triton.jit(do_not_specialize=["P"])
def mlp_backward(
    g_out, g_half, normed, inverses, w_o, w_inner, b_inner, w_out, g_in, g_mixed, g_kept, inner, g_inner, P,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr,
    weights: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradients before the MLP: of the residual stream, and of attention's output."""
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
        a = dot(x, w.T, dtype)
        a += tl.load(b_inner + start + tl.arange(0, part))[None, :]
        below, density = cdf_and_density(a, dtype)
        slope = below + a * density
        g_a = (dot(g, w_out.load([0, start]), dtype) * slope).to(dtype)
        if weights:
            inner.store([row, start], (a * below).to(dtype))
            g_inner.store([row, start], g_a)
        g_x += dot(g_a, w, dtype)
    inverse = tl.load(inverses + place, mask=place < P, other=0.0)
    g_h = standard_backward(g_x, normed.load([row, 0]).to(tl.float32), inverse, D) + g_out.load([row, 0])
    g_in.store([row, 0], g_h)
    g = g_h.to(dtype)
    if weights:
        g_kept.store([row, 0], g)
    for start in range(0, D, part):
        g_mixed.store([row, start], dot(g, w_o.load([0, start]), dtype).to(dtype))
