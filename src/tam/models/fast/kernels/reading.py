"""From hidden states through a LayerNorm and a linear layer to log-probabilities of answers; and backward.

Rows are as in the kernels of `sequence`. From place `first` of a sequence on, they predict the tokens of y
and then its end, which is the last outcome. If the answer is a class, only one place is read. Other rows have
no log-probability and no gradient.
"""

import triton
import triton.language as tl

from tam.models.fast.kernels.parts import dot, standard, standard_backward
from tam.models.fast.kernels.sequence import sequence_and_place

_COUNTS = ["P", "L", "first", "Q", "C", "rows", "capacity"]


@triton.jit
def _targets(
    row, y, y_lengths, source, P, L, first, Q, C, packed: tl.constexpr, is_sequence: tl.constexpr
):  # fmt: skip
    """For each row: its sequence, its target, the index of its log-probability, and whether it is scored."""
    sequence, place, inside = sequence_and_place(row, source, P, L, packed)
    place -= first
    if is_sequence:
        length = tl.load(y_lengths + sequence, mask=inside, other=0)
        scored = inside & (place >= 0) & (place <= length)
        target = tl.load(y + sequence * (Q - 1) + place, mask=scored & (place < length), other=C - 1)
    else:
        scored = inside & (place == 0)
        target = tl.load(y + sequence, mask=scored, other=0)
    return sequence, target, sequence * Q + place, scored


@triton.jit
def _standardised(h, row, P, D: tl.constexpr):
    """The rows' hidden states, standardised, and their inverse deviation."""
    at = row[:, None] * D + tl.arange(0, D)[None, :]
    return standard(tl.load(h + at, mask=(row < P)[:, None], other=0.0).to(tl.float32), D)


