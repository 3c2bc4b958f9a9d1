"""What every form computes, beside answers that were worked out by hand."""

from typing import Any

import pytest

from tam.tasks.lists.grammar import UNDEFINED, Form
from tam.tasks.lists.programs import FORMS

X = [5, 3, 8, 5, 1]
FIRST, SMALLEST, LENGTH = (lambda x: x[0]), min, len


def even(v: int) -> bool:
    return v % 2 == 0


def double(v: int) -> int:
    return 2 * v


def tail(x: list[int]) -> list[int]:
    return x[1:]


CASES: dict[str, list[tuple[str, tuple[Any, ...], Any, Any]]] = {
    "test": [
        ("even", (), 4, True),
        ("odd", (), 4, False),
        ("above {}", (4,), 4, False),
        ("below {}", (4,), 3, True),
        ("equal to {}", (4,), 4, True),
        ("divisible by {}", (3,), 9, True),
        ("between {} and {}", (9, 2), 5, True),
        ("ending in {}", (3,), 43, True),
        ("of two digits", (), 9, False),
        ("with ({}) ({})", (double, even), 3, True),
        ("not ({})", (even,), 4, False),
        ("({}) and ({})", (even, lambda v: v > 4), 4, False),
    ],
    "change": [
        ("plus {}", (3,), 4, 7),
        ("minus {}", (3,), 4, 1),
        ("{} minus it", (9,), 4, 5),
        ("distance to {}", (9,), 4, 5),
        ("times {}", (3,), 4, 12),
        ("divided by {}", (3,), 8, 2),
        ("modulo {}", (3,), 8, 2),
        ("at most {}", (3,), 8, 3),
        ("at least {}", (3,), 2, 3),
        ("its tens", (), 47, 4),
        ("its ones", (), 47, 7),
        ("({}) then ({})", (double, lambda v: v + 1), 3, 7),
        ("({1}) if ({0})", (even, double), 3, 3),
        ("{1} if ({0}), else {2}", (even, 7, 9), 3, 9),
    ],
    "measure": [
        ("first", (), X, 5),
        ("last", (), X, 1),
        ("element {}", (2,), X, 3),
        ("element {} from the end", (2,), X, 5),
        ("length", (), X, 5),
        ("sum", (), X, 22),
        ("product", (), [2, 3, 4], 24),
        ("maximum", (), X, 8),
        ("minimum", (), X, 1),
        ("largest element {}", (2,), X, 5),
        ("smallest element {}", (2,), X, 3),
        ("median", (), X, 5),
        ("most frequent", (), X, 5),
        ("number of different elements", (), X, 4),
        ("maximum minus minimum", (), X, 7),
        ("place of the maximum", (), X, 3),
        ("place of the minimum", (), X, 5),
        ("place of {}", (8,), X, 3),
        ("number of {}s", (5,), X, 2),
        ("{}", (9,), X, 9),
        ("number of elements {}", (even,), X, 1),
        ("sum of elements {}", (even,), [4, 3, 6], 10),
        ("first element {}", (even,), [3, 6, 4], 6),
        ("last element {}", (even,), [3, 6, 4, 5], 4),
        ("({}) ({})", (FIRST, double), X, 10),
        ("({}) + ({})", (FIRST, SMALLEST), X, 6),
        ("({}) - ({})", (FIRST, SMALLEST), X, 4),
        ("({}) · ({})", (FIRST, LENGTH), X, 25),
        ("element number ({})", (SMALLEST,), X, 5),
        ("1 if ({}), else 0", (lambda x: len(x) > 2,), X, 1),
        ("({}) of ({})", (FIRST, tail), X, 3),
    ],
    "condition": [
        ("longer than {}", (5,), X, False),
        ("containing {}", (8,), X, True),
        ("ascending", (), [1, 1, 4], True),
        ("without repeats", (), X, False),
        ("beginning and ending alike", (), [2, 7, 2], True),
        ("({}) ({})", (FIRST, even), X, False),
        ("({}) > ({})", (FIRST, SMALLEST), X, True),
        ("({}) = ({})", (FIRST, LENGTH), X, True),
        ("all {}", (even,), [2, 4], True),
        ("any {}", (even,), [1, 3], False),
    ],
    "edit": [
        ("reverse", (), X, [1, 5, 8, 3, 5]),
        ("sort", (), X, [1, 3, 5, 5, 8]),
        ("sort descending", (), X, [8, 5, 5, 3, 1]),
        ("rotate left by {}", (2,), X, [8, 5, 1, 5, 3]),
        ("rotate right by {}", (6,), X, [1, 5, 3, 8, 5]),
        ("swap {} and {}", (1, 3), X, [8, 3, 5, 5, 1]),
        ("swap first and last", (), X, [1, 3, 8, 5, 5]),
        ("move {} first", (3,), X, [8, 5, 3, 5, 1]),
        ("move {} last", (2,), X, [5, 8, 5, 1, 3]),
        ("those {} first", (even,), [3, 4, 1, 2], [4, 2, 3, 1]),
        ("sort by {}", (lambda v: v % 3,), [5, 3, 4], [3, 4, 5]),
        ("keep the first {}", (2,), X, [5, 3]),
        ("keep the last {}", (2,), X, [5, 1]),
        ("drop the first {}", (2,), X, [8, 5, 1]),
        ("drop the last {}", (2,), X, [5, 3, 8]),
        ("keep {1} from {0} on", (2, 3), X, [3, 8, 5]),
        ("drop {1} from {0} on", (2, 3), X, [5, 1]),
        ("remove element {}", (2,), X, [5, 8, 5, 1]),
        ("remove elements {} and {}", (4, 1), X, [3, 8, 1]),
        ("keep elements {} and {}", (3, 1), X, [8, 5]),
        ("keep odd places", (), X, [5, 8, 1]),
        ("keep even places", (), X, [3, 5]),
        ("keep every {}", (2,), X, [3, 5]),
        ("keep first and last", (), X, [5, 1]),
        ("different elements", (), X, [5, 3, 8, 1]),
        ("those that repeat", (), X, [5, 5]),
        ("those that occur once", (), X, [3, 8, 1]),
        ("without repeating neighbours", (), [4, 4, 2, 4], [4, 2, 4]),
        ("remove {}s", (5,), X, [3, 8, 1]),
        ("keep those {}", (even,), X, [8]),
        ("remove the first {}", (even,), [3, 4, 2], [3, 2]),
        ("keep while {}", (even,), [4, 2, 3, 6], [4, 2]),
        ("drop while {}", (even,), [4, 2, 3, 6], [3, 6]),
        ("keep places {}", (even,), X, [3, 5]),
        ("keep those above ({})", (FIRST,), X, [8]),
        ("keep those below ({})", (FIRST,), X, [3, 1]),
        ("keep those equal to ({})", (FIRST,), X, [5, 5]),
        ("remove those equal to ({})", (FIRST,), X, [3, 8, 1]),
        ("keep those above their place", (), X, [5, 3, 8, 5]),
        ("keep those above the one before", (), X, [8]),
        ("keep the first ({})", (SMALLEST,), X, [5]),
        ("drop the first ({})", (SMALLEST,), X, [3, 8, 5, 1]),
        ("keep the last ({})", (SMALLEST,), X, [1]),
        ("keep ({}) to ({})", (SMALLEST, lambda x: x[1]), X, [5, 3, 8]),
        ("remove element number ({})", (SMALLEST,), X, [3, 8, 5, 1]),
        ("keep the largest {}", (2,), X, [5, 8]),
        ("replace {} with {}", (5, 0), X, [0, 3, 8, 0, 1]),
        ("set element {} to {}", (2, 9), X, [5, 9, 8, 5, 1]),
        ("each {}", (double,), X, [10, 6, 16, 10, 2]),
        ("element {} {}", (2, double), X, [5, 6, 8, 5, 1]),
        ("first ({0}): ({1})", (even, double), [3, 4, 2], [3, 8, 2]),
        ("set element number ({}) to ({})", (SMALLEST, LENGTH), [2, 9, 7], [2, 3, 7]),
        ("set element {} to ({})", (2, LENGTH), X, [5, 5, 8, 5, 1]),
        ("replace those {} with ({})", (even, FIRST), X, [5, 3, 5, 5, 1]),
        ("each plus its place", (), X, [6, 5, 11, 9, 6]),
        ("each minus its place", (), X, [4, 1, 5, 1, -4]),
        ("each times its place", (), X, [5, 6, 24, 20, 5]),
        ("each plus ({})", (LENGTH,), X, [10, 8, 13, 10, 6]),
        ("each minus ({})", (SMALLEST,), X, [4, 2, 7, 4, 0]),
        ("distance of each to ({})", (FIRST,), X, [0, 2, 3, 0, 4]),
        ("each as ({})", (FIRST,), X, [5, 5, 5, 5, 5]),
        ("places", (), X, [1, 2, 3, 4, 5]),
        ("places of those {}", (even,), X, [3]),
        ("1 for those {}, else 0", (even,), X, [0, 0, 1, 0, 0]),
        ("running sum", (), X, [5, 8, 16, 21, 22]),
        ("running maximum", (), X, [5, 5, 8, 8, 8]),
        ("running minimum", (), X, [5, 3, 3, 3, 1]),
        ("sums of neighbours", (), X, [8, 11, 13, 6]),
        ("distances of neighbours", (), X, [2, 5, 3, 4]),
        ("larger of neighbours", (), X, [5, 8, 8, 5]),
        ("sum with the reverse", (), X, [6, 8, 16, 8, 6]),
        ("how often each occurs", (), X, [2, 1, 1, 2, 1]),
        ("append {}", (9,), X, [5, 3, 8, 5, 1, 9]),
        ("prepend {}", (9,), X, [9, 5, 3, 8, 5, 1]),
        ("insert {1} as {0}", (2, 9), X, [5, 9, 3, 8, 5, 1]),
        ("insert {1} as {0}", (2, [9, 0]), X, [5, 9, 0, 3, 8, 5, 1]),
        ("prepend {}", ([9, 0],), X, [9, 0, 5, 3, 8, 5, 1]),
        ("append {}", ([9, 0],), X, [5, 3, 8, 5, 1, 9, 0]),
        ("between {} and {}", ([9], [7, 7]), X, [9, 5, 3, 8, 5, 1, 7, 7]),
        ("append ({})", (LENGTH,), X, [5, 3, 8, 5, 1, 5]),
        ("prepend ({})", (SMALLEST,), X, [1, 5, 3, 8, 5, 1]),
        ("insert ({1}) as {0}", (2, SMALLEST), X, [5, 1, 3, 8, 5, 1]),
        ("{} times", (2,), [4, 7], [4, 7, 4, 7]),
        ("each {} times", (2,), [4, 7], [4, 4, 7, 7]),
        ("each as often as itself", (), [2, 0, 1], [2, 2, 1]),
        ("append the reverse", (), [4, 7], [4, 7, 7, 4]),
        ("{} after each", (0,), [4, 7], [4, 0, 7, 0]),
        ("{} before each", (0,), [4, 7], [0, 4, 0, 7]),
        ("{} between neighbours", (0,), [4, 7, 2], [4, 0, 7, 0, 2]),
        ("each with its place", (), [4, 7], [1, 4, 2, 7]),
        ("{1} after those ({0})", (even, 9), [4, 7], [4, 9, 7]),
        ("those {} twice", (even,), [4, 7], [4, 4, 7]),
        ("only ({})", (LENGTH,), X, [5]),
        ("only element {}", (3,), X, [8]),
        ("only ({}) and ({})", (SMALLEST, LENGTH), X, [1, 5]),
        ("({}) to the last", (SMALLEST,), [2, 5], [2, 3, 4, 5]),
        ("1 to ({})", (LENGTH,), [7, 7, 7], [1, 2, 3]),
        ("({}) down to 1", (LENGTH,), [7, 7, 7], [3, 2, 1]),
        ("({}) as often as ({})", (FIRST, LENGTH), [7, 0], [7, 7]),
        ("{}", ([9, 0],), X, [9, 0]),
        ("{} → {}", (tail, sorted), X, [1, 3, 5, 8]),
        ("({}) ++ ({})", (tail, sorted), [4, 2], [2, 2, 4]),
        ("append ({})", (tail,), [4, 2], [4, 2, 2]),
        ("prepend ({})", (tail,), [4, 2], [2, 4, 2]),
        ("all but the first: ({})", (sorted,), X, [5, 1, 3, 5, 8]),
        ("all but the last: ({})", (sorted,), X, [3, 5, 5, 8, 1]),
        ("if ({}): ({})", (lambda x: len(x) > 5, tail), X, X),
        ("if ({}): ({}), else ({})", (lambda x: len(x) > 5, tail, sorted), X, [1, 3, 5, 5, 8]),
    ],
}
"""For each kind: a form by its text, its arguments, the input and the answer, in the order of the forms."""

