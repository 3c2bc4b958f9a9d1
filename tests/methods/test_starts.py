"""Warm starts, proposals against finite differences, and what a search does with them."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import TAM
from tam.methods.objective import Objective
from tam.methods.starts import Start, WarmStarts
from tam.models import Batch, Model, ModelSpec
from tests.methods.algorithm_1 import losses_at
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model

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


def test_a_search_starts_from_the_proposal(proposing: Model, plain_spec: ModelSpec) -> None:
    batch = make_batch(plain_spec, 3, 5)
    proposed = propose(proposing, batch).detach()
    (found,) = SETTINGS.adapt(proposing, batch, [0], 0.1)
    torch.testing.assert_close(found, proposed)
    losses = SETTINGS.training_step(proposing, batch, lambda _: None, 0)
    torch.testing.assert_close(losses.start, losses_at(proposing, proposed, batch).mean())


def test_a_compositional_model_has_none(compositional_spec: ModelSpec) -> None:
    model = make_model(SETTINGS.spec(compositional_spec, 3))
    assert model.proposer is None
    SETTINGS.training_step(model, make_batch(compositional_spec), lambda _: None, 0)


def batch_of(task: list[int], unknown: list[int] | None = None) -> Batch:
    rows = torch.zeros(len(task), 1, 2, dtype=torch.int64)
    return Batch(
        x=rows,
        x_length=rows[..., 0],
        y=rows[..., 0],
        task=torch.tensor(task),
        primitives=None if unknown is None else torch.zeros(len(task), 3, dtype=torch.int64),
        unknown=None if unknown is None else torch.tensor(unknown),
    )


def start_of(warm: WarmStarts, batch: Batch, seed: int = 0) -> list[float]:
    return some(warm.begin(batch, torch.Generator().manual_seed(seed)).start).flatten().tolist()


def test_a_task_starts_where_its_last_visit_ended() -> None:
    """In the compositional form, its last visit with the same unknown slot."""
    warm = WarmStarts(1.0, 0, torch.zeros(4, 1))
    assert start_of(warm, batch_of([3, 1])) == [0.0, 0.0]
    warm.keep(batch_of([3, 1]), torch.tensor([[1.0], [2.0]]))
    warm.keep(batch_of([1]), torch.tensor([[3.0]]))
    assert start_of(warm, batch_of([1, 2, 3])) == [3.0, 0.0, 1.0]
    slots = WarmStarts(1.0, 3, torch.zeros(6, 1))
    slots.keep(batch_of([0, 0, 1], [0, 2, 2]), torch.tensor([[1.0], [2.0], [3.0]]))
    assert start_of(slots, batch_of([0, 0, 0, 1, 1], [0, 1, 2, 1, 2])) == [1.0, 0.0, 2.0, 0.0, 3.0]


def test_a_share_of_the_tasks_is_drawn_anew_each_time() -> None:
    many = batch_of(list(range(2000)))
    warm = WarmStarts(0.25, 0, torch.ones(2000, 1))
    first, second = (start_of(warm, many, seed) for seed in (0, 1))
    assert sum(first) / 2000 == pytest.approx(0.25, abs=0.04)
    assert first != second
