"""The page of the published results in a real browser: with few runs, and with all."""

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tam.report.collect import BENCHMARK_TITLES, Results
from tam.report.page.published import published_page
from tests.browsing import PHONE, brightness, cells, chips, small_figures, too_wide, visit
from tests.in_process import tam
from tests.report.made_up import ROOT, complete

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Runs of every sort."""
    return Results(complete(tmp_path_factory.mktemp("made-up") / "results"))


@pytest.fixture(scope="module")
def full(everything: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("full") / "report.html"
    file.write_text(published_page(everything), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a single run."""
    folder = tmp_path_factory.mktemp("few")
    results = complete(folder / "results", "tam-best-transduction-0")
    tam("report", "--results", str(results), "--out", str(folder / "report.html"))
    return folder / "report.html"


def expected(results: Results, stem: str, k: int) -> tuple[float, float]:
    """The mean accuracy of runs in percent and their standard deviation, straight from the results."""
    runs = [run for name, run in results.runs.items() if name.startswith(stem)]
    values = [100 * one["accuracy"] for run in runs for one in run["scores"] if one["k"] == k]
    return statistics.mean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def test_every_cell_is_filled_and_marked(browser: Browser, full: Path) -> None:
    with visit(browser, full) as page:
        marks = chips(page)
        assert marks["missing"] == 0
        assert min(marks[name] for name in ("better", "within", "worse")) > 0
        for name in BENCHMARK_TITLES.values():
            table = cells(page, f"{name}: every method, ours and the paper's")
            assert all(cell.strip() for row in table.values() for cell in row[:4])
        assert page.locator("#embeddings svg").count() == 4
        assert page.locator("#embeddings .dot").count() == 4 * 99
        assert page.locator("#cpu tbody tr").count() == 22  # quick, and each change
        assert page.locator("#sweeps svg").count() >= 2
        assert page.locator("#seconds svg").count() == 3
        assert page.locator(".missing:is(p)").count() == 0


def test_the_numbers_are_those_of_the_files(browser: Browser, full: Path, everything: Results) -> None:
    paper = json.loads((ROOT / "results" / "paper.json").read_text())["sets"]["classification"]["tam"]
    with visit(browser, full) as page:
        row = cells(page, "The paper's settings, ours and the paper's")["Classification, accuracy"]
        for place, k in enumerate((1, 5, 10, 20)):
            mean, _ = expected(everything, "tam-paper-classification", k)
            theirs, error = paper["mean"][place], paper["error"][place]
            within = abs(mean - theirs) <= math.hypot(2.1, error)
            mark = "≈ within error" if within else f"▲ {mean - theirs:.1f} better"
            assert row[place] == f"{mean:.1f} (± 2.1) | paper {theirs} ± {error:.1f} | {mark}"
        row = cells(page, "Where the task embedding enters: accuracy")["Adapters"]
        mean, deviation = expected(everything, "tam-adapter-ablation", 5)
        assert row[1].startswith(f"{mean:.1f} ± {deviation:.1f} | paper 75.0 | ")
        times = cells(page, "Time to the best validated model, and the quality there")["CAVIA"]
        assert ", 48 s | paper 74.8, 3 h | " in times[0]
        assert "paper 4.5, 5.3 h" in times[1]


def test_what_is_missing_is_said_to_be(browser: Browser, few: Path) -> None:
    with visit(browser, few) as page:
        label = "{}: every method, ours and the paper's"
        transduction = cells(page, label.format("Transduction"))
        assert transduction["CAVIA"][0] == "paper 11.05 ± 2.94 | – missing"
        assert "missing" not in transduction["TAM"][0]
        assert cells(page, label.format("Classification"))["TAM"][4] == "–"
        assert "Nearest neighbour" not in transduction  # neither in the paper nor run
        assert "Table 2" in page.locator(".tile", has_text="Not run yet").inner_text()
        assert page.locator("#embeddings .missing").count() == 2
        assert page.locator("#quality svg").count() == 3
        assert page.locator("#learning svg").count() == 1
        assert chips(page)["better"] + chips(page)["within"] + chips(page)["worse"] == 4 + 1  # and its time


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_it_fits_and_can_be_seen_and_every_part_names_its_command(
    browser: Browser, few: Path, full: Path, width: int
) -> None:
    for file in (few, full):
        with visit(browser, file, width=width) as page:
            assert too_wide(page) == []
            assert small_figures(page) == []
            for section in page.locator("section").all():
                commands = section.locator(".made code").all_inner_texts()
                assert commands
                assert all(command.startswith("tam re") for command in commands)


def test_a_page_needs_no_file_locks() -> None:
    """Windows has no fcntl."""
    code = "import sys; sys.modules['fcntl'] = None; import tam.report.page.published"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_dark_is_dark_and_paper_is_white(browser: Browser, full: Path) -> None:
    with visit(browser, full, dark=True) as page:
        assert brightness(page, "backgroundColor") < 0.15
        assert brightness(page, "color") > 0.8
        page.emulate_media(media="print")
        assert brightness(page, "backgroundColor") > 0.99
        assert not page.locator("nav").is_visible()
        page.set_viewport_size({"width": 702, "height": 1000})  # A4 within its margins
        assert page.evaluate("document.documentElement.scrollWidth") <= 702
