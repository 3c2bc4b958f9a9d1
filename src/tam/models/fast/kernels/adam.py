"""Adam on θ, and on the task embeddings of a batch, with their early stopping."""

import triton
import triton.language as tl


@triton.jit
def squares(
    gradient, count, moves, corrections, parts, size,
    log_beta1: tl.constexpr, log_beta2: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Sums of squares of the gradient, one per program; the first program also counts the update.

    Sets `corrections` to 1 − βᵗ for both betas after t updates, computed in float64, as βᵗ is close to 1.
    """
    program, programs = tl.program_id(0), tl.num_programs(0)
    total = tl.zeros((block,), tl.float32)
    for start in range(program * block, size, programs * block):
        at = start + tl.arange(0, block)
        g = tl.load(gradient + at, mask=at < size, other=0.0)
        total += g * g
    tl.store(parts + program, tl.sum(total, 0))
    if program == 0:
        done = tl.load(moves) + (tl.load(count) > 0).to(tl.float32)
        tl.store(moves, done)
        power = tl.maximum(done, 1.0).to(tl.float64)
        tl.store(corrections, (1.0 - tl.exp(power * log_beta1)).to(tl.float32))
        tl.store(corrections + 1, (1.0 - tl.exp(power * log_beta2)).to(tl.float32))


@triton.jit
def move(
    values, gradient, mean, square, starts, sizes, parts, corrections, count, rate, norm, clip, table_rows,
    beta1: tl.constexpr, beta2: tl.constexpr, epsilon: tl.constexpr,
    programs: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Clip the gradient, update one piece of θ and of both moments, and clear the piece's gradient.

    The first `table_rows` pieces are rows of embedding tables, which are not updated if their gradient is 0.
    `parts` are the sums of squares from `programs` programs. Sets `norm` to the norm of the gradient.
    """
    piece, lane = tl.program_id(0), tl.arange(0, block)
    start, size = tl.load(starts + piece), tl.load(sizes + piece)
    tasks = tl.load(count)
    over = tl.maximum(tasks, 1.0)
    length = tl.sqrt(tl.sum(tl.load(parts + tl.arange(0, programs)), 0)) / over
    if piece == 0:
        tl.store(norm, length)
    factor = clip / (length + 1e-6)
    factor = tl.where(factor > 1.0, 1.0, factor)  # NaN stays
    used = (tasks > 0).to(tl.float32)
    if piece < table_rows:
        seen = tl.zeros((block,), tl.int32)
        for first in range(0, size, block):
            inside = first + lane < size
            g = tl.load(gradient + start + first + lane, mask=inside, other=0.0) / over * factor
            seen = seen | ((g != 0.0) & inside).to(tl.int32)
        used *= tl.max(seen, 0).to(tl.float32)
    of_mean, of_square, speed = tl.load(corrections), tl.load(corrections + 1), tl.load(rate)
    for first in range(0, size, block):
        at, inside = start + first + lane, first + lane < size
        g = tl.load(gradient + at, mask=inside, other=0.0) / over * factor
        m = tl.load(mean + at, mask=inside, other=0.0)
        s = tl.load(square + at, mask=inside, other=0.0)
        m += used * (1.0 - beta1) * (g - m)
        s += used * (1.0 - beta2) * (g * g - s)
        change = used * speed * (m / of_mean) / (tl.sqrt(s / of_square) + epsilon)
        value = tl.load(values + at, mask=inside, other=0.0)
        tl.store(values + at, value - change, mask=inside)
        tl.store(mean + at, m, mask=inside)
        tl.store(square + at, s, mask=inside)
        tl.store(gradient + at, tl.zeros((block,), tl.float32), mask=inside)


@triton.jit
def move_tasks(
    z, mean, square, gradient, active, powers, rate, to_z, to_mean, to_square, to_powers, size, rate_stride,
    beta1: tl.constexpr, beta2: tl.constexpr, epsilon: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """One step of Adam on some numbers of a task; `powers` are βᵗ of both betas before it, in float64."""
    task, part = tl.program_id(0), tl.program_id(1)
    lane = part * block + tl.arange(0, block)
    at, inside = task.to(tl.int64) * size + lane, lane < size
    first, second = tl.load(powers) * beta1, tl.load(powers + 1) * beta2
    if (task == 0) & (part == 0):
        tl.store(to_powers, first)
        tl.store(to_powers + 1, second)
    g = tl.load(gradient + at, mask=inside, other=0.0)
    m = tl.load(mean + at, mask=inside, other=0.0)
    s = tl.load(square + at, mask=inside, other=0.0)
    m += (1.0 - beta1) * (g - m)
    s += (1.0 - beta2) * (g * g - s)
    of_mean, of_square = (1.0 - first).to(tl.float32), (1.0 - second).to(tl.float32)
    change = tl.load(rate + task * rate_stride) * (m / of_mean) / (tl.sqrt(s / of_square) + epsilon)
    value = tl.load(z + at, mask=inside, other=0.0)
    tl.store(to_z + at, value - change * tl.load(active + task), mask=inside)
    tl.store(to_mean + at, m, mask=inside)
    tl.store(to_square + at, s, mask=inside)


@triton.jit(do_not_specialize=["tasks"])
def watch_tasks(
    loss, best, worse, active, patience, to_best, to_worse, to_active, count, tasks, block: tl.constexpr
):
    """Update each task's lowest loss, steps without improvement and activity; also count active tasks."""
    limit = tl.load(patience)
    total = tl.zeros((block,), tl.float32)
    for first in range(0, tasks, block):
        at = first + tl.arange(0, block)
        inside = at < tasks
        now = tl.load(loss + at, mask=inside, other=0.0)
        lowest = tl.load(best + at, mask=inside, other=0.0)
        steps = tl.where(now < lowest, 0.0, tl.load(worse + at, mask=inside, other=0.0) + 1.0)
        moves = tl.load(active + at, mask=inside, other=0.0) * (steps < limit).to(tl.float32)
        tl.store(to_best + at, tl.where((now < lowest) | (now != now), now, lowest), mask=inside)
        tl.store(to_worse + at, steps, mask=inside)
        tl.store(to_active + at, moves, mask=inside)
        total += moves
    tl.store(count, tl.sum(total, 0))
