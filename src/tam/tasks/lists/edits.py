"""Edits of a list. In lambdas, x is the list, v and w are numbers, m and n measures.

Places count from 1. An edit never modifies its input, and raises one of `UNDEFINED` if it has no answer.
"""

from collections.abc import Callable
from itertools import accumulate, dropwhile, pairwise, takewhile

from tam.tasks.lists.grammar import Form, Numbers

_MOST = 1_000


def _at(x: Numbers, place: int, new: Numbers) -> Numbers:
    """Replace the element at an existing place by others."""
    x[place - 1]  # undefined for a shorter list
    return x[: place - 1] + new + x[place:]


def _insert(x: Numbers, place: int, new: Numbers) -> Numbers:
    """Insert others, the first of them at this place."""
    if len(x) < place - 1:
        raise IndexError(place)
    return x[: place - 1] + new + x[place - 1 :]


def _without(x: Numbers, i: int, j: int) -> Numbers:
    x[max(i, j) - 1]  # undefined for a shorter list
    return [v for place, v in enumerate(x, 1) if place not in (i, j)]


def _swap(x: Numbers, i: int, j: int) -> Numbers:
    y = x.copy()
    y[i - 1], y[j - 1] = x[j - 1], x[i - 1]
    return y


def _first_only(x: Numbers, test: Callable[[int], bool], change: Callable[[Numbers], Numbers]) -> Numbers:
    """Change the first element that passes the test."""
    place = next((place for place, v in enumerate(x) if test(v)), len(x))
    return x[:place] + change(x[place : place + 1]) + x[place + 1 :]


def _size(number: int) -> int:
    """Check a number of elements: undefined if it is negative or makes a list too long."""
    if not 0 <= number <= _MOST:
        raise ValueError(number)
    return number


def _from_to(first: int, last: int) -> Numbers:
    return list(range(first, first + _size(last + 1 - first)))


def _then(x: Numbers, one: Callable[[Numbers], Numbers], other: Callable[[Numbers], Numbers]) -> Numbers:
    """Apply one edit after the other; undefined if the first makes the list too long."""
    y = one(x)
    _size(len(y))
    return other(y)


_REARRANGE = (
    Form("reverse", (), lambda x: x[::-1], 5),
    Form("sort", (), sorted, 5),
    Form("sort descending", (), lambda x: sorted(x, reverse=True), 4),
    Form("rotate left by {}", ("count",), lambda x, n: x[n % len(x) :] + x[: n % len(x)], 3),
    Form("rotate right by {}", ("count",), lambda x, n: x[-n % len(x) :] + x[: -n % len(x)], 3),
    Form("swap {} and {}", ("place", "place"), _swap, 5),
    Form("swap first and last", (), lambda x: _swap(x, 1, len(x)), 2),
    Form("move {} first", ("place",), lambda x, n: [x[n - 1], *x[: n - 1], *x[n:]], 2),
    Form("move {} last", ("place",), lambda x, n: [*x[: n - 1], *x[n:], x[n - 1]], 2),
    Form("those {} first", ("test",), lambda x, test: sorted(x, key=lambda v: not test(v)), 2),
    Form("sort by {}", ("change",), lambda x, change: sorted(x, key=change), 1),
)

