"""Input sequences of a transformer: their layout, their vectors, and the gradients of these.

A sequence is `[front, x…, lead, y…]`: K₀ vectors of its task, the tokens of x, K₁ vectors of its task, and
the tokens of y; each part may be missing. Rows are all places of all sequences, L of each, or if `packed`
only those without padding, one sequence after another; `source` then maps rows to places.
"""

import triton
import triton.language as tl

_COUNTS = [
    "P", "R", "L", "K0", "X", "K1", "Y", "offset", "rows", "front_rows", "lead_rows", "tokens", "length",
]  # fmt: skip
"""Arguments for whose values no kernel is specialised."""


@triton.jit(do_not_specialize=_COUNTS)
def pack_places(
    x_lengths, y_lengths, ends, starts, lengths, total, source, R, L, K0, X, K1,
    has_x: tl.constexpr, has_y: tl.constexpr, span: tl.constexpr, places: tl.constexpr,
):  # fmt: skip
    """The start and length of each sequence and the place of each row; `ends` sum the lengths of x and y."""
    row = tl.program_id(0) * span + tl.arange(0, span)
    there = row < R
    x_length = tl.zeros((span,), tl.int32)
    y_length = tl.zeros((span,), tl.int32)
    if has_x:
        x_length = tl.load(x_lengths + row, mask=there, other=0).to(tl.int32)
    if has_y:
        y_length = tl.load(y_lengths + row, mask=there, other=0).to(tl.int32)
    length = K0 + x_length + K1 + y_length
    start = tl.load(ends + row, mask=there, other=0).to(tl.int32) + (row + 1) * (K0 + K1) - length
    tl.store(starts + row, start, mask=there)
    tl.store(lengths + row, length, mask=there)
    tl.store(total + row * 0, start + length, mask=row == R - 1)
    place = tl.arange(0, places)[None, :]
    after_x = place >= K0 + X
    missing = (X - x_length)[:, None]  # padding of x
    rank = tl.where(after_x, place - missing, place)
    holds = tl.where(after_x, rank < length[:, None], place < K0 + x_length[:, None])
    tl.store(source + start[:, None] + rank, row[:, None] * L + place, mask=holds & there[:, None])


@triton.jit
def sequence_and_place(row, source, P, L, packed: tl.constexpr):
    """The sequences of rows, their places in these, and whether the rows exist."""
    inside = row < P
    at = row
    if packed:
        at = tl.load(source + row, mask=inside, other=0)
    return at // L, at % L, inside


@triton.jit
def _tokens(ids, token, position, sequence, place, inside, length, column, D: tl.constexpr):
    """The sum of the vectors of tokens and of their places; 0 outside this part."""
    inside = inside & (place >= 0) & (place < length)
    number = tl.load(ids + sequence * length + place, mask=inside, other=0)
    mask = inside[:, None]
    found = tl.load(token + number[:, None] * D + column, mask=mask, other=0.0)
    return found + tl.load(position + place[:, None] * D + column, mask=mask, other=0.0)


