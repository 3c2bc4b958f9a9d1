"""The k-shot protocol: what is drawn, what is chosen on what, and what the scores mean."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from tam.config.config import Config
from tam.config.sections import Protocol
from tam.errors import UserError
from tam.evaluation import protocol as evaluation
from tam.evaluation.protocol import Choice, Episode, KShotScore, TaskScore, choose, episodes, quality, score
from tam.methods import TAM, Losses, Method, Rate, Update, make_method
from tam.models import Batch, Condition, Model, ModelSpec
from tam.models.batch import collate
from tam.tasks.task import Classes, Kind, Sequences, Task
from tam.tasks.vocabulary import Vocabulary
from tests.methods.small import DECODER as SHORT_DECODER
from tests.methods.small import ENCODER
from tests.models.conftest import make_model

pytestmark = pytest.mark.slow

DIGITS = Vocabulary(range(5))
PROTOCOL = Protocol(shots=(1, 3), supports=2, queries=9, adapt_steps=(1, 2, 6), adapt_rates=(0.03, 0.3))
DECODER = replace(SHORT_DECODER, max_y=3)


def classification(name: str, seed: int, size: int = 30) -> Task:
    draw = np.random.default_rng(seed)
    x = draw.integers(5, size=(size, 3))
    ids = (x.sum(1) + seed) % 3
    lengths = np.full(size, 3, dtype=np.uint8)
    return Task(name, DIGITS, Sequences(x, lengths), Classes(ids, ("a", "b", "c")))


def transduction(name: str, seed: int, size: int = 20) -> Task:
    draw = np.random.default_rng(seed)
    x = [draw.integers(5, size=draw.integers(4)).tolist() for _ in range(size)]
    y = [[(token + seed) % 5 for token in row] for row in x]
    return Task(name, DIGITS, Sequences.from_lists(x, 5), Sequences.from_lists(y, 5))


def tasks_of(kind: str, name: str, count: int = 3) -> list[Task]:
    make = classification if kind == "classification" else transduction
    return [make(f"{name} {number}", number + len(name)) for number in range(count)]


def sharp_model(spec: ModelSpec) -> Model:
    return make_model(spec).float()


@pytest.fixture(params=[ENCODER, DECODER], ids=["classification", "transduction"])
def spec(request: pytest.FixtureRequest) -> ModelSpec:
    return request.param


# ── Supports and queries ──────────────────────────────────────────────────────────────────────────


def test_a_support_has_k_of_each_class_is_nested_in_k_and_leaves_its_queries_out(spec: ModelSpec) -> None:
    tasks = tasks_of(spec.kind, "t")
    of_k = [episodes(tasks, k, PROTOCOL) for k in (1, 2, 3)]
    for nested in zip(*of_k, strict=True):
        for k, episode in enumerate(nested, 1):
            answers = tasks[episode.task].y
            if isinstance(answers, Classes):
                assert np.bincount(answers.ids[episode.support]).tolist() == [k, k, k]
            else:
                assert len(episode.support) == k
        small, middle, large = (set(episode.support.tolist()) for episode in nested)
        assert small < middle < large
        assert nested[0].query.tolist() == nested[2].query.tolist()
        assert not large.intersection(nested[2].query.tolist())
        assert 0 < len(nested[2].query) <= 9
    few = replace(PROTOCOL, queries=3)  # then queries do not depend on the other k
    for k in few.shots:
        assert plain(episodes(tasks, k, replace(few, shots=(k,)))) == plain(episodes(tasks, k, few))


def plain(drawn: Sequence[Episode]) -> list[tuple[int, list[int], list[int]]]:
    return [(e.task, e.support.tolist(), e.query.tolist()) for e in drawn]


def test_draws_follow_from_the_seed_and_the_tasks_name_alone(spec: ModelSpec) -> None:
    tasks = tasks_of(spec.kind, "t", 4)
    drawn = plain(episodes(tasks, 3, PROTOCOL))
    assert [task for task, _, _ in drawn] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert drawn[0][1:] != drawn[1][1:]
    backwards = plain(episodes(tasks[::-1], 3, PROTOCOL))
    assert [e[1:] for e in backwards[:2]] == [e[1:] for e in drawn[-2:]]
    grid = replace(PROTOCOL, adapt_steps=(7,), adapt_rates=(1.0,))  # nothing of a method
    assert plain(episodes(tasks, 3, grid)) == drawn
    assert plain(episodes(tasks, 3, replace(PROTOCOL, support_seed=1))) != drawn
    renamed = [replace(task, name=f"{task.name}!") for task in tasks]
    assert plain(episodes(renamed, 3, PROTOCOL)) != drawn


def test_too_few_examples_are_an_error() -> None:
    few = transduction("few", 0, size=3)
    with pytest.raises(UserError, match=r"'few' has too few examples \(3\) .* up to 2$"):
        episodes([few], 1, PROTOCOL)  # all three are reserved for k = 3, none is left to ask
    assert len(episodes([few], 1, replace(PROTOCOL, shots=(1, 2)))) == 2
    lopsided = classification("lopsided", 0)
    ids = np.where(np.arange(30) < 28, 0, np.arange(30) % 2 + 1)
    lopsided = replace(lopsided, y=Classes(ids, ("a", "b", "c")))
    with pytest.raises(UserError, match=r"\(30, 1 of them of class '\w'\) .* of every class"):
        episodes([lopsided], 1, PROTOCOL)


# ── A method that answers by rote, to see what the protocol does with it ─────────────────────────


@dataclass(frozen=True)
class Rote(Method):
    """Gives every answer the probability `rule(steps, rate)`, and notes what it is shown."""

    version: ClassVar[int] = 1
    rule: Callable[[int, float], float]
    seen: list[Batch]

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        return spec

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        raise AssertionError("nobody asks for this here")

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        self.seen.append(support)
        assert isinstance(rate, Tensor)
        return [torch.tensor([[self.rule(n, round(r, 6))] for r in rate.tolist()]) for n in steps]

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        self.seen.append(batch)
        right = torch.nn.functional.one_hot(batch.y, 3)
        p = states.unsqueeze(-1)
        return (right * p + (1 - right) * (1 - p) / 2).log()


def test_the_best_of_the_grid_is_chosen() -> None:
    valid, model = tasks_of("classification", "v"), sharp_model(ENCODER)
    for best in (Choice(steps, rate) for steps in PROTOCOL.adapt_steps for rate in PROTOCOL.adapt_rates):
        for other in (0.2, 0.8):  # with 0.8 all are right: then the less surprised is best
            method = Rote(lambda n, r, best=best, other=other: 0.9 if best == (n, r) else other, [])
            assert choose(method, model, valid, 1, PROTOCOL).choice == best


def test_accuracy_decides_for_classes_and_perplexity_for_sequences() -> None:
    exact, calibrated, both, neither = (
        KShotScore(1, Choice(1, 0.1), (TaskScore(accuracy, perplexity),))
        for accuracy, perplexity in ((0.9, 5.0), (0.8, 2.0), (0.9, 2.0), (0.8, 5.0))
    )
    accuracy_first, perplexity_first = [both, exact, calibrated, neither], [both, calibrated, exact, neither]
    cases: list[tuple[Kind, str, list[KShotScore]]] = [
        ("classification", "auto", accuracy_first),
        ("transduction", "auto", perplexity_first),
        ("transduction", "accuracy", accuracy_first),
    ]
    for kind, choose_by, order in cases:
        key = partial(quality, kind=kind, choose_by=choose_by)
        assert sorted([neither, exact, both, calibrated], key=key) == order


@pytest.mark.parametrize("name", ["tam", "cavia", "maml", "agnostic", "multitask"])
def test_tasks_learn_at_all_rates_together_as_they_do_alone(name: str) -> None:
    method = make_method(Config.of(name))
    model = sharp_model(method.spec(ENCODER, tasks=3))
    tasks = tasks_of("classification", "t")
    best = choose(method, model, tasks, 3, PROTOCOL)
    alone = [
        choose(method, model, tasks, 3, replace(PROTOCOL, adapt_steps=(n,), adapt_rates=(rate,)))
        for rate in PROTOCOL.adapt_rates
        for n in PROTOCOL.adapt_steps
    ]
    expected = min(alone, key=partial(quality, kind="classification"))
    assert best.choice == expected.choice
    for ours, theirs in zip(best.tasks, expected.tasks, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)


def test_every_method_is_shown_the_episodes_once_for_all_steps() -> None:
    """What a method is shown does not depend on what it answers; one trajectory serves all step counts."""
    tasks = tasks_of("classification", "t")
    drawn = episodes(tasks, 3, PROTOCOL)
    support = collate([tasks[e.task] for e in drawn], [e.support for e in drawn])
    query = collate([tasks[e.task] for e in drawn], [e.query for e in drawn])
    for method in (Rote(lambda n, r: 0.9, []), Rote(lambda n, r: n * r / 10, [])):
        choose(method, sharp_model(ENCODER), tasks, 3, PROTOCOL)
        adapted, asked = method.seen
        assert torch.equal(adapted.x, torch.cat([support.x] * len(PROTOCOL.adapt_rates)))
        assert torch.equal(asked.x, torch.cat([query.x] * 6))  # of 6 choices


# ── What the scores mean ──────────────────────────────────────────────────────────────────────────


def test_perplexity_and_exact_match_equal_a_slow_reference(spec: ModelSpec) -> None:
    """One query at a time: exp of the mean over a task's tokens, and token-by-token greedy decoding."""
    model, method, choice = sharp_model(spec), TAM(patience=None), Choice(6, 0.3)
    tasks = tasks_of(spec.kind, "t")
    got = score(method, model, tasks, 3, choice, PROTOCOL)
    surprise: list[list[float]] = [[] for _ in tasks]
    right: list[list[bool]] = [[] for _ in tasks]
    with torch.no_grad():
        for episode in episodes(tasks, 3, PROTOCOL):
            task = tasks[episode.task]
            (z,) = method.adapt(model, collate([task], [episode.support]), [6], 0.3)
            for row in episode.query.tolist():
                if isinstance(task.y, Classes):
                    one = collate([task], [np.array([row])])
                    outcomes = model.outcomes(model.condition(z.unsqueeze(1), one), one)[0, 0]
                    surprise[episode.task].append(-outcomes[task.y.ids[row]].item())
                    right[episode.task].append(outcomes.argmax().item() == task.y.ids[row])
                else:
                    answer = task.y.row(row).tolist()
                    surprise[episode.task] += step_by_step(model, z, task, row, answer)
                    right[episode.task].append(greedy(model, z, task, row) == answer)
    assert (len({len(part) for part in surprise}) == 1) == (spec.kind == "classification")
    for task, (nll, exact) in enumerate(zip(surprise, right, strict=True)):
        assert got.tasks[task].perplexity == pytest.approx(math.exp(np.mean(nll)), rel=1e-4)
        assert got.tasks[task].accuracy == pytest.approx(np.mean(exact))
    assert got.perplexity == pytest.approx(np.mean([math.exp(np.mean(nll)) for nll in surprise]), rel=1e-4)
    assert got.accuracy == pytest.approx(np.mean([np.mean(exact) for exact in right]))
    assert 0 < got.accuracy < 1, "some answers must be right and some wrong for this test to say anything"


