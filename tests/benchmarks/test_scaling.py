"""benchmarks/scaling.py: the exponents, the count of memory, and all of it at a tiny size."""

from typing import Any

import pytest
import scaling
import torch

from drawings import charts

TINY = {"layers": 1, "width": 8, "heads": 2, "tasks": 2, "rows": 2, "tokens": 4, "inner_steps": 2}


def test_exponents_are_those_of_the_law() -> None:
    sizes = [1, 2, 4, 8]
    assert scaling.exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert scaling.exponent(sizes, [7, 7, 7, 7]) == pytest.approx(0)


def test_what_is_kept_is_counted_to_the_byte() -> None:
    weight = torch.randn(5, 5, requires_grad=True)
    x = torch.randn(3, 5, requires_grad=True)
    count = scaling.Kept([weight])
    with count.counting():
        hidden = x @ weight  # keeps x, and the weight, which does not count
        total = (hidden * hidden.view(3, 5)).sum()  # keeps hidden twice, in one memory
    assert count.now == count.peak == 2 * x.numel() * 4
    total.backward()
    assert count.now == 0
    with count.counting():
        y = x.exp()  # keeps y
    assert count.now == y.numel() * 4
    assert count.peak == 2 * x.numel() * 4


def test_memory_of_tam_does_not_grow_with_inner_steps() -> None:
    found = scaling.memory(scaling.Sizes(**TINY), (1, 2, 8))
    one, two, eight = found["mib"]["tam"]
    assert one == two == eight > 0
    assert found["mib"]["cavia"][-1] > 3 * found["mib"]["cavia"][0]


def test_tables_and_figure(capsys: pytest.CaptureFixture[str]) -> None:
    base = scaling.Sizes(**TINY)
    sweeps = scaling.measure(base, dict.fromkeys(scaling.SWEEPS, (2, 4)), 1)
    facts: dict[str, Any] = {"base": vars(base), "sweeps": sweeps, "memory": scaling.memory(base, (1, 2))}
    assert [sweep["quantity"] for sweep in sweeps] == list(charts.SIZES)
    for sweep in sweeps:
        assert len(sweep["training_ms"]) == len(sweep["adaptation_ms"]) == 2
        assert min(sweep["training_ms"] + sweep["adaptation_ms"]) > 0
    scaling.show(facts)
    assert f"∝ tasks^{sweeps[0]['training_exponent']:.2f}" in capsys.readouterr().out
    picture = charts.scaling(facts)
    assert all(f">{axis}</text>" in picture for axis in charts.SIZES.values())
