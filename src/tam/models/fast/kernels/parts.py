"""Functions that several kernels share."""

import triton
import triton.language as tl


@triton.jit
def dot(a, b, dtype: tl.constexpr):
    """The product of a and b in `dtype`, accumulated in float32."""
    return tl.dot(a.to(dtype), b.to(dtype), input_precision="ieee")


@triton.jit
def standard(h, D: tl.constexpr):
    """Standardise the vector of every place; also return the inverse of its deviation."""
    mean = tl.sum(h, 1) / D
    centred = h - mean[:, None]
    inverse = tl.rsqrt(tl.sum(centred * centred, 1) / D + 1e-5)
    # Written so that `centred` is no longer needed.
    return h * inverse[:, None] - (mean * inverse)[:, None], inverse


@triton.jit
def keep_standard(h, row, place, normed, inverses, P, D: tl.constexpr, dtype: tl.constexpr):
    """Standardise the vector of every place in `dtype`, and keep the result and the inverse deviations."""
    x_hat, inverse = standard(h, D)
    x = x_hat.to(dtype)
    normed.store([row, 0], x)
    tl.store(inverses + place, inverse, mask=place < P)
    return x


@triton.jit
def standard_backward(g, x_hat, inverse, D: tl.constexpr):
    """The gradient before standardising, from the one after it."""
    mean, along = tl.sum(g, 1) / D, tl.sum(g * x_hat, 1) / D
    return (g - mean[:, None] - x_hat * along[:, None]) * inverse[:, None]


@triton.jit
def cdf_and_density(a, dtype: tl.constexpr):
    """Distribution function and density of the standard normal: GELU is a · Φ(a), its slope Φ(a) + a · φ(a).

    In float32, Φ is formula 7.1.26 of Abramowitz and Stegun, with an error of at most 3e-7; it uses φ, which
    is needed anyway. In half, Φ uses tanh, a single instruction, and the error of GELU is at most 4e-4.
    """
    if dtype == tl.float32:
        bell = tl.exp(-0.5 * a * a)
        t = 1.0 / (1.0 + 0.23164190 * tl.abs(a))
        tail = t * (
            0.127414796 + t * (-0.142248368 + t * (0.710706871 + t * (-0.726576014 + t * 0.530702715)))
        )
        tail *= bell
        return tl.where(a < 0, tail, 1.0 - tail), bell * 0.3989422804014327
    # The polynomial is fitted up to |a| = 6 and constant beyond.
    square = tl.minimum(a * a, 36.0)
    u = a * (0.797480659 + square * (0.0369836551 - square * 0.000346257563))
    t = tl.inline_asm_elementwise(
        "tanh.approx.f32 $0, $1;", "=f,f", [u], dtype=tl.float32, is_pure=True, pack=1
    )
    slope = 0.3987403295 + square * (0.05547548265 - square * 0.0008656439075)
    return 0.5 + 0.5 * t, slope - slope * t * t


@triton.jit
def among_all(row, L, first, Q):
    """Map rows, which are the places `first` … `first + Q` of every sequence, to all places."""
    return row // Q * L + first + row % Q


@triton.jit
def among_read(row, L, first, Q):
    """Map rows, which are all places, to the places that are read; also return which of them are read."""
    place = row % L - first
    return row // L * Q + place, (place >= 0) & (place < Q)