PAIRS = [
    pytest.param(form, case, id=f"{kind}: {form.text}")
    for kind, forms in FORMS.items()
    for form, case in zip(forms, CASES[kind], strict=True)
]

UNDEFINED_CASES = [
    ("measure", "maximum", (), []),
    ("measure", "element {}", (6,), X),
    ("measure", "element number ({})", (lambda _: 0,), X),
    ("measure", "first element {}", (even,), [1, 3]),
    ("edit", "rotate left by {}", (1,), []),
    ("edit", "swap {} and {}", (1, 6), X),
    ("edit", "remove element {}", (6,), X),
    ("edit", "remove elements {} and {}", (6, 1), X),
    ("edit", "insert {1} as {0}", (7, 9), X),
    ("edit", "drop the first ({})", (lambda _: -1,), X),
    ("edit", "({}) as often as ({})", (FIRST, lambda _: 10**9), X),
    ("edit", "({}) to the last", (SMALLEST,), [0, 10**9]),
    ("edit", "{} → {}", (lambda x: 1000 * x, tail), X),
]


@pytest.mark.parametrize(("form", "case"), PAIRS)
def test_form(form: Form, case: tuple[str, tuple[Any, ...], Any, Any]) -> None:
    text, arguments, x, y = case
    assert (form.text, len(form.takes)) == (text, len(arguments))
    before = list(x) if isinstance(x, list) else x
    assert form.run(x, *arguments) == y
    assert x == before


@pytest.mark.parametrize(("kind", "text", "arguments", "x"), UNDEFINED_CASES)
def test_where_a_form_is_undefined(kind: str, text: str, arguments: tuple[Any, ...], x: list[int]) -> None:
    form = next(form for form in FORMS[kind] if form.text == text)
    with pytest.raises(UNDEFINED):
        form.run(x, *arguments)
