"""Floors against other ways to compute them: the method `nearest`, brute force, and published numbers."""

import json
import math
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import tam
from tam.config.sections import Protocol
from tam.evaluation.comparison import difference
from tam.evaluation.floors import floors
from tam.evaluation.protocol import Choice, KShotScore, TaskScore, episodes
from tam.tasks.edits import edit_of

REPOSITORY = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("TAM_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
PROTOCOL = Protocol(shots=(1, 5), supports=2, queries=20)


def small(name: str) -> tam.TaskSet:
    return tam.benchmark(name, train=2, valid=1, test=3, examples=8)  # pyright: ignore[reportArgumentType]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["classification", "transduction", "pathfinding"])
def test_the_nearest_neighbour_is_that_of_the_method(name: str) -> None:
    tasks = small(name)
    learner = tam.Learner("nearest", shots=(1, 5), supports=2, queries=20).fit(tasks)
    scores = floors(tasks.test, PROTOCOL)["nearest neighbour"]
    for found, expected in zip(scores, learner.evaluate(tasks.test), strict=True):
        for one, other in zip(found.tasks, expected.tasks, strict=True):
            assert one == pytest.approx(other, rel=1e-4)


def test_naive_bayes_and_overlap_by_brute_force() -> None:
    tasks = small("classification").test
    found = floors(tasks, PROTOCOL)
    for place, k in enumerate(PROTOCOL.shots):
        right = Counter[str]()
        for episode in episodes(tasks, k, PROTOCOL):
            task = tasks[episode.task]
            bags = [set(x) for x, _ in task]
            tokens = set().union(*bags)
            support = [(bags[row], task[row].y) for row in episode.support.tolist()]
            for row in episode.query.tolist():
                log_prob, votes = {}, Counter[int | str]()
                near = [
                    round(len(bag & bags[row]) / math.sqrt(len(bag) * len(bags[row])), 6)
                    for bag, _ in support
                ]
                for label in range(4):
                    counts = {t: 1 + sum(t in bag for bag, y in support if y == label) for t in tokens}
                    log_prob[label] = math.log(1 + sum(y == label for _, y in support))
                    log_prob[label] += sum(math.log(counts[t] / sum(counts.values())) for t in bags[row])
                    votes[label] = sum(
                        y == label and one == max(near) for (_, y), one in zip(support, near, strict=True)
                    )
                right["naive Bayes"] += max(log_prob, key=lambda one: log_prob[one]) == task[row].y
                right["most tokens in common"] += max(votes, key=lambda one: votes[one]) == task[row].y
        for name, count in right.items():
            asked = len(tasks) * PROTOCOL.queries * PROTOCOL.supports
            assert math.isclose(found[name][place].accuracy, count / asked, abs_tol=1e-9)
        assert math.isclose(found["chance"][place].accuracy, 1 / 4)
        assert math.isclose(found["chance"][place].perplexity, 4.0)


def test_an_edit_keeps_the_longest_common_run() -> None:
    walk, german = edit_of(tuple(b"walk"), tuple(b"walked")), edit_of(tuple(b"machen"), tuple(b"gemacht"))
    assert walk.apply(tuple(b"talk")) == tuple(b"talked")
    assert german.apply(tuple(b"lachen")) == tuple(b"gelacht")
    assert german.apply(tuple(b"sag")) is None
    nothing, empty = edit_of((1, 2), (3,)), edit_of((), ())
    assert (nothing.apply((1, 2)), nothing.apply((1, 3)), empty.apply((4, 5))) == ((3,), None, (4, 5))


def words(pairs: list[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    return [(list(x), list(y)) for x, y in pairs]


def test_edits_copies_and_answers_of_sequences() -> None:
    support = words([("talk", "talked"), ("walk", "walked"), ("bake", "baked"), ("go", "went")])
    query = words([("balk", "balked"), ("make", "maked"), ("sit", "sit"), ("go", "went"), ("ad", "walked")])
    tasks = tam.tasks_from({key: {"support": support, "query": query} for key in "abc"})
    found = {name: scores[0] for name, scores in floors(tasks.test, Protocol(shots=(4,))).items()}
    assert math.isclose(found["copy"].accuracy, 1 / 5)
    assert math.isclose(found["commonest edit"].accuracy, 3 / 5)  # sit becomes sited, ad becomes aded
    assert found["chance"].perplexity == len(tasks.vocabulary) + 1
    even = 0.5 / (len(tasks.vocabulary) + 1)
    copied = [x[place : place + 1] == [token] for x, y in query for place, token in enumerate(y)]
    loss = -np.mean([math.log(even + 0.5 * same) for same in copied])
    assert math.isclose(found["copy"].perplexity, math.exp(loss))
    common = words([("a", "xy"), ("b", "xy"), ("c", "z")])
    parts = {"support": common, "query": words([("q", "xy"), ("r", "z")])}
    tasks = tam.tasks_from(dict.fromkeys("abc", parts))
    assert floors(tasks.test, Protocol(shots=(3,)))["commonest answer"][0].accuracy == 0.5


def test_a_difference_is_paired() -> None:
    def scores(*values: float) -> list[KShotScore]:
        return [KShotScore(1, Choice(0, 0.0), tuple(TaskScore(value, 1.0) for value in values))]

    easy_and_hard = difference(scores(0.9, 0.2, 0.6), scores(0.8, 0.1, 0.5))
    assert math.isclose(easy_and_hard.mean, 0.1)
    assert easy_and_hard.interval < 1e-9
    assert easy_and_hard.is_clear
    assert not difference(scores(0.9, 0.2), scores(0.2, 0.9)).is_clear
    assert math.isnan(difference(scores(0.9), scores(0.2)).interval)
    two_runs = difference([*scores(0.4, 0.6), *scores(0.6, 0.8)], scores(0.5, 0.5))
    assert math.isclose(two_runs.mean, 0.1)


README_FLOORS = {
    "banking77_binary": ("test", "most tokens in common", {5: 0.785, 10: 0.825, 20: 0.860}),
    "inflection tag": ("test_unseen_tag", "commonest edit", {5: 0.619, 10: 0.676, 20: 0.726}),
    "inflection language": ("test_unseen_language", "commonest edit", {5: 0.714, 10: 0.744, 20: 0.792}),
}


NEEDS_DATA = pytest.mark.skipif(
    not SHARED_DATA.is_dir(), reason="the shared data is not here; TAM_SHARED_DATA names its folder"
)


@NEEDS_DATA
@pytest.mark.slow
@pytest.mark.parametrize("case", README_FLOORS)
def test_floors_of_real_data_are_those_published_with_it(case: str) -> None:
    """Supports are drawn otherwise, so up to what the draw changes."""
    split, name, expected = README_FLOORS[case]
    tasks = tam.read_tasks(SHARED_DATA / case.split()[0]).splits[split]
    found = floors(tasks, Protocol(shots=tuple(expected)))[name]
    assert [one.accuracy for one in found] == pytest.approx(list(expected.values()), abs=0.015)


@NEEDS_DATA
def test_floors_of_a_fixed_protocol_are_those_published_with_it() -> None:
    folder = SHARED_DATA / "list_functions"
    lines = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    fixed = [
        {"task": one["task"], "support": one["examples"][:8], "query": one["examples"][16:24]}
        for one in lines
    ]
    tasks = tam.tasks_from(fixed, splits=folder / "splits.json")
    for some, expected in ((list(tasks), (0.039, 0.059, 0.111)), (tasks.test, (0.077, 0.043, 0.263))):
        found = floors(some, Protocol(shots=(8,)))
        names = ("copy", "commonest answer", "commonest edit")
        assert [found[name][0].accuracy for name in names] == pytest.approx(expected, abs=0.005)
