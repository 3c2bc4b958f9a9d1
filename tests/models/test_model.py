"""Log-probabilities against sequences put together by hand, one row at a time, and their properties."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tam.models import LSTM, Batch, Model, ModelSpec
from tam.models.layers import Embedding
from tests.methods.small import some
from tests.models.conftest import DECODER, ENCODER, SPECS, make_batch, make_model, make_z

BY_HAND = SPECS | {
    "encoder-three-tokens": replace(ENCODER, task_tokens=3),
    "decoder-first-full-tokens": replace(DECODER, task_tokens=3, task_first=True, x_mask="full"),
}


def embedded(embedding: Embedding | None, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors of tokens, and their positions."""
    vectors = some(embedding).token[ids]
    if (position := some(embedding).position) is not None:
        vectors = vectors + position[: len(ids)]
    return vectors, torch.arange(1, len(ids) + 1)


def by_hand(model: Model, z: Tensor | None, batch: Batch, task: int, row: int) -> Tensor:
    """The log-probabilities of all classes, or of all tokens and the end, in one row without any padding."""
    spec, backbone = model.spec, model.backbone
    own_z = None if z is None else z[task : task + 1]
    condition = model.condition(own_z, batch.part(slice(task, task + 1)))
    tokens = torch.zeros(()) if condition.tokens is None else condition.tokens[0, 0]
    at_task = torch.zeros(spec.task_places, dtype=torch.int64)
    parts = [
        (model.places + tokens, at_task),
        embedded(model.x, batch.x[task, row, : batch.x_length[task, row]]),
    ]
    first, before = 0, 0
    if model.cls is not None:
        parts = [(model.cls, at_task[:1]), *parts]
    if batch.y_length is not None:
        parts = [parts[1], parts[0], embedded(model.y, batch.y[task, row, : batch.y_length[task, row]])]
        if spec.task_first:
            parts = [(some(model.front_places) + tokens, at_task), *parts]
        before = sum(len(vectors) for vectors, _ in parts[:-2])
        first = before + spec.task_places - 1
    sequence, positions = (torch.cat(part) for part in zip(*parts, strict=True))
    place = torch.arange(len(sequence))
    mask = torch.ones(len(place), len(place), dtype=torch.bool)
    if batch.y_length is not None:
        mask = place <= place[:, None]
        if spec.x_mask == "full":
            mask = mask | (place < before)
    if isinstance(backbone, LSTM):
        return model.head(backbone(sequence[None], mask[:1]))[0].log_softmax(-1)
    at = positions if spec.positions == "rotary" else None
    hidden = backbone(sequence[None], mask[None], condition.modulation, positions=at)[0]
    read = hidden[first] if batch.y_length is None else hidden[first:]
    log_prob = model.head(read).log_softmax(-1)
    if model.copier is None:
        return log_prob
    x = batch.x[task, row, : batch.x_length[task, row]]
    x_hidden = hidden[before - len(x) : before]
    length = torch.tensor([[len(x)]])
    mixed = model.copier(log_prob[None], read[None], x_hidden[None], Batch(x[None, None], length, length))
    return known(mixed.outcomes()[0], spec)


def known(outcomes: Tensor, spec: ModelSpec) -> Tensor:
    """Those of all tokens and the end, without those of unknown tokens that can be copied."""
    return torch.cat([outcomes[..., : spec.vocabulary], outcomes[..., -1:]], dim=-1)


@pytest.mark.parametrize("name", BY_HAND)
def test_each_row_is_as_put_together_by_hand(name: str) -> None:
    spec = BY_HAND[name]
    model, batch = make_model(spec), make_batch(spec, 2, 5)
    z = make_z(model, batch)
    found, log_prob = model.outcomes(model.condition(z, batch), batch), model(z, batch)
    for task in range(batch.tasks):
        for row in range(batch.rows):
            expected = by_hand(model, z, batch, task, row)
            if batch.y_length is None:
                torch.testing.assert_close(found[task, row], expected)
                torch.testing.assert_close(log_prob[task, row], expected)
                continue
            torch.testing.assert_close(known(found[task, row, : len(expected)], spec), expected)
            target = [*batch.y[task, row, : len(expected) - 1].tolist(), spec.vocabulary]
            chosen = expected[range(len(expected)), target]
            torch.testing.assert_close(log_prob[task, row, : len(expected)], chosen)
            assert log_prob[task, row, len(expected) :].eq(0).all()


