import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

import tam
from tam.errors import UserError
from tam.tasks.benchmark import BenchmarkName, BenchmarkOptions, draw_recipes, family_of, make
from tam.tasks.taskset import TaskSet

pytestmark = pytest.mark.slow

NAMES: tuple[BenchmarkName, ...] = get_args(BenchmarkName)

# The default sets
#
# Fingerprints were written down once. If one of them changes, the same options give other tasks:
# raise VERSION in tam.tasks.benchmark, or cached files are read that no longer fit.

DEFAULT_FINGERPRINTS: dict[BenchmarkName, str] = {
    "classification": "5f58596e1e87574e",
    "transduction": "abe9ec9ce11fe085",
    "pathfinding": "d3baa0becbd70990",
}


@pytest.fixture(scope="module", params=NAMES)
def default(request: pytest.FixtureRequest) -> TaskSet:
    return tam.benchmark(request.param)


def test_default_sets(default: TaskSet) -> None:
    """500, 16 and 64 tasks; 500 examples to train on, and for 20 shots (a class) and 500 queries."""
    name: Any = default.options["name"]
    assert {name: default.fingerprint[:16]} == {name: DEFAULT_FINGERPRINTS[name]}
    sizes = {split: len(tasks) for split, tasks in default.splits.items()}
    assert sizes == {"train": 500, "valid": 16, "test": 64}
    assert {len(task) for task in default.train} == {500}
    expected = 580 if default.kind == "classification" else 520
    assert {len(task) for task in (*default.valid, *default.test)} == {expected}


def test_tasks_and_their_inputs_differ(default: TaskSet) -> None:
    """Inputs too: a learner cannot know a task by what it is asked."""
    options = BenchmarkOptions.of(default.options)
    family = family_of(options)
    drawn = [recipe for recipes in draw_recipes(family, options).values() for recipe in recipes]
    assert [family.title(recipe) for recipe in drawn] == [task.name for task in default]
    numbers = {int(family.functions[recipe]) for recipe in drawn}
    assert len(numbers) == len({task.x.ids[:50].tobytes() for task in default}) == 580
    assert min(numbers) >= 0


# Small sets of all six forms

SMALL: dict[str, Any] = {"train": 6, "valid": 2, "test": 2, "examples": 20}
FORMS: dict[str, tuple[BenchmarkName, dict[str, Any]]] = {
    f"{name}{' compositional' if compositional else ''}": (
        name,
        {**SMALL, "compositional": compositional, **({"n": 5} if name == "classification" else {})},
    )
    for name in NAMES
    for compositional in (False, True)
}
FINGERPRINTS = {
    "classification": "ea6734d9818008b3",
    "classification compositional": "8f2ca27385d3afd4",
    "transduction": "37c352545d7b4ba9",
    "transduction compositional": "e52608413fcd6e71",
    "pathfinding": "1cd31a4f1932e66d",
    "pathfinding compositional": "de78f9cd35bc6992",
}

SCRIPT = """
import json, sys, tam
forms = json.loads(sys.argv[1])
print(json.dumps({
    form: tam.benchmark(name, use_cache=False, **options).fingerprint[:16]
    for form, (name, options) in forms.items()
}))
"""


def test_same_fingerprints_in_any_process() -> None:
    """In one with another hash seed, and with tasks made in another order, than those known came from."""
    command = [sys.executable, "-c", SCRIPT, json.dumps(dict(reversed(FORMS.items())))]
    environment = os.environ | {"PYTHONHASHSEED": "2718"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout) == FINGERPRINTS


def test_every_option_matters() -> None:
    base: dict[str, Any] = {**SMALL, "n": 2}
    composed: dict[str, Any] = {**base, "compositional": True}
    sets = [base, composed, composed | {"holdout": 1}, composed | {"holdout": 1, "seed": 1}]
    changes = {"seed": 1, "n": 3, "train": 7, "valid": 3, "test": 3, "examples": 24}
    sets += [base | {name: value} for name, value in changes.items()]
    made = [tam.benchmark("classification", **options) for options in sets]
    assert len({tasks.fingerprint for tasks in made}) == len(sets)
    for options, tasks in zip(sets, made, strict=True):
        assert options.items() <= tasks.options.items()


def test_without_a_cache_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAM_CACHE", str(tmp_path / "cache"))
    told: list[tuple[int, int]] = []
    options = BenchmarkOptions(name="pathfinding", n=5, **SMALL)  # n has no effect here
    tasks = make(options, use_cache=False, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 10) for done in range(1, 11)]
    assert tasks.fingerprint[:16] == FINGERPRINTS["pathfinding"]
    assert not (tmp_path / "cache").exists()


# Mistakes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "path-finding"}, "'path-finding': .* did you mean 'pathfinding'"),
        ({"name": "\x1b[31m" + "x" * 999}, r"'\\x1b"),
        ({"name": 3}, "no benchmark 3"),
        ({"shots": 5}, "'shots'.*holdout"),
        ({"compositional": True, "holdout": 8}, "^holdout must be .* from 0 to 7: got 8"),
        ({"seed": None}, "^seed must be"),
        ({"train": 10.0}, "^train must be"),
        ({"test": True}, "^test must be"),
        ({"examples": 3}, "^examples must be an integer from 4"),
        ({"compositional": "no"}, "^compositional must be True or False"),
        ({"n": 5, "train": 762}, "must be at most 841 .*got 842"),
        ({"n": 3, "compositional": True, "train": 5000}, "train must be at most .*got 5000"),
        ({"n": 2, "train": 5, "examples": 100_000}, "examples must be at most"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        tam.benchmark(**{"name": "classification", **options})
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200
