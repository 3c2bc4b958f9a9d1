"""From the hidden states to queries, keys and values; and backward."""

import triton
import triton.language as tl

from tam.models.fast.kernels.parts import among_read, dot, keep_standard, standard_backward


@triton.jit
def project(
    h, row, place, w_qkv, b_qkv, normed, inverses, qkv, P,
    D: tl.constexpr, part: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Compute queries, keys and values from h, which is standardised first."""
    x = keep_standard(h, row, place, normed, inverses, P, D, dtype)
    for start in range(0, 3 * D, part):
        y = dot(x, w_qkv.load([start, 0]).T, dtype)
        y += tl.load(b_qkv + start + tl.arange(0, part))[None, :]
        qkv.store([row, start], y.to(dtype))


@triton.jit(do_not_specialize=["P"])
def project_forward(
    h_in, w_qkv, b_qkv, normed, inverses, qkv, P,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Compute queries, keys and values from `h_in`, which is standardised first."""
    row = tl.program_id(0) * span
    place = row + tl.arange(0, span)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    project(h_in.load([row, 0]), row, place, w_qkv, b_qkv, normed, inverses, qkv, P, D, part, dtype)


@triton.jit(do_not_specialize=["P", "L", "first", "Q"])
def project_backward(
    g_qkv, g_residual, normed, inverses, w_qkv, g_in, g_half, P, L, first, Q,
    span: tl.constexpr, D: tl.constexpr, some: tl.constexpr, packed: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradient of h, from those of queries, keys and values and of the residual stream.

    If `some`, `g_residual` points to the places `first` … `first + Q` of every sequence only.
    """
    row = tl.program_id(0) * span
    place, column = row + tl.arange(0, span), tl.arange(0, D)
    if packed:
        P = tl.load(P)
        if row >= P:
            return
    g_x = tl.zeros((span, D), tl.float32)
    for part in range(3):
        g_x += dot(g_qkv.load([row, part * D]), w_qkv.load([part * D, 0]), dtype)
    inverse = tl.load(inverses + place, mask=place < P, other=0.0)
    g_h = standard_backward(g_x, normed.load([row, 0]).to(tl.float32), inverse, D)
    if some:
        source, read = among_read(place, L, first, Q)
        mask = read & (place < P)
        g_h += tl.load(g_residual + source[:, None] * D + column[None, :], mask=mask[:, None], other=0.0)
    else:
        g_h += g_residual.load([row, 0])
    g_in.store([row, 0], g_h)
    g_half.store([row, 0], g_h.to(dtype))