def test_classes_that_a_task_has_not_are_left_out(encoder_spec: ModelSpec) -> None:
    model, batch = make_model(encoder_spec), make_batch(encoder_spec)
    z = make_z(model, batch)
    every = model(z, batch)
    found = model(z, replace(batch, classes=torch.tensor([1, 2, 3])))
    assert found[0, :, 1:].eq(-torch.inf).all()
    assert found[1, :, 2:].eq(-torch.inf).all()
    torch.testing.assert_close(found[2], every[2])
    torch.testing.assert_close(found[1, :, :2], every[1, :, :2].log_softmax(-1))
    found[..., 0].sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_batch_of_the_other_kind_is_refused() -> None:
    model, batch = make_model(ENCODER), make_batch(ENCODER)
    sequences = replace(batch, y=batch.x, y_length=batch.x_length)
    with pytest.raises(ValueError, match="got transduction"):
        model(make_z(model, batch), sequences)


@pytest.mark.parametrize("change", [{"layers": 1}, {"purpose": "embed", "conditioning": "none"}])
def test_where_it_would_not_help_nothing_is_cached(change: dict[str, Any]) -> None:
    model, batch = make_model(replace(ENCODER, **change)), make_batch(ENCODER)
    assert model.with_x_cache(batch) is batch


def full(batch: Batch) -> Batch:
    """The same, all sequences as long as can be."""
    return replace(
        batch,
        x=batch.x % 7,
        y=batch.y % 7,
        x_length=torch.full_like(batch.x_length, batch.x.shape[-1]),
        y_length=torch.full_like(some(batch.y_length), batch.y.shape[-1]),
    )


def test_the_probabilities_of_all_sequences_sum_to_one(decoder_spec: ModelSpec) -> None:
    """The empty y, those of one token, and the first two tokens of all others."""
    model = make_model(decoder_spec)
    pairs = torch.cartesian_prod(torch.arange(7), torch.arange(7))
    y = torch.cat([pairs[:1], pairs[::7], pairs]).unsqueeze(0)
    length = torch.tensor([[0] + [1] * 7 + [2] * 49])
    one = make_batch(decoder_spec, 1, 1)
    x, x_length = one.x.expand(1, 57, -1), one.x_length.expand(1, 57)
    batch = replace(one, x=x, x_length=x_length, y=y, y_length=length)
    log_prob = model(make_z(model, batch), batch)
    total = log_prob[..., :2].sum(-1).exp().sum()
    torch.testing.assert_close(total, torch.ones_like(total))


def test_no_prediction_depends_on_what_comes_later(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), full(make_batch(decoder_spec))
    z = make_z(model, batch)
    before = model(z, batch)
    for place in range(batch.y.shape[-1]):
        y = batch.y.clone()
        y[..., place] = (y[..., place] + 1) % decoder_spec.vocabulary
        after = model(z, replace(batch, y=y))
        torch.testing.assert_close(after[..., :place], before[..., :place])
        assert (after[..., place:] != before[..., place:]).all()


def test_scores_of_the_next_token_agree_with_log_prob(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), full(make_batch(decoder_spec))
    condition = model.condition(make_z(model, batch), batch)
    log_prob = model.log_prob(condition, batch)
    end = decoder_spec.vocabulary + (batch.x.shape[-1] if decoder_spec.copies else 0)
    target = torch.cat([batch.y, torch.full_like(batch.y[..., :1], end)], -1)
    for place in range(target.shape[-1]):
        length = torch.full_like(batch.x_length, place)
        for prefix in (batch.y, batch.y[..., :place]):  # the prefix may be padded, with anything
            scores = model.outcomes(condition, replace(batch, y=prefix, y_length=length))[:, :, place]
            torch.testing.assert_close(scores.exp().sum(-1), torch.ones_like(scores[..., 0]))
            scored = scores.gather(-1, target[..., place, None]).squeeze(-1)
            torch.testing.assert_close(scored, log_prob[..., place])


def test_too_long_sequences_are_refused() -> None:
    model = make_model(DECODER)
    for sizes, most in (({"x": 9}, DECODER.max_x), ({"y": 9}, DECODER.max_y)):
        batch = make_batch(DECODER, **sizes)
        with pytest.raises(ValueError, match=rf"{most} tokens.* 9"):
            model(make_z(model, batch), batch)