_SELECT = (
    Form("keep the first {}", ("count",), lambda x, n: x[:n], 4),
    Form("keep the last {}", ("count",), lambda x, n: x[-n:], 4),
    Form("drop the first {}", ("count",), lambda x, n: x[n:], 4),
    Form("drop the last {}", ("count",), lambda x, n: x[:-n], 4),
    Form("keep {1} from {0} on", ("place", "count"), lambda x, i, n: x[i - 1 : i - 1 + n], 5),
    Form("drop {1} from {0} on", ("place", "count"), lambda x, i, n: x[: i - 1] + x[i - 1 + n :], 3),
    Form("remove element {}", ("place",), lambda x, n: _at(x, n, []), 5),
    Form("remove elements {} and {}", ("place", "place"), lambda x, i, j: _without(x, i, j), 2),
    Form("keep elements {} and {}", ("place", "place"), lambda x, i, j: [x[i - 1], x[j - 1]], 3),
    Form("keep odd places", (), lambda x: x[::2], 3),
    Form("keep even places", (), lambda x: x[1::2], 3),
    Form("keep every {}", ("factor",), lambda x, n: x[n - 1 :: n], 2),
    Form("keep first and last", (), lambda x: [x[0], x[-1]], 2),
    Form("different elements", (), lambda x: list(dict.fromkeys(x)), 5),
    Form("those that repeat", (), lambda x: [v for v in x if x.count(v) > 1], 2),
    Form("those that occur once", (), lambda x: [v for v in x if x.count(v) == 1], 2),
    Form("without repeating neighbours", (), lambda x: x[:1] + [b for a, b in pairwise(x) if a != b], 2),
    Form("remove {}s", ("value",), lambda x, v: [w for w in x if w != v], 5),
    Form("keep those {}", ("test",), lambda x, test: list(filter(test, x)), 9),
    Form("remove the first {}", ("test",), lambda x, test: _first_only(x, test, lambda _: []), 2),
    Form("keep while {}", ("test",), lambda x, test: list(takewhile(test, x)), 2),
    Form("drop while {}", ("test",), lambda x, test: list(dropwhile(test, x)), 2),
    Form("keep places {}", ("test",), lambda x, test: [v for i, v in enumerate(x, 1) if test(i)], 2),
    Form("keep those above ({})", ("measure",), lambda x, m: [v for c in [m(x)] for v in x if v > c], 3),
    Form("keep those below ({})", ("measure",), lambda x, m: [v for c in [m(x)] for v in x if v < c], 3),
    Form("keep those equal to ({})", ("measure",), lambda x, m: [v for c in [m(x)] for v in x if v == c], 2),
    Form(
        "remove those equal to ({})", ("measure",), lambda x, m: [v for c in [m(x)] for v in x if v != c], 3
    ),
    Form("keep those above their place", (), lambda x: [v for i, v in enumerate(x, 1) if v > i], 1),
    Form("keep those above the one before", (), lambda x: [b for a, b in pairwise(x) if b > a], 1),
    Form("keep the first ({})", ("measure",), lambda x, m: x[: _size(m(x))], 2),
    Form("drop the first ({})", ("measure",), lambda x, m: x[_size(m(x)) :], 1),
    Form("keep the last ({})", ("measure",), lambda x, m: x[len(x) - min(len(x), _size(m(x))) :], 1),
    Form("keep ({}) to ({})", ("measure", "measure"), lambda x, m, n: x[_size(m(x) - 1) : _size(n(x))], 2),
    Form("remove element number ({})", ("measure",), lambda x, m: _at(x, 1 + _size(m(x) - 1), []), 2),
    Form("keep the largest {}", ("count",), lambda x, n: sorted(x)[-n:], 1),
)

_ALTER = (
    Form("replace {} with {}", ("value", "value"), lambda x, a, b: [b if v == a else v for v in x], 5),
    Form("set element {} to {}", ("place", "value"), lambda x, n, v: _at(x, n, [v]), 5),
    Form("each {}", ("change",), lambda x, change: list(map(change, x)), 10),
    Form("element {} {}", ("place", "change"), lambda x, n, change: _at(x, n, [change(x[n - 1])]), 4),
    Form(
        "first ({0}): ({1})",
        ("test", "change"),
        lambda x, test, c: _first_only(x, test, lambda v: [c(v[0])] if v else v),
        1,
    ),
    Form(
        "set element number ({}) to ({})",
        ("measure", "measure"),
        lambda x, m, n: _at(x, 1 + _size(m(x) - 1), [n(x)]),
        2,
    ),
    Form("set element {} to ({})", ("place", "measure"), lambda x, n, m: _at(x, n, [m(x)]), 3),
    Form(
        "replace those {} with ({})",
        ("test", "measure"),
        lambda x, test, m: [c if test(v) else v for c in [m(x)] for v in x],
        2,
    ),
    Form("each plus its place", (), lambda x: [v + i for i, v in enumerate(x, 1)], 2),
    Form("each minus its place", (), lambda x: [v - i for i, v in enumerate(x, 1)], 1),
    Form("each times its place", (), lambda x: [v * i for i, v in enumerate(x, 1)], 1),
    Form("each plus ({})", ("measure",), lambda x, m: [v + c for c in [m(x)] for v in x], 2),
    Form("each minus ({})", ("measure",), lambda x, m: [v - c for c in [m(x)] for v in x], 2),
    Form("distance of each to ({})", ("measure",), lambda x, m: [abs(v - c) for c in [m(x)] for v in x], 1),
    Form("each as ({})", ("measure",), lambda x, m: [m(x)] * len(x), 2),
    Form("places", (), lambda x: _from_to(1, len(x)), 1),
    Form("places of those {}", ("test",), lambda x, test: [i for i, v in enumerate(x, 1) if test(v)], 2),
    Form("1 for those {}, else 0", ("test",), lambda x, test: [int(test(v)) for v in x], 2),
    Form("running sum", (), lambda x: list(accumulate(x)), 2),
    Form("running maximum", (), lambda x: list(accumulate(x, max)), 1),
    Form("running minimum", (), lambda x: list(accumulate(x, min)), 1),
    Form("sums of neighbours", (), lambda x: [a + b for a, b in pairwise(x)], 1),
    Form("distances of neighbours", (), lambda x: [abs(a - b) for a, b in pairwise(x)], 2),
    Form("larger of neighbours", (), lambda x: [max(a, b) for a, b in pairwise(x)], 1),
    Form("sum with the reverse", (), lambda x: [a + b for a, b in zip(x, x[::-1], strict=True)], 1),
    Form("how often each occurs", (), lambda x: [x.count(v) for v in x], 1),
)