def next_token(model: Model, z: Tensor, task: Task, row: int, prefix: list[int]) -> Tensor:
    x = torch.tensor(task.x.row(row).tolist(), dtype=torch.int64).view(1, 1, -1)
    known = torch.tensor(prefix, dtype=torch.int64).view(1, 1, -1)
    batch = Batch(x, torch.tensor([[x.shape[-1]]]), known, torch.tensor([[len(prefix)]]))
    return model.outcomes(Condition(1, 1, tokens=z.view(1, 1, 1, -1)), batch)[0, 0, -1]


def step_by_step(model: Model, z: Tensor, task: Task, row: int, answer: list[int]) -> list[float]:
    """−log p of each token of the answer; its end is not counted."""
    return [
        -next_token(model, z, task, row, answer[:place])[token].item() for place, token in enumerate(answer)
    ]


def greedy(model: Model, z: Tensor, task: Task, row: int) -> list[int]:
    answer: list[int] = []
    while len(answer) < 4:
        token = int(next_token(model, z, task, row, answer[:3]).argmax())
        if token == len(DIGITS):
            return answer
        answer.append(token)
    return answer


def test_scoring_leaves_the_model_alone_and_a_sure_miss_is_infinite() -> None:
    tasks, model, untouched = tasks_of("classification", "t"), sharp_model(ENCODER), sharp_model(ENCODER)
    score(TAM(), model, tasks, 1, Choice(1, 0.1), PROTOCOL)
    for parameter, before in zip(model.parameters(), untouched.parameters(), strict=True):
        assert torch.equal(parameter, before)
        assert parameter.grad is None
    miss = score(Rote(lambda n, r: 0.0, []), model, tasks, 1, Choice(1, 1.0), PROTOCOL)
    assert (miss.perplexity, miss.accuracy) == (math.inf, 0)


