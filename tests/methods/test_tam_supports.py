"""Which rows TAM's z follows: all, a few in mixed supports, and never one that is not there."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import TAM
from tam.models import Batch, ModelSpec
from tests.methods.algorithm_1 import algorithm_1, assert_same_theta, losses_at, ours, take
from tests.models.conftest import make_batch, make_model

MIXED = TAM(
    inner_steps=4, inner_rate=0.3, support="mixed", small_share=0.5, small_after=7, small_sizes=(1, 4)
)


def mixed_batch(batch: Batch) -> tuple[Batch, list[list[int] | None]]:
    """Four tasks: two with small supports, of 2 and 4 rows, and two with all."""
    chance = torch.tensor([[0.5, 0.1], [0.5, 0.5], [0.99, 0.49], [0.0, 0.9]], dtype=torch.float64)
    return replace(batch, chance=chance), [[0, 1], None, [0, 1, 2, 3], None]


@pytest.mark.parametrize(("patience", "theta_update"), [(1, "accumulated"), (None, "interleaved")])
def test_with_mixed_supports_z_follows_the_chosen_rows_and_theta_all(
    spec: ModelSpec, patience: int | None, theta_update: str
) -> None:
    settings = replace(MIXED, patience=patience, theta_update=theta_update)
    batch, chosen = mixed_batch(make_batch(spec, 4, 6))
    model = make_model(spec)
    reference = deepcopy(model)
    losses, _ = ours(model, batch, settings, step=7)
    walks = algorithm_1(reference, batch, settings, chosen)
    assert_same_theta(model, reference)
    assert losses[0].steps.item() == pytest.approx(sum(walk.steps for walk in walks) / 4)
    assert losses[0].end.item() == pytest.approx(sum(walk.losses[-1] for walk in walks) / 4)


def test_small_supports_come_after_their_phase_and_at_their_share(plain_spec: ModelSpec) -> None:
    batch, _ = mixed_batch(make_batch(plain_spec, 4, 6))

    def theta(settings: TAM, step: int, batch: Batch = batch) -> list[Tensor]:
        model = make_model(plain_spec)
        ours(model, batch, settings, step=step)
        return list(model.parameters())

    def same(first: list[Tensor], second: list[Tensor]) -> bool:
        return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))

    plain = TAM(inner_steps=4, inner_rate=0.3)
    assert [MIXED.phase(step) for step in (0, 6, 7, 100)] == [0, 0, 1, 1]
    assert [plain.phase(step) for step in (0, 10_000)] == [0, 0]
    assert same(theta(MIXED, 6), theta(plain, 6))
    assert not same(theta(MIXED, 7), theta(plain, 7))
    assert not same(theta(MIXED, 7), theta(replace(MIXED, small_share=1.0), 7))
    # With all rows as the paper has it, chance changes nothing; with mixed supports it does.
    other = replace(batch, chance=1 - torch.nn.functional.pad(batch.chance[:, :1], (0, 1)))  # pyright: ignore[reportOptionalSubscript]
    assert same(theta(plain, 100), theta(plain, 100, other))
    assert same(theta(plain, 100), theta(plain, 100, replace(batch, chance=None)))
    assert not same(theta(MIXED, 100), theta(MIXED, 100, other))


def test_rows_that_are_not_there_have_no_effect(spec: ModelSpec) -> None:
    whole = make_batch(spec, 2, 6)
    present = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    batch = replace(whole, present=present)
    scrambled = make_batch(spec, 2, 6, seed=9)
    where = present.unsqueeze(-1)
    other = replace(
        batch,
        x=torch.where(where, whole.x, scrambled.x),
        x_length=torch.where(present, whole.x_length, scrambled.x_length),
        y=torch.where(present if whole.y_length is None else where, whole.y, scrambled.y),
        y_length=None
        if whole.y_length is None or scrambled.y_length is None
        else torch.where(present, whole.y_length, scrambled.y_length),
    )
    for settings in (TAM(inner_steps=3, inner_rate=0.3), replace(MIXED, small_after=0, small_share=1.0)):
        gradients: list[list[Tensor | None]] = []
        for given in (batch, other):
            model = make_model(spec)
            settings.training_step(model, given, lambda _: None, 0)
            gradients.append([parameter.grad for parameter in model.parameters()])
        for a, b in zip(*gradients, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-14)
    model, settings = make_model(spec), TAM(patience=None)
    short = take(whole, 1, range(3))
    (together,) = settings.adapt(model, batch, [4], 0.1)
    (alone,) = settings.adapt(model, short, [4], 0.1)
    torch.testing.assert_close(together[1:], alone)
    torch.testing.assert_close(losses_at(model, together, batch)[1:], losses_at(model, alone, short))
