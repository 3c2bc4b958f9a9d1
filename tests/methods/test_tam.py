"""TAM's training against a plain reading of Algorithms 1 and 2."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from tam.methods import TAM
from tam.models import ModelSpec
from tests.methods.algorithm_1 import algorithm_1, assert_moved, assert_same_theta, mean_loss, ours, take
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model


@pytest.mark.parametrize("patience", [None, 1])
@pytest.mark.parametrize("theta_update", ["accumulated", "interleaved"])
def test_a_training_step_is_algorithm_1(spec: ModelSpec, theta_update: str, patience: int | None) -> None:
    settings = TAM(inner_steps=4, inner_rate=0.3, patience=patience, theta_update=theta_update)  # pyright: ignore[reportArgumentType]
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    reference = deepcopy(model)
    losses, counts = ours(model, batch, settings, outer=2)
    walks = algorithm_1(reference, batch, settings, outer=2)
    assert_same_theta(model, reference)
    assert_moved(model, make_model(spec))
    steps = [walk.steps for walk in walks]
    assert losses[-1].steps.item() == pytest.approx(sum(steps) / 3)
    assert losses[-1].start.item() == pytest.approx(sum(walk.losses[0] for walk in walks) / 3, rel=1e-9)
    if theta_update == "accumulated" or patience is None:  # else θ moves on under tasks that have stopped
        assert losses[-1].end.item() == pytest.approx(sum(walk.losses[-1] for walk in walks) / 3, rel=1e-9)
    moves = 1 if theta_update == "accumulated" else 4
    assert len(counts) == 2 * moves
    assert sum(counts[moves:]) == sum(steps)


@pytest.mark.parametrize("theta_update", ["accumulated", "interleaved"])
def test_a_search_may_start_elsewhere_and_theta_learn_there(spec: ModelSpec, theta_update: str) -> None:
    settings = TAM(inner_steps=3, inner_rate=0.3, patience=None, learn_blank=True, theta_update=theta_update)  # pyright: ignore[reportArgumentType]
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    start = torch.randn(3, model.task_size, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    batch = replace(batch, start=start * torch.tensor([[0.0], [0.5], [0.5]], dtype=torch.float64))
    reference = deepcopy(model)
    losses, counts = ours(model, batch, settings)
    walks = algorithm_1(reference, batch, settings)
    assert_same_theta(model, reference)
    assert counts == ([3 * 4] if theta_update == "accumulated" else [3] * 4)
    assert losses[0].steps.item() == 3
    torch.testing.assert_close(some(losses[0].z), torch.stack([walk.z.detach() for walk in walks]))


def test_algorithm_2_trains_the_known_primitives_and_infers_the_unknown(
    compositional_spec: ModelSpec,
) -> None:
    model = make_model(compositional_spec)
    batch = replace(
        make_batch(compositional_spec, 2, 5),
        primitives=torch.tensor([[1, 2, 3], [1, 4, 3]]),
        unknown=torch.tensor([1, 1]),
    )
    losses = TAM(inner_steps=3, inner_rate=0.1).training_step(model, batch, lambda _: None, 0)
    used = some(some(model.primitives).grad).ne(0).any(1)
    assert used.tolist() == [False, True, False, True, False, False]  # rows 2 and 4 play unknown
    # Inferred from zero: the first loss is that of a table whose unknown rows are zero, with no z at all.
    spelled = deepcopy(model)
    with torch.no_grad():
        some(spelled.primitives)[[2, 4]] = 0
        known = [replace(take(batch, task, range(5)), unknown=None) for task in range(2)]
        by_hand = [mean_loss(spelled.outcomes(spelled.condition(None, one), one), one) for one in known]
    torch.testing.assert_close(losses.start, torch.stack(by_hand).mean())
