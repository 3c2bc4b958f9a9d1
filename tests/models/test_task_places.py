"""Where the task's tokens stand, against sequences put together by hand, one row at a time."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import Batch, Model, ModelSpec
from tests.methods.small import some
from tests.models.conftest import DECODER, ENCODER, make_batch, make_model


def by_hand(model: Model, z: Tensor, batch: Batch, task: int, row: int) -> Tensor:
    """The log-probabilities of everything that could be answered in one row, without any padding."""
    spec, task_tokens = model.spec, z[task].view(-1, model.spec.width)
    x_ids = batch.x[task, row, : batch.x_length[task, row]]
    x = model.x.token[x_ids] + some(model.x.position)[: len(x_ids)]
    own = model.places + task_tokens
    if spec.kind == "classification":
        sequence = torch.cat([own, x])
        mask = torch.ones(len(sequence), len(sequence), dtype=torch.bool)
        return model.head(model.backbone(sequence[None], mask[None])[0, 0]).log_softmax(-1)
    assert model.y is not None
    y_ids = batch.y[task, row, : some(batch.y_length)[task, row]]
    y = model.y.token[y_ids] + some(model.y.position)[: len(y_ids)]
    parts = [x, own, y]
    if spec.task_first:
        parts = [some(model.front_places) + task_tokens, *parts]
    sequence = torch.cat(parts)
    front = len(sequence) - len(own) - len(y)
    mask = torch.tensor(
        [
            [seen <= place or (spec.x_mask == "full" and seen < front) for seen in range(len(sequence))]
            for place in range(len(sequence))
        ]
    )
    hidden = model.backbone(sequence[None], mask[None])[0]
    return model.head(hidden[front + len(own) - 1 :]).log_softmax(-1)


@pytest.mark.parametrize("tokens", [1, 3])
@pytest.mark.parametrize("x_mask", ["causal", "full"])
@pytest.mark.parametrize("first", [False, True])
def test_a_decoder_sees_what_it_should(first: bool, x_mask: str, tokens: int) -> None:
    spec = replace(DECODER, task_tokens=tokens, task_first=first, x_mask=x_mask)
    check(spec)


@pytest.mark.parametrize("tokens", [1, 3])
def test_an_encoder_sees_what_it_should(tokens: int) -> None:
    check(replace(ENCODER, task_tokens=tokens))


def check(spec: ModelSpec) -> None:
    model, batch = make_model(spec), make_batch(spec, 2, 5)
    assert model.task_size == spec.task_tokens * spec.width
    z = torch.randn(2, model.task_size, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = model.outcomes(model.condition(z.unsqueeze(1), batch), batch)
    for task in range(batch.tasks):
        for row in range(batch.rows):
            expected = by_hand(model, z, batch, task, row)
            own = found[task, row]
            own = own if spec.kind == "classification" else own[: len(expected)]
            torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-9)
