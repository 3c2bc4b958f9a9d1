"""Proposals against finite differences, and what a search does with them."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import TAM
from tam.methods.objective import Objective
from tam.methods.start import Start
from tam.models import Batch, Model, ModelSpec
from tests.methods.algorithm_1 import losses_at
from tests.methods.small import make_batch, make_model, some

SETTINGS = TAM(inner_steps=2, inner_rate=0.1, patience=None, learn_blank=True, proposer=True)


@pytest.fixture
def proposing(plain_spec: ModelSpec) -> Model:
    """A model whose proposals are far from 0."""
    model = make_model(SETTINGS.spec(plain_spec, 3))
    with torch.no_grad():
        some(model.proposer).out.weight.normal_(generator=torch.Generator().manual_seed(1))
    return model


def propose(model: Model, batch: Batch, rows: Tensor | None = None) -> Tensor:
    return some(model.proposer)(batch, rows)


def test_the_first_proposal_is_the_blank_embedding(plain_spec: ModelSpec) -> None:
    model = make_model(SETTINGS.spec(plain_spec, 3))
    assert propose(model, make_batch(plain_spec)).eq(0).all()


def test_a_proposal_is_of_a_set_of_the_rows_asked_for(proposing: Model, plain_spec: ModelSpec) -> None:
    batch = make_batch(plain_spec, 3, 5)
    rows = torch.zeros(3, 5, dtype=torch.float64)
    rows[:, :2] = 1
    expected = propose(proposing, batch.cut(slice(2)))
    torch.testing.assert_close(propose(proposing, batch, rows), expected)
    present = replace(batch, present=rows.bool())
    torch.testing.assert_close(propose(proposing, present), expected)
    turned = batch.take(torch.tensor([[1, 0]] * 3))
    torch.testing.assert_close(propose(proposing, turned), expected)
    assert (propose(proposing, batch) != expected).any()


def test_the_answers_matter(proposing: Model, plain_spec: ModelSpec) -> None:
    batch = make_batch(plain_spec, 3, 5)
    if batch.y_length is not None:
        batch = replace(batch, y_length=torch.full_like(batch.y_length, batch.y.shape[-1]))
    other = replace(batch, y=(batch.y + 1) % (plain_spec.classes or plain_spec.vocabulary))
    assert (propose(proposing, batch) != propose(proposing, other)).any(1).all()


def test_the_encoder_learns_by_the_gradient_of_the_loss_over_all_rows(
    proposing: Model, plain_spec: ModelSpec
) -> None:
    """Also where z follows some rows only; a task with a warm start teaches it nothing."""
    batch = make_batch(plain_spec, 3, 5)
    start = torch.zeros(3, proposing.task_size, dtype=torch.float64)
    start[1] = 0.2
    batch = replace(batch, start=start)
    chosen = torch.zeros(3, 5, dtype=torch.float64)
    chosen[:, :2] = 1
    objective = Objective(proposing, batch, chosen)
    beginning = Start(objective)
    torch.testing.assert_close(beginning.z[1], start[1])
    beginning.learn(objective.at(beginning.z))

    def loss() -> float:
        with torch.no_grad():
            each = losses_at(proposing, propose(proposing, batch, chosen), batch)
        return float(each[0] + each[2])

    for name, weight in some(proposing.proposer).named_parameters():
        found, flat = weight.grad, weight.data.view(-1)
        assert found is not None, name
        place = int(found.abs().argmax())
        before, by = flat[place].item(), 1e-5
        values: list[float] = []
        for change in (by, -by):
            flat[place] = before + change
            values.append(loss())
        flat[place] = before
        expected = (values[0] - values[1]) / (2 * by)
        assert found.view(-1)[place].item() == pytest.approx(expected, rel=1e-4, abs=1e-9), name


def test_a_search_starts_from_the_proposal(
    proposing: Model, plain_spec: ModelSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch(plain_spec, 3, 5)
    proposed = propose(proposing, batch).detach()
    (found,) = SETTINGS.adapt(proposing, batch, [0], 0.1)
    torch.testing.assert_close(found, proposed)
    moves: list[Callable[..., object]] = []
    losses = SETTINGS.training_step(proposing, batch, lambda _: moves.append(print), 0)
    torch.testing.assert_close(losses.start, losses_at(proposing, proposed, batch).mean())
    assert len(moves) == 1


def test_a_compositional_model_has_none(compositional_spec: ModelSpec) -> None:
    model = make_model(SETTINGS.spec(compositional_spec, 3))
    assert model.proposer is None
    SETTINGS.training_step(model, make_batch(compositional_spec), lambda _: None, 0)