@triton.jit(do_not_specialize=_COUNTS)
def assemble(
    front, x_ids, x_token, x_position, lead, y_ids, y_token, y_position, source, out, P, L, K0, X, K1, Y,
    front_rows, lead_rows,
    has_front: tl.constexpr, has_x: tl.constexpr, has_lead: tl.constexpr, has_y: tl.constexpr,
    span: tl.constexpr, D: tl.constexpr, packed: tl.constexpr,
):  # fmt: skip
    """The vectors of the rows; `front_rows` or `lead_rows` consecutive sequences share a task's vectors."""
    first = tl.program_id(0) * span
    if packed:
        P = tl.load(P)
        if first >= P:
            return
    row, column = first + tl.arange(0, span), tl.arange(0, D)[None, :]
    sequence, place, inside = sequence_and_place(row, source, P, L, packed)
    vector = tl.zeros((span, D), tl.float32)
    if has_front:
        mask = (inside & (place < K0))[:, None]
        at = (sequence // front_rows * K0 + place)[:, None] * D + column
        vector += tl.load(front + at, mask=mask, other=0.0)
    place -= K0
    if has_x:
        vector += _tokens(x_ids, x_token, x_position, sequence, place, inside, X, column, D)
    place -= X
    if has_lead:
        mask = (inside & (place >= 0) & (place < K1))[:, None]
        at = (sequence // lead_rows * K1 + place)[:, None] * D + column
        vector += tl.load(lead + at, mask=mask, other=0.0)
    place -= K1
    if has_y:
        vector += _tokens(y_ids, y_token, y_position, sequence, place, inside, Y, column, D)
    tl.store(out + row[:, None] * D + column, vector, mask=inside[:, None])


@triton.jit(do_not_specialize=_COUNTS)
def task_gradients(
    g, starts, x_lengths, to, L, offset, rows,
    after_x: tl.constexpr, packed: tl.constexpr, span: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """The gradient of a task's vector: the sum over the `rows` sequences that share it.

    The task's vectors start at place `offset`, or if `after_x`, that plus the length of x.
    """
    group, number, count = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    column = tl.arange(0, D)
    total = tl.zeros((D,), tl.float32)
    for first in range(0, rows, span):
        index = first + tl.arange(0, span)
        inside = index < rows
        sequence = group * rows + index
        if packed:
            at = tl.load(starts + sequence, mask=inside, other=0) + offset + number
            if after_x:
                at += tl.load(x_lengths + sequence, mask=inside, other=0).to(tl.int32)
        else:
            at = sequence * L + offset + number
        where = g + at[:, None] * D + column[None, :]
        total += tl.sum(tl.load(where, mask=inside[:, None], other=0.0), 0)
    tl.store(to + (group * count + number) * D + column, total)


@triton.jit(do_not_specialize=_COUNTS)
def token_gradients(
    g, ids, source, parts, P, L, offset, length, tokens,
    span: tl.constexpr, D: tl.constexpr, sums: tl.constexpr, packed: tl.constexpr,
):  # fmt: skip
    """Sums of gradients per token, followed by sums per place of the part.

    The part has `length` places, starting at `offset`. A program computes `sums` of them, over its tiles of
    rows; these are added up afterwards, in a fixed order.
    """
    program, programs, column = tl.program_id(0), tl.num_programs(0), tl.arange(0, D)
    line = tl.program_id(1) * sums + tl.arange(0, sums)
    if packed:
        P = tl.load(P)
    total = tl.zeros((sums, D), tl.float32)
    for tile in range(program, tl.cdiv(P, span), programs):
        row = tile * span + tl.arange(0, span)
        sequence, place, inside = sequence_and_place(row, source, P, L, packed)
        place -= offset
        inside = inside & (place >= 0) & (place < length)
        token = tl.load(ids + sequence * length + place, mask=inside, other=-1)
        place = tl.where(inside, place + tokens, -1)
        is_of = (token[None, :] == line[:, None]) | (place[None, :] == line[:, None])
        where = g + row[:, None] * D + column[None, :]
        found = tl.load(where, mask=inside[:, None], other=0.0)
        total += tl.dot(is_of.to(tl.float32), found.to(tl.float32))
    parts += program * tl.num_programs(1) * (sums * D)
    tl.store(parts + line[:, None] * D + column[None, :], total)


@triton.jit(do_not_specialize=["count"])
def gather(rows, source, out, count, width, span: tl.constexpr, part: tl.constexpr):
    """Select the rows `source`, −1 for zeros; a program copies `part` of their columns."""
    place = tl.program_id(0) * span + tl.arange(0, span)
    column = tl.program_id(1) * part + tl.arange(0, part)
    row = tl.load(source + place, mask=place < count, other=-1)[:, None]
    found = tl.load(rows + row * width + column[None, :], mask=row >= 0, other=0.0)
    to = out + place[:, None].to(tl.int64) * width + column[None, :]
    tl.store(to, found, mask=(place < count)[:, None])