_EXTEND = (
    Form("append {}", ("value",), lambda x, v: [*x, v], 4),
    Form("prepend {}", ("value",), lambda x, v: [v, *x], 4),
    Form("insert {1} as {0}", ("place", "value"), lambda x, n, v: _insert(x, n, [v]), 5),
    Form("insert {1} as {0}", ("place", "values"), _insert, 2),
    Form("prepend {}", ("values",), lambda x, some: some + x, 3),
    Form("append {}", ("values",), lambda x, some: x + some, 3),
    Form("between {} and {}", ("values", "values"), lambda x, some, others: some + x + others, 2),
    Form("append ({})", ("measure",), lambda x, m: [*x, m(x)], 5),
    Form("prepend ({})", ("measure",), lambda x, m: [m(x), *x], 5),
    Form("insert ({1}) as {0}", ("place", "measure"), lambda x, n, m: _insert(x, n, [m(x)]), 2),
    Form("{} times", ("factor",), lambda x, n: x * n, 2),
    Form("each {} times", ("factor",), lambda x, n: [v for v in x for _ in range(n)], 3),
    Form("each as often as itself", (), lambda x: [v for v in x for _ in range(_size(v))], 1),
    Form("append the reverse", (), lambda x: x + x[::-1], 2),
    Form("{} after each", ("value",), lambda x, v: [w for u in x for w in (u, v)], 1),
    Form("{} before each", ("value",), lambda x, v: [w for u in x for w in (v, u)], 1),
    Form("{} between neighbours", ("value",), lambda x, v: [w for u in x for w in (v, u)][1:], 1),
    Form("each with its place", (), lambda x: [w for pair in enumerate(x, 1) for w in pair], 1),
    Form(
        "{1} after those ({0})",
        ("test", "value"),
        lambda x, test, v: [w for u in x for w in ((u, v) if test(u) else (u,))],
        2,
    ),
    Form("those {} twice", ("test",), lambda x, test: [v for v in x for _ in range(1 + test(v))], 2),
)

_BUILD = (
    Form("only ({})", ("measure",), lambda x, m: [m(x)], 24),
    Form("only element {}", ("place",), lambda x, n: [x[n - 1]], 8),
    Form("only ({}) and ({})", ("measure", "measure"), lambda x, m, n: [m(x), n(x)], 5),
    Form("({}) to the last", ("measure",), lambda x, m: _from_to(m(x), x[-1]), 1),
    Form("1 to ({})", ("measure",), lambda x, m: _from_to(1, m(x)), 2),
    Form("({}) down to 1", ("measure",), lambda x, m: _from_to(1, m(x))[::-1], 1),
    Form("({}) as often as ({})", ("measure", "measure"), lambda x, m, n: [m(x)] * _size(n(x)), 3),
    Form("{}", ("values",), lambda _, some: list(some), 2),
)

_COMBINE = (
    Form("{} → {}", ("edit", "edit"), _then, 70),
    Form("({}) ++ ({})", ("edit", "edit"), lambda x, one, other: one(x) + other(x), 12),
    Form("append ({})", ("edit",), lambda x, edit: x + edit(x), 4),
    Form("prepend ({})", ("edit",), lambda x, edit: edit(x) + x, 4),
    Form("all but the first: ({})", ("edit",), lambda x, edit: [x[0], *edit(x[1:])], 8),
    Form("all but the last: ({})", ("edit",), lambda x, edit: [*edit(x[:-1]), x[-1]], 4),
    Form("if ({}): ({})", ("condition", "edit"), lambda x, c, edit: edit(x) if c(x) else x, 10),
    Form(
        "if ({}): ({}), else ({})",
        ("condition", "edit", "edit"),
        lambda x, c, one, other: one(x) if c(x) else other(x),
        12,
    ),
)

EDITS = (*_REARRANGE, *_SELECT, *_ALTER, *_EXTEND, *_BUILD, *_COMBINE)
