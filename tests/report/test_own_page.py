"""`tam report RUN…`: a user's own runs side by side, in a real browser."""

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tam.report.own_runs import read_runs
from tam.report.page.own import own_page
from tests.browsing import PHONE, brightness, cells, small_figures, too_wide, visit
from tests.in_process import tam
from tests.letters import write_letters

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs on tasks of a user: two finished, and one that is not."""
    folder = tmp_path_factory.mktemp("own")
    tasks = folder / "letters.jsonl"
    write_letters(tasks)
    tam("train", str(tasks), "--preset", "smoke", "--out", str(folder / "first"))
    tam("train", str(tasks), "--preset", "smoke", "--width", "32", "--out", str(folder / "<b>wide & odd"))
    shutil.copytree(folder / "first", folder / "stopped")
    (folder / "stopped" / "result.json").unlink()
    metrics = folder / "stopped" / "metrics.jsonl"
    metrics.write_text(metrics.read_text()[:-10])  # as a process that is killed leaves it
    return folder


@pytest.fixture(scope="module")
def page_of_three(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "own.html"
    names = ("stopped/../first", "first", "<b>wide & odd", "stopped")  # one of them twice
    tam("report", *(str(runs / name) for name in names), "--out", str(file))
    return file


def test_runs_stand_side_by_side(browser: Browser, page_of_three: Path, runs: Path) -> None:
    scores = json.loads((runs / "first" / "result.json").read_text())["scores"]
    with visit(browser, page_of_three) as page:
        table = cells(page, "accuracy of each run on the test tasks")
        assert list(table) == ["first", "<b>wide & odd", "stopped"]
        assert table["first"][0].startswith(f"{100 * scores[0]['accuracy']:.1f} (± ")
        assert any(word in table["<b>wide & odd"][0] for word in ("better", "within error", "worse"))
        assert table["stopped"][:2] == ["– missing", "– missing"]
        settings = cells(page, "The runs and their settings")
        assert settings["width"] == ["16", "32", "16"]
        assert settings["state"][2].startswith("not finished: step ")
        assert page.locator("svg.chart").count() == 5  # scores, losses, validation at two k, and against time
        repeat = page.locator(".made code").first.inner_text()
        assert repeat == f"python -m tam run {runs}/first/config.json --out {runs}/first-again"


@pytest.mark.parametrize("width", [PHONE, 1280])
def test_it_fits_and_can_be_seen(browser: Browser, page_of_three: Path, width: int) -> None:
    with visit(browser, page_of_three, width=width, dark=True) as page:
        assert too_wide(page) == []
        assert small_figures(page) == []
        assert brightness(page, "backgroundColor") < 0.15


def test_a_benchmark_stands_beside_the_paper(browser: Browser, runs: Path, tmp_path: Path) -> None:
    run, file = tmp_path / "snail", tmp_path / "one.html"
    shutil.copytree(runs / "first", run)
    for name in ("config.json", "result.json"):  # as if it were a run of SNAIL on a benchmark
        values = json.loads((run / name).read_text()) | {"tasks": {"name": "classification", "seed": 0}}
        values |= {"method": "snail"} if name == "result.json" else {}
        (run / name).write_text(json.dumps(values))
    tam("report", str(run), "--out", str(file))
    with visit(browser, file) as page:
        table = cells(page, "accuracy of each run on the test tasks")
        assert table["the paper's SNAIL"][0] == "43.0 %"
        assert "ceiling" in table
        assert page.locator("h1").inner_text() == "snail"
        assert small_figures(page) == []


def test_an_unfinished_run_is_shown_by_its_accuracy(runs: Path) -> None:
    assert "Test tasks, accuracy" in own_page(read_runs([runs / "stopped"]))


def test_a_string_in_the_metrics_may_have_any_character(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "first", run := tmp_path / "run")
    with open(run / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 99, "note": "a\u2028b"}\n')
    assert read_runs([run])[0].steps == 99


def test_mistakes_are_said(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        ((str(tmp_path / "none"),), "there is no such folder: give the folder that tam train wrote"),
        ((str(tmp_path),), "there is no run here (no config.json)"),
        (("--results", str(tmp_path)), "there are no published results here (no paper.json)"),
        ((str(runs / "first"), "--out", "page.json"), "--out must be the name of an HTML file"),
        ((str(runs / "first"), "--out", str(tmp_path / "no" / "page.html")), "cannot be written"),
    ):
        with pytest.raises(SystemExit, match="error: ") as end:
            tam("report", *words)
        assert said in str(end.value)
    assert capsys.readouterr().out == ""
