"""Rotary positions: what is computed depends on differences of positions, in sequences of any length."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tam.models import ModelSpec, Transformer, build_model
from tam.models.fast import context
from tam.models.rotary import Rotation, positions
from tam.models.spec import LONGEST
from tests.models.conftest import DECODER, ENCODER, make_batch, make_model, make_z

SIZE = 6
ROTARY: dict[str, ModelSpec] = {
    "encoder": replace(ENCODER, positions="rotary", task_tokens=2),
    "decoder": replace(DECODER, positions="rotary"),
    "decoder, full": replace(DECODER, positions="rotary", x_mask="full"),
    "decoder, copies": replace(DECODER, positions="rotary", copies=True),
    "encoder, norm": replace(ENCODER, positions="rotary", conditioning="norm"),
    "proposer": replace(DECODER, positions="rotary", proposer=True),
    "lstm": replace(ENCODER, positions="rotary", backbone="lstm"),
}


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_pairs_of_components_are_complex_numbers_that_turn() -> None:
    at, vectors = torch.tensor([0, 1, 5, 700]), random(2, 4, SIZE)
    frequencies = torch.tensor([10_000 ** (-2 * pair / SIZE) for pair in range(3)], dtype=torch.float64)
    numbers = torch.complex(vectors[..., :3], vectors[..., 3:])
    turned = numbers * torch.polar(torch.ones(4, 3, dtype=torch.float64), at[:, None] * frequencies)
    rotation = Rotation.of(at, SIZE, torch.float64)
    torch.testing.assert_close(rotation(vectors), torch.cat([turned.real, turned.imag], dim=-1))
    torch.testing.assert_close(rotation.inverse(rotation(vectors)), vectors)


def test_a_transformer_sees_the_order_and_not_where_it_starts() -> None:
    network = Transformer(layers=2, width=12, heads=2, generator=torch.Generator().manual_seed(0)).double()
    hidden, at = random(3, 5, 12), torch.tensor([0, 1, 2, 3, 4])
    expected = network(hidden, positions=at)
    torch.testing.assert_close(network(hidden, positions=at + 50), expected)
    for other in (at.flip(0), 2 * at, None):
        assert not torch.allclose(network(hidden, positions=other), expected)


def test_the_task_is_at_zero_and_tokens_are_counted_in_their_part() -> None:
    task, x, y = (torch.ones(2, places, dtype=torch.bool) for places in (2, 3, 2))
    assert positions([task, x, task, y], task).tolist() == [0, 0, 1, 2, 3, 0, 0, 1, 2]


@pytest.mark.parametrize("name", ROTARY)
def test_longer_sequences_than_the_tasks_have(name: str) -> None:
    """Cached or not, by an engine or not, the same; and padding makes no difference."""
    spec = ROTARY[name]
    model = make_model(spec)
    batch = make_batch(spec, x=9, y=7)
    z: Any = make_z(model, batch).requires_grad_()
    expected = model.score(z, batch)
    wider = model.score(z, replace(batch, x=torch.nn.functional.pad(batch.x, (0, 4), value=-5)))
    torch.testing.assert_close(wider, expected)
    torch.testing.assert_close(model.score(z, model.with_x_cache(batch)), expected)
    gradient = torch.autograd.grad(expected.sum(), z)
    with context.plain():
        plain = model.score(z, batch)
        torch.testing.assert_close(plain, expected)
        torch.testing.assert_close(torch.autograd.grad(plain.sum(), z), gradient)
        torch.testing.assert_close(model.score(z, model.with_x_cache(batch)), expected)
    if spec.proposer:
        assert model.propose(batch).shape == (3, model.task_size)


def test_the_longest_sequences() -> None:
    assert (ENCODER.longest_x, DECODER.longest_y) == (4, 3)
    rotary = ROTARY["decoder"]
    assert rotary.longest_x == rotary.longest_y == LONGEST
    kept = replace(rotary, purpose="answer from pairs", conditioning="none")
    assert (kept.longest_x, kept.longest_y) == (4, 3)


def test_an_odd_head_is_an_error_and_a_table_has_no_place() -> None:
    with pytest.raises(ValueError, match=r"width must be an even .*: got width=6, heads=2"):
        replace(ENCODER, positions="rotary", width=6)
    names = build_model(ROTARY["proposer"], torch.Generator()).state_dict()
    assert not [name for name in names if "position" in name]
