"""benchmarks/limits.py: parts that add up, of tasks and examples that were not trained on or chosen by."""

import json
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tam.config import Config
from tam.errors import UserError
from tam.evaluation import episodes
from tam.sections import Protocol
from tam.tasks import benchmark
from tam.tasks.benchmark import BenchmarkOptions, make
from tam.tasks.task import Task
from tam.tasks.taskset import TaskSet
from tam.training.run import run, start

COUNT = 3
KINDS = ("classification", "pathfinding")


@pytest.fixture(scope="module")
def limits(load: Callable[[str], ModuleType]) -> Generator[ModuleType]:
    """benchmarks/limits.py, with families that are made once: comparing all their tasks takes seconds."""
    module, family_of = load("limits"), cache(benchmark.family_of)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "family_of", family_of)
        patch.setattr(module, "family_of", family_of)
        yield module


def options_of(name: Any) -> BenchmarkOptions:
    return BenchmarkOptions(name=name, train=5, valid=2, test=4, seed=1)


def first_training_task(limits: ModuleType, options: BenchmarkOptions) -> tuple[Task, Any, Any]:
    family = limits.family_of(options)
    return make(options).train[0], family, benchmark.choices(family, options)["train"][0]


@pytest.fixture(scope="module")
def folders(limits: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Finished runs of a few steps."""
    del limits  # it makes families first
    found: dict[str, Path] = {}
    for name in KINDS:
        tasks = make(options_of(name))
        config = Config.from_preset("smoke", adapt_steps=(1, 4), adapt_rates=(0.03, 0.1))
        found[name] = tmp_path_factory.mktemp("runs") / name
        start(found[name], config, tasks.options, resume=False)
        run(config, tasks, found[name], lambda _: None)
    return found


@pytest.fixture(scope="module")
def measured(limits: ModuleType, folders: dict[str, Path]) -> dict[str, Any]:
    return {name: limits.measure(folder, "cpu", COUNT, 100, 25) for name, folder in folders.items()}


@pytest.mark.parametrize("name", KINDS)
def test_gaps_add_up(measured: dict[str, Any], name: str) -> None:
    found = measured[name]
    for k in ("5", "20"):
        scored = found["scores"]["test"][k]
        for metric, total in (("loss", scored["loss"]["mean"]), ("error", 1 - scored["accuracy"]["mean"])):
            gaps = found["gaps"][metric]
            parts = {**gaps, "few examples": gaps["few examples"][k]}
            assert sum(part["mean"] for part in parts.values()) == pytest.approx(total)
            assert found["limits"][metric][k] == max(parts, key=lambda part: parts[part]["mean"])
    seen, new = (found["scores"][group]["many"]["loss"]["mean"] for group in ("seen", "training"))
    assert found["gaps"]["loss"]["optimisation"]["new_inputs"]["mean"] == pytest.approx(new - seen)
    assert seen != new


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_described(measured: dict[str, Any], folders: dict[str, Path], name: str) -> None:
    found = measured[name]
    assert found["model"] == folders[name].name
    assert (found["method"], found["tasks"]["name"], found["tasks_each"]) == ("tam", name, COUNT)
    assert found["fingerprint"] == make(options_of(name)).fingerprint
    assert found["config"]["settings"]["theta_update"] == "accumulated"
    assert found["trained_by"]["code"]
    assert [one["examples"] for one in found["chosen"].values()] == (
        [20, 80, 100] if name == "classification" else [5, 20, 100]
    )
    assert all(one["at_most"] == (one["steps"] == 4) for one in found["chosen"].values())


@pytest.mark.parametrize("name", KINDS)
def test_examples_are_new_and_true(limits: ModuleType, name: str) -> None:
    options = options_of(name)
    task, family, choice = first_training_task(limits, options)
    new = limits.new_examples(task, family, choice, options.test_examples)
    assert len(new) > 0.9 * options.test_examples
    assert not set(map(tuple, new.x.ids.tolist())) & set(map(tuple, task.x.ids.tolist()))
    assert len(new.x) == len(new.y)
    right = family.answers(np.array([choice]), new.x.ids).y[0]
    given = new.y.ids[:, None] if name == "classification" else new.y.ids
    width = min(right.shape[1], given.shape[1])
    assert (np.maximum(right[:, :width], 0) == given[:, :width]).all()
    if name == "classification":
        assert len(set(np.bincount(new.y.ids).tolist())) == 1


def test_classes_stay_equally_large(limits: ModuleType) -> None:
    options = options_of("classification")
    task, family, choice = first_training_task(limits, options)
    everything = limits.new_examples(task, family, choice, options.test_examples)
    taken = np.flatnonzero(everything.y.ids == 2)[:-10]
    own = replace(task, x=replace(task.x, ids=np.concatenate([task.x.ids, everything.x.ids[taken]])))
    fewer = limits.new_examples(own, family, choice, options.test_examples)
    of_class = np.bincount(fewer.y.ids).tolist()
    assert of_class == [of_class[0]] * 4
    assert 10 <= of_class[0] < 20  # some of this class were left out before, to have as many of each


@pytest.mark.parametrize("name", KINDS)
def test_what_is_asked_is_apart(
    limits: ModuleType, folders: dict[str, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Sequence[Task], int, Protocol]] = []
    score = limits.score

    def watched(method: Any, model: Any, tasks: Sequence[Task], k: int, choice: Any, protocol: Any) -> Any:
        asked.append((tasks, k, protocol))
        return score(method, model, tasks, k, choice, protocol)

    monkeypatch.setattr(limits, "score", watched)
    limits.measure(folders[name], "cpu", COUNT, 100, 1)
    assert len(asked) == 3 * 2 + 1
    (training, *_), (test, *_) = asked[:2]
    tasks = make(options_of(name))
    assert {task.name for task in training} <= {task.name for task in tasks.train}
    assert {task.name for task in test} <= {task.name for task in tasks.test}
    assert not {task.name for task in training} & {task.name for task in test}
    assert len(training) == len(test) == COUNT
    queries = []
    for some, k, protocol in asked[:6]:
        found = episodes(some, k, protocol)
        assert not any(set(one.support.tolist()) & set(one.query.tolist()) for one in found)
        queries.append([one.query.tolist() for one in found])
    assert queries[0::2] == [queries[0]] * 3  # the same at every k
    assert queries[1::2] == [queries[1]] * 3


def test_test_tasks_do_not_enter_choices(
    limits: ModuleType, folders: dict[str, Path], measured: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = make(options_of("classification"))
    turned = tuple(replace(task, y=replace(task.y, ids=np.roll(task.y.ids, 1))) for task in tasks.test)
    others = TaskSet({**tasks.splits, "test": turned}, tasks.vocabulary, tasks.options)
    monkeypatch.setattr(limits, "make", lambda _: others)
    monkeypatch.setattr(limits, "check_tasks", lambda *_: None)
    found, before = (
        limits.measure(folders["classification"], "cpu", COUNT, 100, 25),
        measured["classification"],
    )
    assert found["chosen"] == before["chosen"]
    assert found["scores"]["training"] == before["scores"]["training"]
    assert found["scores"]["test"] != before["scores"]["test"]


def test_what_cannot_be_measured_is_an_error(
    limits: ModuleType, folders: dict[str, Path], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="no finished run"):
        limits.measure(tmp_path, "cpu", COUNT, 100, 25)
    with pytest.raises(UserError, match="many are more than 20"):
        limits.measure(folders["classification"], "cpu", COUNT, 80, 25)
    for file in folders["pathfinding"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    result = json.loads((tmp_path / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(result | {"fingerprint": "other"}))
    with pytest.raises(UserError, match="fingerprint other"):
        limits.measure(tmp_path, "cpu", COUNT, 100, 25)
    (tmp_path / "result.json").write_text(json.dumps(result | {"tasks": {}}))
    with pytest.raises(UserError, match="only tasks of a benchmark"):
        limits.measure(tmp_path, "cpu", COUNT, 100, 25)


def test_an_infinite_loss_has_no_gaps(
    limits: ModuleType, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one task, of the only group that is asked at the last k alone."""
    score, calls = limits.score, count(1)

    def infinite(*given: Any) -> Any:
        found = score(*given)
        if next(calls) < 7:
            return found
        first, *others = found.tasks
        return found._replace(tasks=(first._replace(perplexity=math.inf), *others))

    monkeypatch.setattr(limits, "score", infinite)
    with pytest.raises(UserError, match=r"pathfinding: a loss of seen tasks at k = 100 is infinite: gaps"):
        limits.measure(folders["pathfinding"], "cpu", COUNT, 100, 1)


def test_the_command_writes_and_prints(
    limits: ModuleType,
    folders: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "new" / "limits.json"
    options = ["--out", str(out), "--tasks", "2", "--many", "30", "--most-steps", "1"]
    monkeypatch.setattr("sys.argv", ["limits.py", str(folders["pathfinding"]), *options])
    limits.main()
    facts = json.loads(out.read_text())
    assert facts["code"]
    assert [model["tasks_each"] for model in facts["models"]] == [2]
    printed = capsys.readouterr().out
    assert "loss, k = 5 " in printed
    assert facts["models"][0]["limits"]["loss"]["5"] in printed


def test_one_task_has_no_interval(
    limits: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["limits.py", "folder", "--tasks", "1"])
    with pytest.raises(SystemExit):
        limits.main()
    assert "--tasks is at least 2" in capsys.readouterr().err
