"""The pages are up to date with results/ and with the code."""

import json
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from tam.config import Config
from tam.report.figures import FIGURES
from tam.tasks.benchmark import VERSION, BenchmarkOptions
from tam.tasks.classification import LABELLING, SUBSEQUENCE
from tam.tasks.integers import ELEMENTWISE

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def make() -> ModuleType:
    """docs/make.py"""
    spec = spec_from_file_location("docs_make", ROOT / "docs" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.timeout(300)
def test_figures_and_numbers_are_up_to_date() -> None:
    check = [sys.executable, str(ROOT / "docs" / "make.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_numbers_are_of_this_version_of_the_benchmarks() -> None:
    facts = json.loads((ROOT / "results" / "tasks.json").read_text())
    assert facts["benchmark_version"] == VERSION, "run benchmarks/tasks.py, then make pages"


def test_a_block_is_replaced(make: ModuleType) -> None:
    page = "a\n<!-- begin: why 15 -->\noutdated\n<!-- end: why 15 -->\nb\n"
    filled = make.fill(page, make.Results(ROOT / "results"))
    assert "outdated" not in filled
    assert filled.startswith("a\n<!-- begin: why 15 -->\n\nWith n = 11 ")
    assert filled.endswith("\n\n<!-- end: why 15 -->\nb\n")
    assert make.fill(filled, make.Results(ROOT / "results")) == filled


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- begin: nonsense -->\n<!-- end: nonsense -->", "there is no block 'nonsense'"),
        ("<!-- begin: sizes -->\n", "every begin is followed"),
        ("<!-- begin: sizes -->\n<!-- end: unseen -->", "every begin is followed"),
        ("<!-- end: sizes -->\n<!-- begin: sizes -->", "every begin is followed"),
    ],
)
def test_a_wrong_mark_is_an_error(make: ModuleType, page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make.fill(page, make.Results(ROOT / "results"))


def test_every_block_and_every_figure_is_used(make: ModuleType) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- begin: (.*?) -->", text)) == set(make.BLOCKS)
    assert set(re.findall(r"figures/(\w+)\.svg", text)) == {*FIGURES, "scaling"}


def test_figures_are_drawn_alike_every_time() -> None:
    assert FIGURES["pathfinding"]().svg() == FIGURES["pathfinding"]().svg()


def test_runs_of_one_k_each_are_one_row(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    row = make.method_row(results, "classification", "snail")
    kinds = {1: "best", 5: "tuned", 10: "best", 20: "best"}
    scores = {
        k: results.runs[f"snail-{kind}-classification-k{k}-0"]["scores"][0]["accuracy"]
        for k, kind in kinds.items()
    }
    assert row[4] == "at k = 5"
    assert row[-4:] == [
        f"{100 * scores[k]:.1f}\u00a0({paper})"
        for k, paper in zip((1, 5, 10, 20), ("43.0", "44.0", "68.25", "67.5"), strict=True)
    ]
    del results.runs["snail-best-classification-k10-0"]
    assert make.method_row(results, "classification", "snail")[-2] == "–\u00a0(68.25)"


def test_rows_have_what_there_is(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    assert "(" not in "".join(make.method_row(results, "classification", "nearest")[1:])  # not in the paper
    assert make.method_row(results, "transduction", "prototypical") is None
    results.runs = {}
    assert make.method_row(results, "transduction", "cavia")[-1] == "–\u00a0(1.53)"


def test_two_runs_of_one_k_are_an_error(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    results.runs["tam-best-classification-k5-0"] = results.runs["tam-best-classification-0"]
    with pytest.raises(ValueError, match="two runs of tam on classification"):
        make.methods(results)


def test_runs_that_are_not_of_a_preset_are_in_other_tables(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    before = make.runs(results), make.methods(results)
    run = results.runs["tam-best-classification-0"]
    others = ("ablation-classification-norm", "sweep-classification-T5", "compositional-classification")
    results.runs |= {f"tam-{other}-0": run for other in others}
    assert (make.runs(results), make.methods(results)) == before


def test_seconds_of_a_gpu_alone_are_named(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    run = results.runs["tam-best-classification-0"]
    by_clock = {key: value for key, value in run.items() if key != "gpu_seconds"}
    by_clock |= {"kind": "best", "seconds": 130}
    alone = by_clock | {"seconds": 900, "gpu_seconds": 60}
    assert make.run_words(by_clock)[1].startswith("2 min, ")
    assert make.run_words(alone)[1].startswith("60 s alone, ")
    assert make.training_words([by_clock, alone])[1] == "60 s alone to 2 min"
    assert make.training_words([by_clock, dict(alone, gpu_seconds=240)])[1] == "2 min to 4 min alone"
    assert make.training_words([dict(alone, gpu_seconds=130), dict(alone, gpu_seconds=240)])[1] == (
        "2 to 4 min alone"
    )
    facts = {key: value for key, value in results.tuning["tam-classification"].items() if key != "counted"}
    results.tuning = {"tam-classification": facts | {"seconds_each": 60.0}}
    assert "\n\n60.0 seconds for each candidate; " in make.tuning(results)
    results.tuning = {"tam-classification": facts | {"seconds_each": 60.0, "counted": "so"}}
    assert "\n\n60.0 GPU-seconds alone (so) for each candidate; " in make.tuning(results)


def test_choices_may_be_absent(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    results.choices = None
    assert "not there yet" in make.choices(results)
    one = {"place": 0.3, "steps": 390, "loss": 0.5, "accuracy": {"1": 0.4, "5": 0.55}}
    results.choices = {"variants": {"place 0.3": one}}
    assert make.choices(results).splitlines()[-1] == "| place 0.3 | 0.3 | 390 | 0.500 | 40.0 % | 55.0 % |"


def test_limits_may_be_absent(make: ModuleType) -> None:
    results = make.Results(ROOT / "results")
    results.limits = None
    assert "not there yet" in make.limits(results)
    part = {"mean": 0.25, "interval": 0.125}
    new_inputs = {"mean": 0.0625, "interval": 0.5}
    gaps = {
        "optimisation": part | {"new_inputs": new_inputs},
        "generalisation": part,
        "few examples": {"5": {"mean": 0.75, "interval": 0.5}, "20": {"mean": -0.125, "interval": 0.5}},
    }
    chosen = {"5": {"examples": 20, "at_most": False}, "many": {"examples": 200, "at_most": True}}
    run = results.runs["tam-best-classification-0"]
    limits = {"loss": {"5": "few examples", "20": "optimisation"}}
    model = run | {"gaps": {"loss": gaps}, "limits": limits, "chosen": chosen, "tasks_each": 32}
    results.limits = {"floor": 0.0, "many": 200, "models": [model]}
    lines = make.limits(results).splitlines()
    assert lines[0] == f"**Classification**: TAM, {', '.join(make.run_words(run))}"
    assert lines[4:6] == [
        "| loss, k = 5 | 1.250 | 0.250 ± 0.125 | 0.250 ± 0.125 | 0.750 ± 0.500 | few examples |",
        "| loss, k = 20 | 0.375 | 0.250 ± 0.125 | 0.250 ± 0.125 | -0.125 ± 0.500 | optimisation |",
    ]
    assert lines[7] == "Of the loss in optimisation, 0.062 ± 0.500 is that inputs are new."
    assert lines[9] == (
        "32 training and 32 test tasks; many are 200 examples of a task. "
        "The most steps of the grid were chosen at: Classification, 200 examples."
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
