"""Training on generated tasks besides one's own, from the command line."""

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from tam.cli.tasks import prior_source
from tam.experiments import lists
from tam.io import read_json
from tam.tasks.jsonl import read_tasks
from tests.commands.own import Said
from tests.in_process import tam

WORDS = "--preset smoke --method tam --shots 2 --steps 2 --rows 8 --tasks 4 --programs 0"
TINY = WORDS.split()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of six tasks that rotate lists of four numbers, with 24 examples each."""
    folder = tmp_path_factory.mktemp("own")
    with open(folder / "tasks.jsonl", "w", encoding="utf-8") as stream:
        for n in range(6):
            inputs = [[(7 * row + place * (row + 2)) % 20 for place in range(4)] for row in range(24)]
            examples = [{"x": x, "y": x[n % 4 :] + x[: n % 4]} for x in inputs]
            task = {"task": f"rotate {n}", "kind": "transduction", "examples": examples}
            stream.write(json.dumps(task) + "\n")
    splits = {"train": [0, 1], "valid": [2, 3], "test": [4, 5]}
    named = {split: [f"rotate {n}" for n in some] for split, some in splits.items()}
    (folder / "splits.json").write_text(json.dumps(named))
    return folder


@pytest.fixture(scope="module")
def run(own: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a prior."""
    folder = tmp_path_factory.mktemp("runs") / "prior"
    tam("train", str(own), "--prior", "lists", "--prior-tasks", "20", *TINY, "--out", str(folder))
    return folder


@pytest.mark.slow
def test_the_run_says_what_its_prior_was(run: Path, own: Path) -> None:
    assert read_json(run / "config.json")["tasks"]["prior"] == {"generator": "lists", "tasks": 20, "seed": 0}
    result = read_json(run / "result.json")
    assert result["tasks"]["prior"] == {
        "generator": "lists", "tasks": 20, "examples": 24, "values": 20, "shortest": 4, "longest": 4,
        "longest_answer": 4, "seed": 0,
    }  # fmt: skip
    assert result["scores"][0]["tasks"] == 2
    assert result["fingerprint"] != read_tasks(own).fingerprint


@pytest.mark.slow
def test_a_run_with_a_prior_is_used_as_any_other(run: Path, tmp_path: Path, said: Said) -> None:
    examples, rule = tmp_path / "examples.jsonl", str(tmp_path / "rule.json")
    examples.write_text('{"x": [1, 2, 3], "y": [2, 3, 1]}\n{"x": [4, 5], "y": [5, 4]}\n')
    tam("eval", str(run))
    tam("adapt", str(run), str(examples), "--out", rule)
    asked, answer = said("predict", str(run), rule, "19 2 1").split("→")
    assert asked.split() == ["19", "2", "1"]
    assert all(0 <= int(token) < 20 for token in answer.split())


@pytest.mark.slow
def test_resuming_with_another_prior_is_an_error(run: Path, own: Path) -> None:
    again = (str(own), *TINY, "--out", str(run), "--resume")
    tam("train", *again, "--prior", "lists", "--prior-tasks", "20")
    with pytest.raises(SystemExit, match="the run there has the tasks"):
        tam("train", *again, "--prior", "lists", "--prior-tasks", "21")
    with pytest.raises(SystemExit, match="the run there has the tasks"):
        tam("train", *again)


@pytest.mark.slow
def test_a_file_is_a_prior_too(own: Path, tmp_path: Path) -> None:
    file = tmp_path / "lists.jsonl"
    tam("generate", "lists", "--tasks", "12", "--examples", "9", "--values", "8", "--out", str(file))
    assert len(read_tasks(file)) == 12
    nearest = ("--preset", "smoke", "--method", "nearest", "--shots", "2")
    tam("train", str(own), "--prior", str(file), *nearest, "--out", str(tmp_path / "file"))
    result = read_json(tmp_path / "file" / "result.json")
    assert result["tasks"]["prior"] == {"path": str(file)}


def test_a_benchmark_is_a_prior_too() -> None:
    source = prior_source("transduction", 3, 1)
    assert (source["name"], source["train"], source["seed"]) == ("transduction", 3, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("OWN --prior nonsense", "there is no benchmark 'nonsense'"),
        ("OWN --prior no/such.jsonl", "no/such.jsonl: there is no such file or folder"),
        ("OWN --prior lists --prior-tasks 1", "tasks must be an integer from 3 .*: got 1"),
        ("OWN --prior OWN --prior-tasks 5", "--prior-tasks is for generated tasks"),
        ("transduction --prior lists", "a prior is for your own tasks"),
    ],
)
def test_mistakes(words: str, message: str, own: Path, tmp_path: Path) -> None:
    given = words.replace("OWN", str(own)).split()
    with pytest.raises(SystemExit, match=message):
        tam("train", *given, *TINY, "--out", str(tmp_path / "run"))


def test_the_protocol_of_list_functions(own: Path) -> None:
    tasks = read_tasks(own)
    fixed = lists.with_protocol(tasks)
    assert fixed.train == tasks.train
    for before, after in zip(tasks.test, fixed.test, strict=True):
        assert after.support == 8
        assert list(after) == [*list(before)[:8], *list(before)[16:24]]


def test_runs_of_list_functions_with_other_settings_have_other_names() -> None:
    options = {"method": "tam", "prior": True, "prior_tasks": 20, "seed": 1}
    names = [
        lists.default_name(Namespace(**options, settings=settings))
        for settings in ({}, {"hints": 2}, {"hints": 3})
    ]
    assert names[0] == "list_functions-tam-prior20-1"
    assert len(set(names)) == 3


@pytest.mark.slow
def test_the_experiment_writes_its_result(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {"layers": 1, "width": 16, "steps": 2, "rows": 9, "tasks": 2}
    small["adapt_steps"] = [0, 1]
    words = ["lists", str(own), "--prior", "--prior-tasks", "10", "--seconds", "60", "--device", "cpu"]
    words += ["--settings", json.dumps(small), "--name", "one", "--results", str(tmp_path / "results")]
    monkeypatch.setattr("sys.argv", [*words, "--runs", str(tmp_path / "runs")])
    lists.main()
    result = read_json(tmp_path / "results" / "one.json")
    assert [score["k"] for score in result["scores"]] == [8]
    assert result["tasks"]["prior"]["tasks"] == 10
    assert result["tasks"]["path"] == own.name
    assert result["command"] == (
        f"python -m tam.experiments.lists {own.name} --prior --prior-tasks 10 --method tam --seconds 60 "
        f"--device cpu --seed 0 --settings '{json.dumps(small)}' --name one"
    )
    assert [record["step"] for record in result["curve"]] == [2]
    assert result["config"]["protocol"]["choose_by"] == "accuracy"
