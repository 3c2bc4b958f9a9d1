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
