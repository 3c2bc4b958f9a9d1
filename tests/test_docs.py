"""The pages are up to date with results/ and with the code."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from blocks.ablations import ablations, small, sweeps
from blocks.limits import limits
from blocks.methods import compositional, method_row, methods
from blocks.page import BLOCKS, fill
from blocks.results import Results
from blocks.runs import settings_words, time_words, training_cells
from blocks.tam_runs import ahead, intervals, lengths, runs, shown_runs
from blocks.tuning import best_weights, budgets, choices, tuning
from blocks.words import number
from tam.config import Config
from tam.report.figures import FIGURES
from tam.tasks.benchmark import VERSION, BenchmarkOptions
from tam.tasks.classification import LABELLING, SUBSEQUENCE
from tam.tasks.integers import ELEMENTWISE

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ABLATION = "ablation-classification-norm"


@pytest.fixture
def results() -> Results:
    return Results()


@pytest.mark.timeout(300)
def test_figures_and_numbers_are_up_to_date() -> None:
    check = [sys.executable, str(ROOT / "docs" / "make.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_numbers_are_of_this_version_of_the_benchmarks() -> None:
    facts = json.loads((ROOT / "results" / "tasks.json").read_text())
    assert facts["benchmark_version"] == VERSION, "run benchmarks/tasks.py, then make pages"


def test_a_block_is_replaced(results: Results) -> None:
    page = "a\n<!-- begin: why 15 -->\noutdated\n<!-- end: why 15 -->\nb\n"
    filled = fill(page, results)
    assert "outdated" not in filled
    assert filled.startswith("a\n<!-- begin: why 15 -->\n\nWith n = 11 ")
    assert filled.endswith("\n\n<!-- end: why 15 -->\nb\n")
    assert fill(filled, results) == filled


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- begin: nonsense -->\n<!-- end: nonsense -->", "there is no block 'nonsense'"),
        ("<!-- begin: sizes -->\n", "every begin is followed"),
        ("<!-- begin: sizes -->\n<!-- end: unseen -->", "every begin is followed"),
        ("<!-- end: sizes -->\n<!-- begin: sizes -->", "every begin is followed"),
    ],
)
def test_a_wrong_mark_is_an_error(results: Results, page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fill(page, results)


def test_every_block_and_every_figure_is_used() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- begin: (.*?) -->", text)) == set(BLOCKS)
    assert set(re.findall(r"figures/(\w+)\.svg", text)) == {*FIGURES, "scaling"}


def test_figures_are_drawn_alike_every_time() -> None:
    assert FIGURES["pathfinding"]().svg() == FIGURES["pathfinding"]().svg()


def row_of(results: Results, name: str, method: str) -> list[str]:
    row = method_row(results, name, method)
    assert row is not None
    return row


def test_runs_of_one_k_each_are_one_row(results: Results) -> None:
    row = row_of(results, "classification", "snail")
    scores = {
        k: results.runs[f"snail-tuned-classification-k{k}-0"]["scores"][0]["accuracy"] for k in (1, 5, 10, 20)
    }
    seconds = results.runs["snail-tuned-classification-k5-0"]["gpu_seconds"]
    assert row[2] == f"{seconds:.0f} s alone"
    assert row[-4:] == [
        f"{100 * scores[k]:.1f}\u00a0({paper})"
        for k, paper in zip((1, 5, 10, 20), ("43.0", "44.0", "68.25", "67.5"), strict=True)
    ]
    del results.runs["snail-tuned-classification-k10-0"]
    assert row_of(results, "classification", "snail")[-2] == "–\u00a0(68.25)"


def test_rows_have_what_there_is(results: Results) -> None:
    assert "(" not in "".join(row_of(results, "classification", "nearest")[1:])  # not in the paper
    assert method_row(results, "transduction", "prototypical") is None
    results.runs = {}
    assert row_of(results, "transduction", "cavia")[-1] == "–\u00a0(1.53)"


def test_two_runs_of_one_k_are_an_error(results: Results) -> None:
    results.runs["tam-tuned-classification-k5-0"] = results.runs["tam-tuned-classification-0"]
    with pytest.raises(ValueError, match="two runs tam-tuned-classification have"):
        methods(results)


def test_runs_of_a_kind_are_in_their_own_tables(results: Results) -> None:
    before = runs(results), methods(results)
    run = results.runs["tam-best-classification-0"]
    others = ("ablation-classification-norm", "sweep-classification-T5", "compositional-classification")
    results.runs |= {f"tam-{other}-0": run for other in others}
    assert (runs(results), methods(results)) == before


def test_runs_say_what_they_were(results: Results) -> None:
    run = results.runs["tam-short-classification-0"]
    config = run["config"] | {"training": run["config"]["training"] | {"steps": 1234, "rate": 0.002}}
    run |= {"config": config, "seconds": 130}
    assert settings_words(run).endswith(", mixed supports, 1\u202f234 outer steps at rate 0.002")
    assert time_words(run) == "2 min, H200"
    long = run | {"seconds": 240}
    assert training_cells([long | {"seconds": 60}, long])[1] == "60 s to 4 min"
    assert training_cells([long | {"seconds": 130}, long])[1] == "2 to 4 min"


def test_runs_are_compared_by_their_steps(results: Results) -> None:
    run = results.runs["tam-best-classification-0"]
    steps = run["config"]["training"]["steps"] * 2
    config = run["config"] | {"training": run["config"]["training"] | {"steps": steps}}
    best = {"1": steps // 8, "5": steps, "10": steps // 2, "20": steps // 16}
    results.runs["tam-tuned-classification-0"] = run | {"config": config, "best_steps": best}
    rows = [line.split(" | ") for line in lengths(results).splitlines()[2:]]
    first = [place for place, row in enumerate(rows) if row[0] != "| "]
    found = [int(row[1].replace("\u202f", "")) for row in rows[: first[1]]]
    assert found == sorted(found)
    assert found[-1] == steps
    assert next(row[5] for row in rows if row[2] == "`tuned`") == "1/8 · all · 1/2 · 1/16"
    assert {row[5] for row in rows if row[2] in {"`short`", "`earlier`"}} == {"not known"}


def of_scores(name: str, accuracy: float, perplexity: float | None, interval: float | None) -> Results:
    """Results whose only run, TAM by the preset best on a benchmark, has the same scores at every k."""
    results = Results()
    run = results.runs[f"tam-best-{name}-0"]
    intervals = {"accuracy_interval": interval, "perplexity_interval": interval}
    scores = [one | {"accuracy": accuracy, "perplexity": perplexity} | intervals for one in run["scores"]]
    results.runs = {f"tam-best-{name}-0": run | {"scores": scores}}
    return results


def test_runs_are_bold_where_they_are_better_than_the_paper() -> None:
    results = of_scores("classification", 0.80, 1.0, 0.1)
    row = next(line for line in runs(results).splitlines() if "preset `best`" in line)
    assert row.endswith("| **80.0 %** | **80.0 %** | 80.0 % | 80.0 % |")
    assert "- Preset `best`: on classification at k = 1 and 5 (clearly at k = 1) (run on " in ahead(results)
    results = of_scores("pathfinding", 0.0, 1.2199, 0.0)  # as printed equal to the paper's at k = 10
    row = next(line for line in runs(results).splitlines() if "preset `best`" in line)
    assert row.endswith("| **1.22** | **1.22** | 1.22 | 1.22 |")
    assert "on path-finding at k = 1 and 5 (clearly at k = 1 and 5)" in ahead(results)
    results = of_scores("transduction", 0.0, 99.0, 0.0)
    assert "- Preset `best`: nowhere (run on transduction alone)." in ahead(results)
    assert "**" not in runs(results)


def test_an_infinite_perplexity_is_shown_as_such() -> None:
    results = of_scores("transduction", 0.0, None, None)
    assert runs(results).count("∞") == len(results.shots)
    assert "- Preset `best`: nowhere (run on transduction alone)." in ahead(results)
    assert "| Transduction, perplexity | – | – | – | – |" in intervals(results)


def test_intervals_are_those_of_the_runs(results: Results) -> None:
    found = [run["scores"][0]["accuracy_interval"] for _, run in shown_runs(results, "classification")]
    assert len(found) == 5
    low, high = (f"± {100 * end(found):.1f} %" for end in (min, max))
    assert f"| Classification, accuracy | {low} to {high} |" in intervals(results)


def test_ablations_are_beside_the_paper_where_it_has_them(results: Results) -> None:
    rows = ablations(results).splitlines()[2:]
    assert len(rows) == 8
    tuned, norm = (results.runs[f"tam-{name}-0"] for name in ("tuned-classification", ABLATION))
    for row, run, paper in ((rows[0], tuned, 41), (rows[4], norm, 42)):
        steps = number(run["config"]["training"]["steps"])
        time = f"{run['gpu_seconds']:.0f} s alone"
        assert f"| TAM | {time} | {steps} | {100 * run['scores'][0]['accuracy']:.1f}\u00a0({paper}) |" in row
    assert rows[5].startswith("|  | multitask | ")
    assert "(" not in rows[5]  # the paper has it for TAM alone
    del results.runs[f"tam-{ABLATION}-0"]
    assert "| TAM | – | – | –\u00a0(42) |" in ablations(results)


def test_sweeps_are_in_order(results: Results) -> None:
    rows = [line.split(" | ") for line in sweeps(results).splitlines()[2:]]
    asked = {"T": [1, 5, 10, 25], "N": [20, 50, 100, 300]}
    assert [row[0] for row in rows] == [f"| {name} = {n}" for name, values in asked.items() for n in values]
    run = results.runs["tam-sweep-classification-T5-0"]
    steps, seconds = run["config"]["training"]["steps"], run["gpu_seconds"]
    assert rows[1][1:4] == [f"{seconds:.0f} s alone", number(steps), f"{1000 * seconds / steps:.1f}"]
    assert rows[1][4] == f"{100 * run['scores'][0]['accuracy']:.1f}"


def test_small_runs_are_in_order_and_missing_ones_left_out(results: Results) -> None:
    *lines, _, intervals = small(results).splitlines()[2:]
    assert "points" in intervals
    rows = [line.split(" | ") for line in lines]
    titles = ["unchanged", "T = 1", "T = 5", "T = 25", "N = 16", "N = 32", "N = 128"]
    kinds = ["adapters", "layer norms", "LSTM"]
    assert [row[1] for row in rows] == [*titles, *kinds, "unchanged", *kinds]
    assert {row[0] for row in rows[:10]} == {"| TAM"}
    run = results.runs["tam-small-classification-N32-0"]
    assert rows[5][2] == number(run["config"]["training"]["steps"])
    assert rows[5][4] == f"{100 * run['scores'][0]['accuracy']:.1f}"
    del results.runs["tam-small-classification-N32-0"]
    assert "N = 32" not in small(results)


def test_compositional_runs_are_beside_the_paper(results: Results) -> None:
    shown = compositional(results)
    told, untold = (results.runs[f"tam-compositional-pathfinding{more}-0"] for more in ("", "-untold"))
    for title, run, paper in (("TAM", told, "2.33"), ("TAM without primitives", untold, "4.37")):
        steps = number(run["config"]["training"]["steps"])
        assert f"| {title} | {steps} | {run['scores'][0]['perplexity']:.2f}\u00a0({paper}) |" in shown
    assert re.search(r"\| SNAIL \| [^|]* \| –\u00a0\(63.5\) \| [\d.]+\u00a0\(71.75\) \|", shown)


def test_budgets_show_seconds_steps_and_how_well_steps_are_timed(results: Results) -> None:
    run = results.runs["tam-tuned-classification-0"]
    training = [run["config"]["training"] | {"steps": steps} for steps in (70, 30)]
    runs = [run | {"config": run["config"] | {"training": one}, "gpu_seconds": 14.0} for one in training]
    old = {name: value for name, value in runs[1].items() if name != "gpu_seconds"} | {"gpu_seconds_asked": 8}
    none = runs[1] | {"gpu_seconds": 0.0}
    results.runs = {
        "tam-tuned-classification-0": runs[0],
        "tam-tuned-transduction-0": runs[1],
        "tam-long-classification-0": old,
        "nearest-tuned-classification-0": none,
    }
    chosen = {"values": {"rate": 0.1}, "seconds": 4.0, "steps": 40}
    candidates = [
        chosen,
        {"values": {"rate": 0.2}, "steps": 9},
        {"values": {"rate": 0.1}, "error": "it diverged"},
    ]
    facts = {"method": "tam", "benchmark": "classification", "shots": None, "seconds_each": 4.0}
    results.tuning = {"tam-classification": facts | {"candidates": candidates, "chosen": chosen}}
    *rows, _, timed = budgets(results).splitlines()[2:]
    assert rows == [
        "| `tuned` | 2 | 14 | 30 to 70 |",
        "| each candidate of tuning | 2 | 4 | 9 to 40 |",
        "| `long` | 1 | 8, older | 30 |",
    ]
    assert timed.endswith(" it was 2.00 to 2.00 times the time that tuning measured.")


def test_best_weights_are_parts_of_the_steps(results: Results) -> None:
    run = results.runs["multitask-tuned-classification-0"]
    training = run["config"]["training"] | {"steps": 109}
    steps = {"20": 109, "10": 27, "5": 14, "1": 7}
    run |= {"config": run["config"] | {"training": training}, "best_steps": steps}
    results.runs["snail-tuned-classification-k5-0"] |= {"best_steps": {"5": 0}}
    del results.runs["snail-tuned-classification-k10-0"]
    rows = best_weights(results).splitlines()
    assert "| multitask, classification | 109 | 1/16 | 1/8 | 1/4 | all |" in rows
    assert next(row for row in rows if "SNAIL, classification" in row).endswith("| all | 0 | – | all |")
    assert "nearest" not in "".join(rows)  # not trained


def test_the_budget_of_tuning_is_named(results: Results) -> None:
    facts = results.tuning["tam-classification"] | {"seconds_each": 60.0, "counted": "so"}
    results.tuning = {"tam-classification": facts}
    assert "\n\n60 seconds (so) for each candidate that is trained; " in tuning(results)


def test_choices_may_be_absent(results: Results) -> None:
    results.choices = None
    assert "not there yet" in choices(results)
    one = {"place": 0.3, "steps": 390, "loss": 0.5, "accuracy": {"1": 0.4, "5": 0.55}}
    results.choices = {"variants": {"place 0.3": one}}
    assert choices(results).splitlines()[-1] == "| place 0.3 | 0.3 | 390 | 0.500 | 40.0 % | 55.0 % |"


def test_limits_may_be_absent(results: Results) -> None:
    results.limits = None
    assert "not there yet" in limits(results)


def test_limits_name_the_largest_part_and_those_near_it(results: Results) -> None:
    part = {"mean": 0.25, "interval": 0.125}
    gaps = {
        "optimisation": part | {"new_inputs": {"mean": 0.0625, "interval": 0.5}},
        "generalisation": part | {"mean": 0.125},
        "few examples": {"5": {"mean": 0.75, "interval": 0.25}, "20": {"mean": -0.125, "interval": 0.125}},
    }
    chosen = {"5": {"at_most": False}, "many": {"at_most": True}}
    run = results.runs["tam-best-classification-0"]
    largest = {"error": {"5": "few examples", "20": "optimisation"}}
    model = run | {"gaps": {"error": gaps}, "limits": largest, "chosen": chosen, "tasks_each": 32}
    longer = run["config"]["training"] | {"steps": 10**6}
    again = model | {"config": run["config"] | {"training": longer}}
    results.limits = {"floor": 0.0, "many": 200, "models": [again, model]}
    lines = limits(results).splitlines()
    assert lines[0] == "**Classification**, error"
    parts = "0.250 ± 0.125 | 0.062 ± 0.500 | 0.125 ± 0.125"
    assert lines[4:6] == [
        f"| {settings_words(run)} | k = 5 | 1.125 | {parts} | 0.750 ± 0.250 | few examples |",
        f"|  | k = 20 | 0.250 | {parts} | -0.125 ± 0.125 | optimisation or generalisation |",
    ]
    assert lines[6].startswith(f"| {settings_words(again)} | k = 5 |")
    assert lines[9] == (
        "32 training and 32 test tasks; many are 200 examples of a task. In 2 of 4 choices of how many "
        "steps to learn a task by, the most of the grid were chosen."
    )


def test_every_primitive_has_its_meaning_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    page = re.sub("<code>(.*?)</code>", r"`\1`", page).replace("&#124;", "|")  # a bar would end the cell
    elementwise = [f"{name} v" for name in ELEMENTWISE]
    subsequences = [name.format("v") for name in SUBSEQUENCE]
    replacements = ["v with w", "xi with a·xi + b", "xi with xj", "xi with |xi - xj|", "xi with xi + xj"]
    orders = ["sort ascending", "sort descending", "reverse", "swap xi and xj", "shift right v"]
    primitives = [*elementwise, *subsequences, *LABELLING, *(f"replace {r}" for r in replacements), *orders]
    for primitive in primitives:
        assert f"| `{primitive}` |" in page, primitive


@pytest.mark.parametrize(
    "file", sorted((ROOT / "results" / "runs").glob("*.json")), ids=lambda file: file.stem
)
def test_a_published_run_can_be_repeated(file: Path) -> None:
    result = json.loads(file.read_text())
    assert Config.from_json(result["config"]).to_json().keys() == result["config"].keys()
    assert BenchmarkOptions(**result["tasks"]).name == result["tasks"]["name"]
