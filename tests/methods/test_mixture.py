"""Mixtures against a plain reading: one task, one search, one answer at a time."""

from dataclasses import replace

import torch
from torch import Tensor

from tam.methods import TAM
from tam.methods.mixture import SUPPORT_SHARE, nearest_known
from tam.models import Batch, Model, ModelSpec
from tests.methods.algorithm_1 import mean_loss, task_loss
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model

METHOD = TAM(starts=3)
STEPS, RATE = (0, 2), 0.1


def knowing(spec: ModelSpec) -> Model:
    """A model that remembers five training tasks, or knows six primitives."""
    model = make_model(METHOD.spec(spec, 5))
    if model.kept is not None:
        model.kept.normal_(generator=torch.Generator().manual_seed(1))
    return model


def known_to(model: Model) -> Tensor:
    known = model.kept if model.primitives is None else model.primitives.detach()
    return some(known)


def whole_answer(outcomes: Tensor, batch: Batch) -> Tensor:
    """log p(y) of the one row of one task."""
    tokens = 1 if batch.y_length is None else int(batch.y_length) + 1
    return -mean_loss(outcomes, batch) * tokens


def test_searches_start_at_the_known_embeddings_that_fit_best(spec: ModelSpec) -> None:
    model, batch = knowing(spec), make_batch(spec)
    found = nearest_known(model, batch, 2)
    for task in range(batch.tasks):
        losses = [task_loss(model, z, batch, task).item() for z in known_to(model)]
        best = sorted(range(len(losses)), key=losses.__getitem__)[:2]
        torch.testing.assert_close(found[:, task], known_to(model)[best])


def test_answers_are_an_average_weighted_by_the_likelihood_of_the_support(spec: ModelSpec) -> None:
    model, support = knowing(spec), make_batch(spec)
    asked = make_batch(spec, rows=4, seed=1)
    asked = replace(asked, primitives=support.primitives, unknown=support.unknown)
    starts = torch.cat([model.blank(support.tasks).unsqueeze(0), nearest_known(model, support, 2)])
    for number, states in zip(STEPS, METHOD.adapt(model, support, STEPS, RATE), strict=True):
        outcomes = METHOD.outcomes(model, states, asked)
        torch.testing.assert_close(outcomes.exp().sum(-1), torch.ones_like(outcomes[..., 0]))
        for task in range(support.tasks):
            ends = [searched(model, start[task], support, task, number) for start in starts]
            sums = [task_loss(model, z, support, task) * predictions(support, task) for z in ends]
            weights = torch.softmax(-SUPPORT_SHARE * torch.stack(sums), 0)
            for row in range(asked.rows):
                one = asked.part(slice(task, task + 1)).cut(slice(row, row + 1))
                answers = [whole_answer(outcomes_at(model, z, one), one) for z in ends]
                expected = (weights * torch.stack(answers).exp()).sum().log()
                found = whole_answer(outcomes[task : task + 1, row : row + 1], one)
                torch.testing.assert_close(found, expected)


def searched(model: Model, start: Tensor, support: Batch, task: int, steps: int) -> Tensor:
    """Where Adam's best point is after some steps from a start, `[S]`."""
    z = start.clone().requires_grad_()
    adam = torch.optim.Adam([z], RATE)
    best, where = torch.inf, z.detach().clone()
    for step in range(steps + 1):
        loss = task_loss(model, z, support, task)
        if loss.item() < best:
            best, where = loss.item(), z.detach().clone()
        if step < steps:
            (z.grad,) = torch.autograd.grad(loss, z)
            adam.step()
    return where


def predictions(batch: Batch, task: int) -> int:
    return batch.rows if batch.y_length is None else int((batch.y_length[task] + 1).sum())


def outcomes_at(model: Model, z: Tensor, batch: Batch) -> Tensor:
    return model.outcomes(model.condition(z.view(1, 1, -1), batch), batch)


def test_each_task_may_have_a_rate_of_its_own(plain_spec: ModelSpec) -> None:
    model, batch = knowing(plain_spec), make_batch(plain_spec)
    rates = [0.01, 0.1, 0.3]
    (together,) = METHOD.adapt(model, batch, (3,), torch.tensor(rates, dtype=torch.float64))
    for task, rate in enumerate(rates):
        (alone,) = METHOD.adapt(model, batch.part(slice(task, task + 1)), (3,), rate)
        torch.testing.assert_close(together[task : task + 1], alone)


def test_every_start_gets_a_search_at_every_rate(plain_spec: ModelSpec) -> None:
    model, batch = knowing(plain_spec), make_batch(plain_spec)
    at_two = replace(METHOD, starts=5, search_rates=(1.0, 3.0))
    (mixed,) = at_two.adapt(model, batch, (3,), RATE)
    alone = [METHOD.adapt(model, batch, (3,), RATE * times)[0] for times in at_two.search_rates]
    slow, fast = (states.unflatten(1, (3, -1))[..., 1:] for states in alone)
    expected = [slow[:, 0], fast[:, 0], slow[:, 1], fast[:, 1], slow[:, 2]]
    torch.testing.assert_close(mixed.unflatten(1, (5, -1))[..., 1:], torch.stack(expected, 1))
    assert not torch.equal(slow, fast)


def test_searches_without_a_known_embedding_have_weight_zero(plain_spec: ModelSpec) -> None:
    """The model knows five embeddings, so that six searches are all there are."""
    model, batch = knowing(plain_spec), make_batch(plain_spec)
    six, eight = replace(METHOD, starts=6), replace(METHOD, starts=8)
    (of_six,), (of_eight,) = (method.adapt(model, batch, (1,), RATE) for method in (six, eight))
    assert of_eight.unflatten(1, (8, -1))[:, 6:, 0].eq(0).all()
    found = eight.outcomes(model, of_eight, batch)
    torch.testing.assert_close(found, six.outcomes(model, of_six, batch))
