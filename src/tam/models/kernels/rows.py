"""Rows of matrices: sums over those of a token or a place, and others in another order."""

import triton
import triton.language as tl


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
