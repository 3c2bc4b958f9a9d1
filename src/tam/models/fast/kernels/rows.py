"""Selecting rows of matrices."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["count"])
def gather(rows, source, out, count, width, span: tl.constexpr, part: tl.constexpr):
    """Select the rows `source`, −1 for zeros; a program copies `part` of their columns."""
    place = tl.program_id(0) * span + tl.arange(0, span)
    column = tl.program_id(1) * part + tl.arange(0, part)
    row = tl.load(source + place, mask=place < count, other=-1)[:, None]
    found = tl.load(rows + row * width + column[None, :], mask=row >= 0, other=0.0)
    to = out + place[:, None].to(tl.int64) * width + column[None, :]
    tl.store(to, found, mask=(place < count)[:, None])
