"""The ceiling against Bayes' rule written out over every task, one input at a time."""

from collections import Counter
from itertools import product
from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from tam.tasks.benchmark import BenchmarkOptions, draw_recipes, make
from tam.tasks.ceiling import ceiling
from tam.tasks.classification import ClassificationFamily
from tam.tasks.composition import hold_out
from tam.tasks.family import Answers, ExampleArrays, Family, Recipe, Recipes
from tam.tasks.rng import Rng
from tam.tasks.task import Classes, Integers, Sequences, Task
from tam.tasks.transduction import TransductionFamily
from tam.tasks.vocabulary import Vocabulary

pytestmark = pytest.mark.slow

QUERIES, SUPPORTS = 12, 2


def supports(task: Task, k: int) -> tuple[list[int], list[list[int]]]:
    """The rows that are asked, and those of every support: the draw that `ceiling` makes."""
    rng = Rng("ceiling", task.name)
    order = rng.permutation(len(task))
    asked, rest = order[:QUERIES].tolist(), order[QUERIES:]
    chosen = []
    for _ in range(SUPPORTS):
        shuffled = rest[rng.permutation(len(rest))].tolist()
        if isinstance(task.y, Classes):
            ids = task.y.ids.tolist()
            groups = [[row for row in shuffled if ids[row] == number][:k] for number in range(4)]
            chosen.append([row for group in groups for row in group])
        else:
            chosen.append(shuffled[:k])
    return asked, chosen


# Classification: all tasks with parameters 1 and 2


def bayes_accuracy(
    family: ClassificationFamily, candidates: dict[Recipe, float], task: Task, k: int
) -> float:
    """P(task | support) ∝ P(task) · ∏ P(x | class) where it gives every class of the support right."""
    assert isinstance(task.y, Classes)
    ids = task.y.ids.tolist()
    classes = {recipe: family.classify(recipe, task.x.ids.astype(np.int64)).tolist() for recipe in candidates}
    sizes = {recipe: family.sizes[recipe].tolist() for recipe in candidates}
    asked, chosen = supports(task, k)
    right = []
    for support in chosen:
        posterior = {}
        for recipe, prior in candidates.items():
            found = classes[recipe]
            if all(found[row] == ids[row] for row in support):
                posterior[recipe] = log(prior) - sum(log(sizes[recipe][found[row]]) for row in support)
        most = max(posterior.values())
        for row in asked:
            votes = [0.0] * 4
            for recipe, weight in posterior.items():
                number = classes[recipe][row]
                if number >= 0:  # else this task does not draw such an input
                    votes[number] += exp(weight - most) / sizes[recipe][number]
            best = [number for number in range(4) if votes[number] > max(votes) * (1 - 1e-9)]
            right.append((ids[row] in best) / len(best))
    return sum(right) / len(right)


def test_classification_against_brute_force() -> None:
    options = BenchmarkOptions(name="classification", n=2, train=2, valid=1, test=6, examples=4)
    family = ClassificationFamily(2, "classes")
    firsts: dict[int, Recipe] = {}  # every different task once, all equally likely
    for recipe in np.ndindex(family.functions.shape):
        if family.functions[recipe] >= 0:
            firsts.setdefault(int(family.functions[recipe]), recipe)
    assert len(firsts) > 50
    prior = dict.fromkeys(firsts.values(), 1.0)
    told: list[tuple[int, int]] = []
    found = ceiling(options, (0, 1, 2), SUPPORTS, QUERIES, lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(1, 7)]
    tasks = make(options).test
    expected = {k: np.mean([bayes_accuracy(family, prior, task, k) for task in tasks]) for k in (0, 1, 2)}
    assert found == pytest.approx(expected, abs=1e-9)
    assert found[0] < found[1] < 1  # there is something to be found out


