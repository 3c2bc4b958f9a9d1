"""The blocks that show runs, with made-up results: what is better is marked, what is missing left out."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pytest

from blocks.methods import tables
from blocks.page import BLOCKS
from blocks.results import Results
from blocks.tam_runs import best, intervals, levers, on_a_cpu, quick, reproduction, time_to_quality
from blocks.words import NOT_RUN, is_better, mean_score, signed_difference
from tam.experiments.jobs import levers as all_levers
from tam.report.collect import LEVERS
from tam.report.compare import Estimate
from tam.report.page.published_figures import learning_series
from tam.tasks.benchmark import BenchmarkName

SHOTS = (1, 5, 10, 20)


def run(
    name: str, values: Sequence[float | None], shots: Sequence[int] = SHOTS, **facts: Any
) -> dict[str, Any]:
    """A result with these accuracies and perplexities."""
    intervals = {"accuracy_interval": 0.02, "perplexity_interval": 0.02}
    scores = [
        {"k": k, "accuracy": value, "perplexity": value, **intervals}
        for k, value in zip(shots, values, strict=True)
    ]
    kind = "classification" if name == "classification" else "transduction"
    timing = {"gpu_seconds": 41.4, "step_ms": 8.0, "wall_seconds": 250.4, "first_step_seconds": 4.25}
    budget = {"steps": 5000, "budget_seconds": 60.0, "seconds_to_paper": None}
    validated = {"config": {"training": {"validate_every": 1000}}, "best_steps": dict.fromkeys(shots, 5000)}
    what = {"kind": kind, "tasks": {"name": name}, "group": "best", "scores": scores, "curve": []}
    what |= {"device": "NVIDIA H200"}
    return what | timing | budget | validated | facts


@pytest.fixture
def results() -> Results:
    """The facts of the benchmarks and the paper, and no runs."""
    found = Results()
    found.runs = {}
    return found


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their rules."""
    lines = [line for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_without_runs_a_block_says_so(results: Results) -> None:
    names = ("reproduction", "learning curves", "levers", "quick", "on a CPU", "table 1", "table 2", "time")
    assert {BLOCKS[name](results) for name in (*names, "intervals")} == {NOT_RUN}
    shown = best(results)
    assert shown.endswith(NOT_RUN)
    assert [row[1:4] for row in rows(shown)[1:4]] == [
        ["the paper's TAM", "2 h", "40.5 ± 0.82 %"],
        ["the paper's best", "", "43.0 %"],
        ["ours", "–", "–"],
    ]
    for block in BLOCKS.values():
        assert block(results)


def test_best_is_a_mean_and_marked_where_it_is_better(results: Results) -> None:
    for seed, accuracy in enumerate((0.40, 0.42, 0.44)):  # mean 42: the paper's TAM 40.5, its best 43
        values = (accuracy, accuracy + 0.4, 0.895, 0.9)
        results.runs[f"tam-best-classification-{seed}"] = run("classification", values)
    results.runs["tam-best-pathfinding-0"] = run("pathfinding", (1.81, 1.2699, 1.219, None))
    shown = best(results)
    assert [row for row in rows(shown) if row[1] == "ours"] == [
        ["", "ours", "41 s", "*42.0 ± 2.0 %*", "**82.0 ± 2.0 %**", "89.5 ± 0.0 %", "90.0 ± 0.0 %"],
        ["", "ours", "–", "–", "–", "–", "–"],
        ["", "ours", "41 s", "**1.81**", "1.27", "1.22", "∞"],
    ]
    assert "over 1 or 3 initialisations" in shown
    assert "every method of the paper (2 of 8 cells)" in shown
    assert "the paper's TAM (3 of 8)." in shown
    assert len(rows(best(results, ceiling=True))) == len(rows(shown)) + 3
    for name, seconds in (("classification", 11.6), ("transduction", 36.2)):
        results.runs[f"tam-time-{name}-0"] = run(name, [0.5] * 4, seconds_to_paper=seconds)
    assert "from the start of the process" not in best(results)  # a benchmark has no time
    results.runs["tam-time-pathfinding-0"] = run("pathfinding", [2.0] * 4, seconds_to_paper=31.0)
    assert "after 12, 36 and 31 seconds, from the start of the process" in best(results)
    assert intervals(results).startswith("classification ± 2.0, ± 2.0, ± 2.0, ± 2.0 %; path-finding ± 0.02,")


def test_the_reproduction_says_what_falls_short(results: Results) -> None:
    results.runs["tam-paper-classification-0"] = run("classification", (0.45, 0.75, 0.89, 0.96))
    results.runs["tam-paper-transduction-0"] = run("transduction", (8.0, 2.5, 1.47, 1.15))
    shown, taken = reproduction(results), ["5\u202f000", "41 s"]
    _, classes, sequences = rows(shown)
    assert classes[:5] == ["Classification, accuracy", *taken, "45.0 % (+4.5)", "75.0 % (−0.5)"]
    assert sequences[2:5] == ["41 s", "8.00 (−0.47)", "2.50 (−0.42)"]
    assert shown.endswith("It falls short on classification at k = 5 and 10.")


def test_levers_are_differences_to_best(results: Results) -> None:
    assert set(LEVERS) == {lever.name for name in get_args(BenchmarkName) for lever in all_levers(name)}
    results.runs["tam-without-warm-classification-0"] = run("classification", (0.4, 0.6, 0.8, 0.9))
    assert levers(results) == NOT_RUN  # there is nothing to compare with
    results.runs["tam-base-levers-classification-0"] = run("classification", (0.5, 0.7, 0.8, 0.9))
    results.runs["tam-with-tokens-classification-0"] = run("classification", (0.5, 0.75, 0.8, 0.9), steps=77)
    found = rows(levers(results))
    assert [row[0] for row in found[1:]] == ["`best`", "without warm starts", "with several task tokens"]
    assert found[2][2:] == ["40.0 % (−10.0)", "60.0 % (−10.0)", "80.0 % (+0.0)", "90.0 % (+0.0)"]
    assert found[3][1:4] == ["77", "50.0 % (+0.0)", "75.0 % (+5.0)"]


def test_on_a_cpu_one_thing_is_changed(results: Results) -> None:
    for seed, accuracy in enumerate((0.4, 0.5)):
        results.runs[f"tam-quick-classification-{seed}"] = run("classification", [accuracy] * 4, steps=560)
    assert on_a_cpu(results) == NOT_RUN  # there is nothing to compare
    changed = {
        "multitask-lstm": "multitask training, LSTM",
        "tam-T25": "T = 25 inner steps",
        "tam-without-warm": "without warm starts",
        "tam-tasks50": "50 training tasks",
    }
    for name in changed:
        results.runs[f"{name}-cpu-classification-0"] = run("classification", [0.5] * 4, steps=7)
    _, first, *found = rows(on_a_cpu(results))
    assert first[:3] == ["`quick`, 2 initialisations", "560", "45.0 ± 7.1 %"]
    assert [row[:3] for row in found] == [[title, "7", "50.0 % (+5.0)"] for title in changed.values()]


def of_each_k(stem: str, values: Mapping[int, float], suffix: str, **facts: Any) -> dict[str, dict[str, Any]]:
    return {
        f"{stem}-k{k}-{suffix}": run("classification", (value,), (k,), **facts) for k, value in values.items()
    }


def test_table1_has_the_paper_in_brackets_and_the_best_in_bold(results: Results) -> None:
    results.runs = of_each_k("snail-table1-classification", {1: 0.52, 20: 0.8}, "0", group="table1", steps=9)
    results.runs["snail-table1-classification-k20-0"]["steps"] = 4
    results.runs["tam-best-classification-0"] = run("classification", (0.5, 0.9, 0.95, 0.97))
    first = run("classification", (0.4, 0.5, 0.6, 0.7), group="table1")
    results.runs["maml-first-table1-classification-0"] = first
    results.runs["nearest-table1-classification-0"] = first | {"steps": 0, "budget_seconds": None}
    results.runs["agnostic-table1-classification-0"] = first | {"best_steps": dict.fromkeys(SHOTS, 1000)}
    shown = tables(results, "table1")
    found = {row[0]: row[1:] for row in rows(shown)[1:]}
    assert found == {
        "[Task-agnostic](methods/agnostic.md)": [
            "5\u202f000 †", "40.0\u00a0(40.5)", "50.0\u00a0(64.75)", "60.0\u00a0(74.25)", "70.0\u00a0(82.5)"
        ],
        "[SNAIL](methods/snail.md)": [
            "4 to 9", "**52.0**\u00a0(43.0)", "–\u00a0(44.0)", "–\u00a0(68.25)", "80.0\u00a0(67.5)"
        ],
        "[TAM](methods/tam.md)": [
            "5\u202f000",
            "50.0\u00a0(40.5)", "**90.0**\u00a0(75.5)", "**95.0**\u00a0(89.5)", "**97.0**\u00a0(94.5)",
        ],
        "[Nearest neighbour](methods/nearest.md)": ["–", "40.0", "50.0", "60.0", "70.0"],
        "MAML, first order": ["5\u202f000", "40.0", "50.0", "60.0", "70.0"],
    }  # fmt: skip
    assert "the GPU-seconds of TAM, 60 on classification" in shown
    assert "† Best at its first validation" in shown


def test_table2_is_over_hold_outs(results: Results) -> None:
    for holdout, value in enumerate((2.0, 3.0)):
        name = f"tam-untold-table2-pathfinding-h{holdout}"
        results.runs[name] = run("pathfinding", (value, 1.5, 1.2, 1.1), group="table2", budget_seconds=30.0)
    (_, row) = rows(tables(results, "table2"))
    assert row == ["TAM without primitives", "5\u202f000", "**2.50 ± 0.71**\u00a0(4.37)"] + [
        f"**{ours} ± 0.00**\u00a0({paper})"
        for ours, paper in (("1.50", "1.27"), ("1.20", "1.17"), ("1.10", "1.11"))
    ]


def test_times(results: Results) -> None:
    results.runs["tam-time-classification-0"] = run("classification", (0.5,) * 4, seconds_to_paper=19.6)
    results.runs["tam-best-classification-0"] = run("classification", (0.5,) * 4, step_ms=12.5)
    results.runs["tam-time-transduction-0"] = run("transduction", (9.0,) * 4)
    assert rows(time_to_quality(results))[1:] == [
        ["Classification", "2 h", "**20 s**", "4.2 s", "12.50 ms", "80"],
        ["Transduction", "2.3 h", "not reached", "4.2 s", "8.00 ms", "125"],
    ]
    assert quick(results) == NOT_RUN
    results.runs["tam-quick-classification-0"] = run("classification", (0.4, 0.6, 0.8, 0.9), device="x86_64")
    assert quick(results) == (
        "Classification after 5\u202f000 outer steps, 250 s from start to result on x86_64: 40.0 % at k = 1, "
        "60.0 % at k = 5, 80.0 % at k = 10, 90.0 % at k = 20."
    )


def test_learning_curves_are_beside_the_paper(results: Results) -> None:
    def point(step: int, value: float | None) -> dict[str, Any]:
        return {"step": step, "scores": {str(k): {"accuracy": value, "perplexity": value} for k in SHOTS}}

    curve = [point(500, None), point(1000, 0.5), point(1500, 0.6)]
    for name, scale, goal in (("classification", 100, 40.5), ("transduction", 1, 8.47)):
        series = learning_series(results, [run(name, (0.5,) * 4, curve=curve)], name)
        assert [one.label for one in series[::2]] == [f"k = {k}" for k in SHOTS]
        assert [(p.x, p.y) for p in series[0].shown] == [(1000, 0.5 * scale), (1500, 0.6 * scale)]
        assert [p.y for p in series[1].shown] == [pytest.approx(goal)] * 2


@pytest.mark.parametrize(
    ("metric", "value", "other", "better"),
    [
        ("accuracy", 0.7556, 0.755, True),
        ("accuracy", 0.7554, 0.755, False),  # shown as 75.5
        ("perplexity", 1.214, 1.22, True),
        ("perplexity", 1.2199, 1.22, False),
        ("perplexity", float("inf"), 1.22, False),
    ],
)
def test_better_is_as_shown(metric: str, value: float, other: float, better: bool) -> None:
    assert is_better(metric, value, other) == better


def test_words() -> None:
    assert mean_score("accuracy", Estimate(0.5, 0.1, 1)) == "50.0"
    assert mean_score("perplexity", Estimate(float("inf"), None, 2)) == "∞"
    assert signed_difference("perplexity", float("inf"), 1.0) == "–"
    assert signed_difference("accuracy", 0.5, 0.75) == "−25.0"
