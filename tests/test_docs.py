"""The pages are up to date with results/ and with the code."""

import json
import re
import shlex
from pathlib import Path

import pytest

from blocks.page import BLOCKS, fill
from blocks.results import Results
from make import files
from tam.cli.main import COMMANDS
from tam.experiments.jobs import all_jobs
from tam.tasks.benchmark import VERSION
from tam.tasks.classification import LABELLING, SUBSEQUENCE
from tam.tasks.integers import ELEMENTWISE
from tests.in_process import tam

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def results() -> Results:
    return Results()


def test_figures_and_numbers_are_up_to_date() -> None:
    stale = [path for path, text in files() if path.read_text(encoding="utf-8") != text]
    assert not stale, "run make pages"


def test_the_numbers_are_of_this_version_of_the_benchmarks() -> None:
    facts = json.loads((ROOT / "results" / "tasks.json").read_text())
    assert facts["benchmark_version"] == VERSION, "run python -m tam.experiments.task_facts, then make pages"


def test_a_block_is_replaced(results: Results) -> None:
    page = "a\n<!-- begin: why 15 -->\noutdated\n<!-- end: why 15 -->\nb\n"
    filled = fill(page, results)
    assert "outdated" not in filled
    assert filled.startswith("a\n<!-- begin: why 15 -->\n\nWith n = 11 ")
    assert filled.endswith("\n\n<!-- end: why 15 -->\nb\n")
    assert fill(filled, results) == filled


@pytest.mark.parametrize(
    "page",
    [
        "<!-- begin: nonsense -->\n<!-- end: nonsense -->",
        "<!-- begin: sizes -->\n",
        "<!-- begin: sizes -->\n<!-- end: unseen -->",
        "<!-- end: sizes -->\n<!-- begin: sizes -->",
    ],
)
def test_a_wrong_mark_is_an_error(results: Results, page: str) -> None:
    with pytest.raises(ValueError, match=r"sizes|nonsense"):
        fill(page, results)


def test_every_block_and_every_figure_is_used() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- begin: (.*?) -->", text)) == set(BLOCKS)
    drawn = {file.name for file in (ROOT / "docs" / "figures").iterdir()}
    assert set(re.findall(r"figures/(\w+\.\w+)", text)) == drawn


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


def test_published_runs_are_those_of_the_list() -> None:
    """A result of other settings may stay, but its job must be known."""
    names = {job.name for job in all_jobs()}
    for file in (ROOT / "results" / "runs").glob("*.json"):
        if not file.name.endswith(".error.json"):
            assert json.loads(file.read_text())["name"] in names, file
            assert re.sub("-[0-9a-f]{8}$", "", file.stem) in names, file


def test_commands_on_the_pages_have_options_that_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in COMMANDS.values():
        monkeypatch.setattr(kind, "run", lambda _: None, raising=False)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            for line in block.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["tam"] and words[1:2] != ["reproduce"]:
                    tam(*words[1:])