def test_means_and_intervals_are_over_tasks() -> None:
    both = KShotScore(1, Choice(1, 0.1), (TaskScore(0.5, 2.0), TaskScore(1.0, 6.0), TaskScore(0.0, 1.0)))
    assert both.accuracy == 0.5
    assert both.perplexity == 3.0
    assert both.interval("accuracy") == pytest.approx(1.96 * 0.5 / math.sqrt(3))
    assert both.interval("perplexity") == pytest.approx(1.96 * math.sqrt(7) / math.sqrt(3))
    assert math.isnan(both._replace(tasks=both.tasks[:1]).interval("accuracy"))


def test_chunks_change_nothing(spec: ModelSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks, model = tasks_of(spec.kind, "t", 5), sharp_model(spec)
    whole = choose(TAM(), model, tasks, 3, PROTOCOL)
    for places in (1, 160, 600):
        monkeypatch.setattr(evaluation, "_TOKENS_AT_ONCE", {"cpu": places})
        parts = choose(TAM(), model, tasks, 3, PROTOCOL)
        assert parts.choice == whole.choice
        for a, b in zip(parts.tasks, whole.tasks, strict=True):
            assert a == pytest.approx(b, rel=1e-4)


def test_a_method_says_how_many_tasks_it_adapts_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    method = Rote(lambda n, r: 0.5, [])
    monkeypatch.setattr(Rote, "at_once", lambda *_: 4)
    score(method, sharp_model(ENCODER), tasks_of("classification", "t", 5), 1, Choice(1, 0.1), PROTOCOL)
    assert [batch.tasks for batch in method.seen] == [4, 4, 4, 4, 2, 2]  # two supports of each task
