"""Tests of a number, and changes to it; in lambdas, v is the number."""

from tam.tasks.lists.grammar import Form

TESTS = (
    Form("even", (), lambda v: v % 2 == 0, 3),
    Form("odd", (), lambda v: v % 2 == 1, 3),
    Form("above {}", ("value",), lambda v, c: v > c, 4),
    Form("below {}", ("value",), lambda v, c: v < c, 4),
    Form("equal to {}", ("value",), lambda v, c: v == c, 3),
    Form("divisible by {}", ("factor",), lambda v, c: v % c == 0, 3),
    Form("between {} and {}", ("value", "value"), lambda v, a, b: min(a, b) <= v <= max(a, b)),
    Form("ending in {}", ("count",), lambda v, c: v % 10 == c, 1),
    Form("of two digits", (), lambda v: v >= 10, 1),
    Form("with ({}) ({})", ("change", "test"), lambda v, change, test: test(change(v)), 2),
    Form("not ({})", ("test",), lambda v, test: not test(v), 3),
    Form("({}) and ({})", ("test", "test"), lambda v, one, other: one(v) and other(v), 1),
)

CHANGES = (
    Form("plus {}", ("value",), lambda v, c: v + c, 4),
    Form("minus {}", ("value",), lambda v, c: v - c, 2),
    Form("{} minus it", ("value",), lambda v, c: c - v, 1),
    Form("distance to {}", ("value",), lambda v, c: abs(v - c), 1),
    Form("times {}", ("factor",), lambda v, c: v * c, 3),
    Form("divided by {}", ("factor",), lambda v, c: v // c, 2),
    Form("modulo {}", ("factor",), lambda v, c: v % c, 2),
    Form("at most {}", ("value",), lambda v, c: min(v, c), 1),
    Form("at least {}", ("value",), lambda v, c: max(v, c), 1),
    Form("its tens", (), lambda v: v // 10, 1),
    Form("its ones", (), lambda v: v % 10, 1),
    Form("({}) then ({})", ("change", "change"), lambda v, one, other: other(one(v)), 2),
    Form("({1}) if ({0})", ("test", "change"), lambda v, test, change: change(v) if test(v) else v, 3),
    Form("{1} if ({0}), else {2}", ("test", "value", "value"), lambda v, test, a, b: a if test(v) else b, 1),
)
