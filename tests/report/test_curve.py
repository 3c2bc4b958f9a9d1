"""A run is shown beside the paper's numbers of its own method."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tam.errors import UserError
from tam.report.curve import CEILING, OURS, best_floor, draw_scores, rows_of, score_table

RESULTS = Path(__file__).resolve().parents[2] / "results"
PAPER: dict[str, Any] = json.loads((RESULTS / "paper.json").read_text())


def result(method: str, *, shots: tuple[int, ...] = (1, 5), **tasks: Any) -> dict[str, Any]:
    scores = [{"k": k, "accuracy": 0.5, "accuracy_interval": 0.1} for k in shots]
    config = {"network": {"use_primitives": tasks.pop("use_primitives", None)}}
    return {
        "method": method,
        "kind": "classification",
        "tasks": {"name": "classification", "compositional": False} | tasks,
        "config": config,
        "scores": scores,
    }


@pytest.mark.parametrize("form", ["sets", "compositional sets"])
@pytest.mark.parametrize("name", ["classification", "transduction", "pathfinding"])
def test_every_method_has_the_numbers_of_the_paper(name: str, form: str) -> None:
    scale = 100 if name == "classification" else 1
    for method, row in PAPER[form][name].items():
        word, *untold = method.split(" ", 1)
        tasks = {"name": name, "compositional": form != "sets", "use_primitives": not untold}
        _, shown, ceiling = rows_of(result(word, **tasks)).items()
        assert shown[0].startswith("the paper's ")
        assert [shown[1][k] * scale for k in PAPER["shots"]] == pytest.approx(row["mean"])
        assert ceiling[0] == CEILING


def test_what_the_paper_does_not_have_is_left_out() -> None:
    assert set(rows_of(result("mine"))) == {OURS, CEILING}
    assert set(rows_of(result("agnostic", compositional=True))) == {OURS, CEILING}
    assert set(rows_of(result("tam", name="mine"))) == {OURS}


def test_the_table_names_the_method() -> None:
    printed = score_table(result("snail", shots=(5,)))
    names = [line.rsplit("  ", 1)[0].strip() for line in printed.splitlines()[1:]]
    assert names == ["this run", "the paper's SNAIL", "ceiling"]
    assert "44.0 %" in printed


def test_the_picture_names_the_method(tmp_path: Path) -> None:
    for method, label in (("cavia", "the paper's CAVIA"), ("nearest", None)):
        svg, png = draw_scores(result(method), tmp_path / method)
        text = svg.read_text(encoding="utf-8")
        assert png.exists()
        assert text.count("the paper's ") == (label is not None)
        assert label is None or label in text


def test_an_infinite_perplexity_is_a_word_in_the_table_and_a_gap_in_the_picture(tmp_path: Path) -> None:
    scores = [{"k": 1, "perplexity": None, "perplexity_interval": None}]
    scores.append({"k": 5, "perplexity": 2.0, "perplexity_interval": 0.5})
    run = result("nearest", name="mine") | {"kind": "transduction", "scores": scores}
    assert score_table(run).splitlines()[1].split()[2:] == ["infinite", "2.00", "±", "0.50"]
    for shown in (scores, scores[:1]):
        assert draw_scores(run | {"scores": shown}, tmp_path / "scores")[1].exists()


def test_floors_are_in_the_table_and_the_best_of_them_in_the_picture(tmp_path: Path) -> None:
    def row(*values: float) -> list[dict[str, Any]]:
        return [
            {"k": k, "accuracy": v, "accuracy_interval": None} for k, v in zip((1, 5), values, strict=True)
        ]

    floors = {"test": {"chance": row(0.3, 0.3), "nearest neighbour": row(0.2, 0.6)}}
    gains = [
        {"k": k, "floor": floor, "difference": difference, "interval": 0.1}
        for k, floor, difference in ((1, "chance", 0.2), (5, "nearest neighbour", -0.1))
    ]
    run = result("tam") | {"floors": floors, "gains": {"test": gains}}
    printed = score_table(run)
    assert re.search(r"^nearest neighbour +20.0 % +60.0 %$", printed, re.MULTILINE)
    assert "at k = 5 the model is not clearly better than nearest neighbour" in printed
    assert best_floor(run) == {1: 0.3, 5: 0.6}
    assert "best floor" in draw_scores(run, tmp_path / "scores")[0].read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "scores.png").mkdir()
    with pytest.raises(UserError, match=r"scores\.png: cannot be written"):
        draw_scores(result("tam"), tmp_path / "scores")
    assert {path.name for path in tmp_path.iterdir()} == {"scores.svg", "scores.png"}
