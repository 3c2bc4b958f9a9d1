"""Files have null where a number is infinite, and it is read as such."""

import json
import math
import warnings
from pathlib import Path

import pytest

from tam.evaluation import protocol as evaluation
from tam.evaluation.protocol import Choice, KShotScore, TaskScore
from tam.io import finite, infinite_if_none, json_text
from tam.learner.evaluating import over_trials
from tam.learner.task_embedding import TaskEmbedding
from tam.training.checkpoint import write_json, write_tensors
from tam.training.folder import metrics
from tam.training.scoring import score_rows
from tests.in_process import tam

CHOICE = Choice(1, 0.1)


def test_what_is_not_finite_is_null() -> None:
    for value in (math.inf, -math.inf, math.nan):
        assert finite(value) is None
        with pytest.raises(ValueError, match="not JSON compliant"):
            json_text([value])
    assert finite(1.5) == infinite_if_none(1.5) == 1.5
    assert infinite_if_none(finite(math.inf)) == math.inf


def test_no_file_can_have_an_infinite_number(tmp_path: Path) -> None:
    """Whoever writes one must make it null: it is an error even where nobody looked."""
    with metrics(tmp_path, 0, lambda _: None) as record, pytest.raises(ValueError, match="JSON"):
        record({"step": 1, "loss": math.inf})
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "result.json", {"perplexity": math.inf})
    with pytest.raises(ValueError, match="JSON"):
        write_tensors(tmp_path / "a.safetensors", {}, {"best": math.nan})
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.jsonl"]
    assert (tmp_path / "metrics.jsonl").read_text() == ""


@pytest.mark.parametrize("values", [(math.inf, 2.0), (math.inf, math.inf), (1e308, 1e308), (1e308, 1.0)])
def test_scores_that_no_number_holds(values: tuple[float, float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (row,) = score_rows([KShotScore(5, CHOICE, tuple(TaskScore(0.5, value) for value in values))])
    json_text(row)
    assert (row["perplexity"] is None) == (sum(values) == math.inf)
    assert row["accuracy_interval"] == 0.0
    if math.inf in values:
        assert row["perplexity_interval"] is None


def test_of_several_runs_one_that_is_infinite_makes_the_mean_so() -> None:
    def result(seed: int, perplexity: float | None) -> dict[str, object]:
        score = {"k": 1, "accuracy": 0.5, "perplexity": perplexity}
        return {"config": {"seed": seed}, "fingerprint": "f", "scores": [score]}

    (row,) = over_trials([result(0, 2.0), result(1, None)], [Path("a"), Path("b")])["scores"]
    assert (row["perplexity"], row["perplexity_interval"]) == (None, None)
    assert (row["accuracy"], row["accuracy_interval"]) == (0.5, 0.0)


def test_a_run_of_infinite_perplexity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From training to the tables: every file is JSON, and every word is there."""
    monkeypatch.setattr(evaluation, "task_score", lambda *_: TaskScore(0.25, math.inf))
    line = {"kind": "transduction", "examples": [{"x": [n % 3], "y": [n % 2]} for n in range(12)]}
    file, run = tmp_path / "tasks.jsonl", tmp_path / "run"
    file.write_text(
        "".join(json.dumps(line | {"task": s, "split": s}) + "\n" for s in ("train", "valid", "test"))
    )
    tam("train", str(file), "--preset", "smoke", "--out", str(run))
    printed = capsys.readouterr()
    assert "this run           infinite  infinite" in printed.out
    assert "k=1 25% (perplexity infinite)" in printed.err
    texts = [path.read_text() for path in run.glob("*.json")]
    texts += (run / "metrics.jsonl").read_text().splitlines()
    values = [json.loads(text, parse_constant=pytest.fail) for text in texts]
    assert any(value.get("valid", {}).get("1", {}).get("perplexity", 0) is None for value in values)
    assert any(value.get("scores", [{}])[0].get("perplexity", 0) is None for value in values)


def test_a_rule_of_infinite_loss(tmp_path: Path) -> None:
    parts = {"model": "m", "labels": [], "primitives": [], "loss": None, "vector": [0.5]}
    TaskEmbedding.from_json(parts).save(tmp_path / "rule.json")
    assert json.loads((tmp_path / "rule.json").read_text(), parse_constant=pytest.fail)["loss"] is None
    assert TaskEmbedding.load(tmp_path / "rule.json").loss == math.inf
