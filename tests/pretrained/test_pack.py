"""A run is packed: one set of weights, rounded, scored, with a card."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tam
from tam.evaluation.protocol import Choice
from tam.models import build_model
from tam.pretrained.card import read_card, readme
from tam.pretrained.pack import one_set, pack_run
from tam.pretrained.score import score_packed
from tam.training.run import load_tasks, read_config
from tam.training.saved import Best, Saved
from tam.training.scoring import score_splits
from tests.in_process import tam as command

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file, folder = tmp_path_factory.mktemp("tasks") / "tasks.jsonl", tmp_path_factory.mktemp("runs") / "first"
    tam.benchmark("classification", train=20, valid=2, test=2).write(file)
    command("train", str(file), "--preset", "smoke", "--out", str(folder))
    return folder


def test_packed(run: Path, tmp_path: Path) -> None:
    card = pack_run(run, tmp_path / "m", tasks=2, supports=1, name="mine")
    assert card == read_card(tmp_path / "m")
    assert readme(card) == (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    before, after = Saved.read(run, "cpu"), Saved.read(tmp_path / "m", "cpu")
    (kept,) = {after.at(k)[0] for k in after.config.protocol.shots}
    original = before.best[5][1] if before.best else before.model
    for name, weight in original.state_dict().items():
        assert torch.equal(weight.half().float(), kept.state_dict()[name])
    half = (tmp_path / "m" / "model.safetensors").stat().st_size
    assert half < 0.7 * (run / "best-5.safetensors").stat().st_size
    assert [score["k"] for score in card["scores"]["packed"]] == [1, 5]
    shown = [json.loads(line) for line in (tmp_path / "m" / "tasks.jsonl").read_text().splitlines()]
    assert len(shown) == 2
    with pytest.raises(tam.UserError, match="m exists already: give the name of a new folder"):
        pack_run(run, tmp_path / "m", tasks=2, supports=1)


def test_the_card_of_a_users_model_is_true(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = pack_run(run, tmp_path / "mine", tasks=2, supports=1)
    text = readme(card)
    assert "license" not in text
    assert "like those of `tasks.jsonl`" in text
    assert "have up to 5 tokens; longer ones are refused. Tokens it does not know are read as" in text
    assert "`tasks.jsonl` has examples of 2 test tasks" in text
    monkeypatch.chdir(tmp_path)
    (name,) = re.findall(r'tam.load\("(.*)"\)', text)
    learner = tam.load(name)
    rule = learner.adapt([([1, 2], "a"), ([3], "b")])
    learner.predict(rule, [[1, 2], [99]])
    with pytest.raises(tam.UserError, match="9 tokens"):
        learner.predict(rule, [[1] * 9])
    long = card | {"inputs": {"usual": 5, "longest": 4096, "unknown": False}}
    assert "it also takes longer ones, up to 4,096. Tokens it does not know are refused" in readme(long)


def test_a_mistake_leaves_nothing(run: Path, tmp_path: Path) -> None:
    (file := tmp_path / "file").write_text("mine")
    out = tmp_path / "m"
    for words, message in (
        (("--out", file), "file exists already: give the name of a new folder"),
        (("--out", file / "x"), "file/x: cannot be written: Not a directory"),
        (("--out", out, "--tasks", "0"), "--tasks must be at least 1: got 0"),
        (("--out", out, "--tasks", "-1"), "--tasks must be at least 1: got -1"),
        (("--out", out, "--supports", "0"), "--supports must be at least 1: got 0"),
    ):
        with pytest.raises(SystemExit, match=message):
            command("pack", str(run), *map(str, words))
        assert list(tmp_path.iterdir()) == [file]


def test_scoring_goes_on_from_its_log(run: Path, tmp_path: Path) -> None:
    """Task by task, as all together; a task that is in the log is not scored again."""
    card = pack_run(run, tmp_path / "m", tasks=2, supports=2, name="mine")
    source, log = read_config(run / "config.json")[1], tmp_path / "log.jsonl"
    test, saved = load_tasks(source).test, Saved.read(tmp_path / "m", "cpu")
    protocol = replace(saved.config.protocol, supports=2)
    together = score_splits(saved, protocol, {"test": test})["test"]
    for known, row in zip(together, card["scores"]["packed"], strict=True):
        assert (row["accuracy"], row["tasks"]) == (pytest.approx(known.accuracy), 2)
    score_packed(tmp_path / "m", test[:1], 2, log=log)
    lines = log.read_text().splitlines()
    log.write_text("".join(line.replace(str(json.loads(line)[-1]), "7.5") + "\n" for line in lines))
    again = score_packed(tmp_path / "m", test, 2, shots=[1], log=log)
    assert len(log.read_text().splitlines()) == 3
    first, other = again["scores"]["packed"]
    assert (first["tasks"], other["tasks"]) == (2, 1)
    assert first["perplexity"] == pytest.approx((7.5 + together[0].tasks[1].perplexity) / 2)


def test_the_weights_that_serve_most_k_are_packed(run: Path, tmp_path: Path) -> None:
    saved = Saved.read(run, "cpu")
    early, late = (build_model(saved.model.spec, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    old = Choice(1, 0.1)
    saved.best.clear()
    shots = (1, 5)
    saved.best.update({1: (Best(2, (0.0, 0.0), old), early), 5: (Best(4, (0.0, 0.0), old), late)})
    lines = [
        {"step": step, "valid": {str(k): {"steps": step + k, "rate": 0.5} for k in shots}} for step in (2, 4)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    packed, step = one_set(saved, tmp_path, 9)
    assert (packed.model, step, packed.best) == (late, 4, {})  # a tie: the larger k
    assert packed.choices == {1: Choice(5, 0.5), 5: Choice(9, 0.5)}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(lines[0]) + "\n")
    with pytest.raises(tam.UserError, match="no validation of step 4"):
        one_set(saved, tmp_path, 9)