@triton.jit
def _logits(
    x_hat, scale, shift, w, bias, outcome, sequence, scored, classes, C, rows,
    D: tl.constexpr, limited: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The logits of these outcomes; −∞ for those that do not exist."""
    column = tl.arange(0, D)
    x = x_hat * tl.load(scale + column)[None, :] + tl.load(shift + column)[None, :]
    logits = dot(x, tl.trans(w), dtype) + tl.load(bias + outcome, mask=outcome < C, other=0.0)[None, :]
    if limited:
        most = tl.load(classes + sequence // rows, mask=scored, other=1)
        return tl.where(outcome[None, :] < most[:, None], logits, float("-inf"))
    return tl.where((outcome < C)[None, :], logits, float("-inf"))


@triton.jit(do_not_specialize=_COUNTS)
def read_forward(
    h, scale, shift, weight, bias, y, y_lengths, classes, source, log_prob, totals, P, L, first, Q, C, rows,
    span: tl.constexpr, D: tl.constexpr, outcomes: tl.constexpr, packed: tl.constexpr,
    is_sequence: tl.constexpr, limited: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The log-probabilities of the answers, and each row's logsumexp over all outcomes."""
    row = tl.program_id(0) * span + tl.arange(0, span)
    if packed:
        P = tl.load(P)
        if tl.program_id(0) * span >= P:
            return
    outcome = tl.arange(0, outcomes)
    sequence, target, to, scored = _targets(row, y, y_lengths, source, P, L, first, Q, C, packed, is_sequence)
    x_hat, _inverse = _standardised(h, row, P, D)
    w = weight.load([0, 0])
    logits = _logits(
        x_hat, scale, shift, w, bias, outcome, sequence, scored, classes, C, rows, D, limited, dtype
    )
    top = tl.max(logits, 1)
    total = top + tl.log(tl.sum(tl.exp(logits - top[:, None]), 1))
    chosen = tl.sum(tl.where(outcome[None, :] == target[:, None], logits, 0.0), 1)
    tl.store(log_prob + to, chosen - total, mask=scored)
    tl.store(totals + row, total, mask=row < P)


@triton.jit
def _logit_gradients(logits, total, target, outcome, g):
    """The gradients of the logits, from that of the log-probability of the target."""
    probability = tl.exp(logits - total[:, None])
    return ((outcome[None, :] == target[:, None]).to(tl.float32) - probability) * g[:, None]


@triton.jit(do_not_specialize=_COUNTS)
def read_backward(
    h, scale, shift, weight, bias, y, y_lengths, classes, source, totals, g_log_prob, g_h, P, L, first, Q, C,
    rows, capacity,
    span: tl.constexpr, D: tl.constexpr, outcomes: tl.constexpr, part: tl.constexpr, packed: tl.constexpr,
    is_sequence: tl.constexpr, limited: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """The gradient of the hidden states; 0 at rows that are not read, up to the end of the last tile."""
    row, column = tl.program_id(0) * span + tl.arange(0, span), tl.arange(0, D)
    if packed:
        P = tl.load(P)
        if tl.program_id(0) * span >= P:
            return
    sequence, target, at, scored = _targets(row, y, y_lengths, source, P, L, first, Q, C, packed, is_sequence)
    x_hat, inverse = _standardised(h, row, P, D)
    g = tl.load(g_log_prob + at, mask=scored, other=0.0)
    total = tl.load(totals + row, mask=row < P, other=0.0)
    g_x = tl.zeros((span, D), tl.float32)
    for start in range(0, outcomes, part):
        outcome, w = start + tl.arange(0, part), weight.load([start, 0])
        logits = _logits(
            x_hat, scale, shift, w, bias, outcome, sequence, scored, classes, C, rows, D, limited, dtype
        )
        g_logits = tl.where(scored[:, None], _logit_gradients(logits, total, target, outcome, g), 0.0)
        g_x += dot(g_logits, w, dtype)
    g_x = standard_backward(g_x * tl.load(scale + column)[None, :], x_hat, inverse, D)
    tl.store(g_h + row[:, None] * D + column[None, :], g_x, mask=(row < capacity)[:, None])


@triton.jit(do_not_specialize=_COUNTS)
def read_weights(
    h, scale, shift, weight, bias, y, y_lengths, classes, source, totals, g_log_prob, parts, P, L, first,
    Q, C, rows,
    span: tl.constexpr, D: tl.constexpr, part: tl.constexpr, packed: tl.constexpr,
    is_sequence: tl.constexpr, limited: tl.constexpr, dtype: tl.constexpr,
):  # fmt: skip
    """Gᵀ X and Gᵀ 1 for `part` outcomes and a share of the rows, where X is standardised.

    The shares are added up afterwards, in a fixed order.
    """
    share, shares = tl.program_id(0), tl.num_programs(0)
    outcome, column = tl.program_id(1) * part + tl.arange(0, part), tl.arange(0, D)
    if packed:
        P = tl.load(P)
    w = weight.load([tl.program_id(1) * part, 0])
    square, line = tl.zeros((part, D), tl.float32), tl.zeros((part,), tl.float32)
    for tile in range(share, tl.cdiv(P, span), shares):
        row = tile * span + tl.arange(0, span)
        sequence, target, at, scored = _targets(
            row, y, y_lengths, source, P, L, first, Q, C, packed, is_sequence
        )
        x_hat, _inverse = _standardised(h, row, P, D)
        logits = _logits(
            x_hat, scale, shift, w, bias, outcome, sequence, scored, classes, C, rows, D, limited, dtype
        )
        g = tl.load(g_log_prob + at, mask=scored, other=0.0)
        total = tl.load(totals + row, mask=row < P, other=0.0)
        g_logits = tl.where(scored[:, None], _logit_gradients(logits, total, target, outcome, g), 0.0)
        square += dot(tl.trans(g_logits.to(dtype)), x_hat.to(dtype), dtype)
        line += tl.sum(g_logits, 0)
    all_outcomes = tl.num_programs(1) * part
    parts += share * (all_outcomes * (D + 1))
    tl.store(parts + outcome[:, None] * D + column[None, :], square)
    tl.store(parts + all_outcomes * D + outcome, line)


@triton.jit(do_not_specialize=["C"])
def finish_weights(
    sums, weight, scale, shift, g_scale, g_shift, g_weight, g_bias, C,
    part: tl.constexpr, D: tl.constexpr, outcomes: tl.constexpr,
):  # fmt: skip
    """The gradients of the LayerNorm and the linear layer, `part` columns of them, from the summed shares."""
    column, outcome = tl.program_id(0) * part + tl.arange(0, part), tl.arange(0, outcomes)
    there = (outcome < C)[:, None]
    at = outcome[:, None] * D + column[None, :]
    square, line = tl.load(sums + at), tl.load(sums + outcomes * D + outcome)
    w = tl.load(weight + at, mask=there, other=0.0)
    tl.store(g_scale + column, tl.sum(square * w, 0))
    tl.store(g_shift + column, tl.sum(line[:, None] * w, 0))
    scaled = square * tl.load(scale + column)[None, :] + line[:, None] * tl.load(shift + column)[None, :]
    tl.store(g_weight + at, scaled, mask=there)
    if tl.program_id(0) == 0:
        tl.store(g_bias + outcome, line, mask=outcome < C)