def test_compositional_classification_against_brute_force() -> None:
    """New labels only, and weights of the draw: every new labelling of the slot is equally likely."""
    options = BenchmarkOptions(
        name="classification", compositional=True, holdout=5, n=6, train=600, valid=5, test=30, examples=4
    )
    family = ClassificationFamily(6, "outputs")
    held = hold_out(family, 0, 5)
    drawn = draw_recipes(family, options)
    labelled = {int(family.targets[recipe]) for recipe in product(*(places.tolist() for places in held.seen))}
    trained = [{recipe[slot] for recipe in drawn["train"]} for slot in range(3)]
    found = ceiling(options, shots=(0, 1), supports=SUPPORTS, queries=QUERIES)
    scores, left_out, uneven = [], 0, 0
    for task, truth in zip(make(options).test, drawn["test"], strict=True):
        [slot] = [slot for slot in range(3) if truth[slot] in held.unseen[slot]]
        allowed = [*trained[:slot], set(held.unseen[slot].tolist()), *trained[slot + 1 :]]
        ways = Counter(int(family.targets[recipe]) for recipe in product(*allowed))
        meant = [(*truth[:slot], place, *truth[slot + 1 :]) for place in held.unseen[slot].tolist()]
        meant = [recipe for recipe in meant if family.functions[recipe] >= 0]
        new = [recipe for recipe in meant if int(family.targets[recipe]) not in labelled]
        assert truth in new
        prior = {recipe: 1 / ways[int(family.targets[recipe])] for recipe in new}
        scores.append([bayes_accuracy(family, prior, task, k) for k in (0, 1)])
        left_out += len(meant) - len(new)
        uneven += len(set(prior.values())) > 1
    assert list(found.values()) == pytest.approx(np.mean(scores, axis=0).tolist(), abs=1e-9)
    assert left_out > 0
    assert uneven > 0


class TwoCoins(Family):
    """Two tasks, equally likely: the class is the parity of the token, or the other one."""

    vocabulary = Vocabulary(range(10))
    slots = (("same", "other"),)
    functions = targets = np.array([0, 1])

    def examples(self, recipe: Recipe, count: int, rng: Rng) -> ExampleArrays:
        x = rng.integers(10, count)
        labels = Classes((x + recipe[0]) % 2, (0, 1))
        return ExampleArrays(Sequences(x[:, None], np.ones_like(x)), labels)

    def answers(self, recipes: Recipes, x: Integers) -> Answers:
        y = (x[None] + recipes[:, :, None]) % 2
        return Answers(y, np.zeros(y.shape[:2]))


def test_a_tie_is_half_right(monkeypatch: pytest.MonkeyPatch) -> None:
    family = TwoCoins()
    x, y = family.examples((1,), 100, Rng("coins"))
    task = Task("other", family.vocabulary, x, y)
    monkeypatch.setattr("tam.tasks.ceiling.family_of", lambda _: family)
    monkeypatch.setattr("tam.tasks.ceiling.draw_recipes", lambda *_: {"test": [(1,)]})
    monkeypatch.setattr("tam.tasks.ceiling.make", lambda _: SimpleNamespace(test=[task]))
    assert ceiling(BenchmarkOptions(name="classification"), shots=(0, 1)) == {0: 0.5, 1: 1.0}


# Transduction: all 89,080 recipes, by how often they are drawn


def bayes_perplexity(
    family: Family, candidates: Recipes, prior: NDArray[np.float64], task: Task, k: int
) -> float:
    """exp of the mean negative log-likelihood of each token, given those before it."""
    assert isinstance(task.y, Sequences)
    asked, chosen = supports(task, k)
    losses: list[float] = []
    for support in chosen:
        rows = [*support, *asked]
        answers = family.answers(candidates, task.x.ids[rows].astype(np.int64)).y
        targets = task.y.ids[rows]
        explains = (answers[:, :k] == targets[:k]).all((1, 2))
        for place in range(k, len(rows)):
            agrees = explains
            for position, token in enumerate(targets[place]):
                before = prior[agrees].sum()
                agrees = agrees & (answers[:, place, position] == token)
                losses.append(log(before / prior[agrees].sum()))
    return exp(sum(losses) / len(losses))


def test_transduction_against_brute_force() -> None:
    options = BenchmarkOptions(name="transduction", train=2, valid=1, test=2, examples=4)
    family = TransductionFamily()
    every = np.array(list(np.ndindex(family.functions.shape)))
    assert family.weights is not None
    prior = family.weights.reshape(-1)
    found = ceiling(options, shots=(2, 0, 1), supports=SUPPORTS, queries=QUERIES)
    scores = [
        [bayes_perplexity(family, every, prior, task, k) for k in (2, 0, 1)] for task in make(options).test
    ]
    assert list(found) == [2, 0, 1]
    assert list(found.values()) == pytest.approx(np.mean(scores, axis=0).tolist(), rel=1e-9)
    assert found[0] > found[1] > found[2] >= 1


# Path-finding: a path shows where it starts and ends


def test_one_path_tells_the_task() -> None:
    options = BenchmarkOptions(name="pathfinding", train=1, valid=1, test=3, examples=4)
    found = ceiling(options, shots=(0, 1, 5), supports=2, queries=6)
    assert 1.5 < found[0] < 10
    assert found[1] == found[5] == pytest.approx(1, abs=1e-12)
