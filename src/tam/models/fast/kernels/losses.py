"""The losses of examples and tasks, from the log-probabilities of the parts of answers."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["N", "Q"])
def task_losses(
    log_prob, y_lengths, present, means, counts, totals, predictions, N, Q,
    is_sequence: tl.constexpr, some: tl.constexpr, span: tl.constexpr, places: tl.constexpr,
):  # fmt: skip
    """A task's mean loss over its predictions and their number, at least 1; each example's total and number.

    If only `some` rows are examples, `present` marks them.
    """
    task, place = tl.program_id(0), tl.arange(0, places)[None, :]
    loss, count = tl.zeros((span,), tl.float32), tl.zeros((span,), tl.float32)
    for first in range(0, N, span):
        index = first + tl.arange(0, span)
        inside = index < N
        row = task * N + index
        at, mask = row[:, None] * Q + place, inside[:, None] & (place < Q)
        total = -tl.sum(tl.load(log_prob + at, mask=mask, other=0.0), 1)
        number = tl.where(inside, 1.0, 0.0)
        if is_sequence:
            number += tl.load(y_lengths + row, mask=inside, other=0).to(tl.float32)
        if some:
            there = tl.load(present + row, mask=inside, other=0) != 0
            total, number = tl.where(there, total, 0.0), tl.where(there, number, 0.0)
        tl.store(totals + row, total, mask=inside)
        tl.store(predictions + row, number, mask=inside)
        loss += total
        count += number
    number = tl.maximum(tl.sum(count, 0), 1.0)
    tl.store(means + task, tl.sum(loss, 0) / number)
    tl.store(counts + task, number)


@triton.jit(do_not_specialize=["N", "Q"])
def loss_gradients(g_means, counts, present, g_log_prob, N, Q, some: tl.constexpr, span: tl.constexpr):
    """The gradients of all log-probabilities, from those of the tasks' losses."""
    at = tl.program_id(1) * span + tl.arange(0, span)
    task, size = tl.program_id(0), N * Q
    g = -tl.load(g_means + task) / tl.load(counts + task)
    values = tl.zeros((span,), tl.float32) + g
    if some:
        there = tl.load(present + task * N + at // Q, mask=at < size, other=0) != 0
        values = tl.where(there, values, 0.0)
    tl.store(g_log_prob + task * size + at, values, mask=at < size)


@triton.jit(do_not_specialize=["N"])
def chosen_rows(g, totals, predictions, chosen, losses, to, N, S, span: tl.constexpr, part: tl.constexpr):
    """A task's loss over the chosen rows and its gradient, from each row's gradient of the loss over all."""
    task, column = tl.program_id(0), tl.program_id(1) * part + tl.arange(0, part)
    every = tl.zeros((span,), tl.float32)
    some = tl.zeros((span,), tl.float32)
    loss = tl.zeros((span,), tl.float32)
    sums = tl.zeros((part,), tl.float32)
    for first in range(0, N, span):
        index = first + tl.arange(0, span)
        inside = index < N
        row = task * N + index
        weight = tl.load(chosen + row, mask=inside, other=0.0)
        number = tl.load(predictions + row, mask=inside, other=0.0)
        every += number
        some += number * weight
        loss += tl.load(totals + row, mask=inside, other=0.0) * weight
        at = row.to(tl.int64)[:, None] * S + column[None, :]
        mask = inside[:, None] & (column < S)[None, :]
        sums += tl.sum(tl.load(g + at, mask=mask, other=0.0) * weight[:, None], 0)
    predicted = tl.sum(some, 0)
    tl.store(to + task * S + column, sums * (tl.sum(every, 0) / predicted), mask=column < S)
    if tl.program_id(1) == 0:
        tl.store(losses + task, tl.sum(loss, 0) / predicted)
