"""Measures of a list, and conditions on it. In lambdas, x is the list; places count from 1."""

from math import prod

from tam.tasks.lists.grammar import Form, Numbers


def _element(x: Numbers, place: int) -> int:
    """The element at a place; undefined if there is none."""
    return x[[*range(1, len(x) + 1)].index(place)]


MEASURES = (
    Form("first", (), lambda x: x[0], 4),
    Form("last", (), lambda x: x[-1], 4),
    Form("element {}", ("place",), lambda x, n: x[n - 1], 6),
    Form("element {} from the end", ("place",), lambda x, n: x[-n], 2),
    Form("length", (), len, 4),
    Form("sum", (), sum, 3),
    Form("product", (), prod, 1),
    Form("maximum", (), max, 4),
    Form("minimum", (), min, 4),
    Form("largest element {}", ("count",), lambda x, n: sorted(x, reverse=True)[n - 1], 1),
    Form("smallest element {}", ("count",), lambda x, n: sorted(x)[n - 1], 1),
    Form("median", (), lambda x: sorted(x)[len(x) // 2], 1),
    Form("most frequent", (), lambda x: max(x, key=x.count), 1),
    Form("number of different elements", (), lambda x: len(set(x)), 2),
    Form("maximum minus minimum", (), lambda x: max(x) - min(x), 1),
    Form("place of the maximum", (), lambda x: x.index(max(x)) + 1, 1),
    Form("place of the minimum", (), lambda x: x.index(min(x)) + 1, 1),
    Form("place of {}", ("value",), lambda x, v: x.index(v) + 1, 1),
    Form("number of {}s", ("value",), lambda x, v: x.count(v), 2),
    Form("{}", ("value",), lambda _, v: v, 2),
    Form("number of elements {}", ("test",), lambda x, test: sum(map(test, x)), 4),
    Form("sum of elements {}", ("test",), lambda x, test: sum(filter(test, x)), 1),
    Form("first element {}", ("test",), lambda x, test: x[list(map(test, x)).index(True)], 2),
    Form("last element {}", ("test",), lambda x, test: [v for v in x if test(v)][-1], 1),
    Form("({}) ({})", ("measure", "change"), lambda x, measure, change: change(measure(x)), 4),
    Form("({}) + ({})", ("measure", "measure"), lambda x, one, other: one(x) + other(x), 2),
    Form("({}) - ({})", ("measure", "measure"), lambda x, one, other: one(x) - other(x), 1),
    Form("({}) · ({})", ("measure", "measure"), lambda x, one, other: one(x) * other(x), 1),
    Form("element number ({})", ("measure",), lambda x, m: _element(x, m(x)), 3),
    Form("1 if ({}), else 0", ("condition",), lambda x, condition: int(condition(x)), 3),
    Form("({}) of ({})", ("measure", "edit"), lambda x, measure, edit: measure(edit(x)), 3),
)

CONDITIONS = (
    Form("longer than {}", ("place",), lambda x, n: len(x) > n, 3),
    Form("containing {}", ("value",), lambda x, v: v in x, 4),
    Form("ascending", (), lambda x: x == sorted(x), 1),
    Form("without repeats", (), lambda x: len(set(x)) == len(x), 1),
    Form("beginning and ending alike", (), lambda x: x[0] == x[-1], 1),
    Form("({}) ({})", ("measure", "test"), lambda x, measure, test: test(measure(x)), 6),
    Form("({}) > ({})", ("measure", "measure"), lambda x, one, other: one(x) > other(x), 3),
    Form("({}) = ({})", ("measure", "measure"), lambda x, one, other: one(x) == other(x), 1),
    Form("all {}", ("test",), lambda x, test: all(map(test, x)), 1),
    Form("any {}", ("test",), lambda x, test: any(map(test, x)), 1),
)
