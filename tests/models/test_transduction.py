from dataclasses import replace

import pytest
import torch

from tam.models import Batch, ModelSpec
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model, make_z


def full(batch: Batch) -> Batch:
    """The same, all sequences as long as can be."""
    return replace(
        batch,
        x=batch.x % 7,
        y=batch.y % 7,
        x_length=torch.full_like(batch.x_length, batch.x.shape[-1]),
        y_length=torch.full_like(some(batch.y_length), batch.y.shape[-1]),
    )


def end_of(batch: Batch, spec: ModelSpec) -> int:
    """The id of the end: after those of the tokens, and of the places of x if these can be copied."""
    return spec.vocabulary + (batch.x.shape[-1] if spec.copies else 0)


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


def test_padding_has_log_probability_zero_and_the_end_token_has_not(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), make_batch(decoder_spec, 3, 20)
    log_prob = model(make_z(model, batch), batch)
    assert log_prob.shape == (3, 20, batch.y.shape[-1] + 1)
    scored = torch.arange(log_prob.shape[-1]) <= some(batch.y_length)[..., None]
    assert log_prob[scored].lt(0).all()
    assert log_prob[~scored].eq(0).all()


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
        shorter = model(z, replace(batch, y_length=torch.full_like(some(batch.y_length), place)))
        torch.testing.assert_close(shorter[..., :place], before[..., :place])
        assert shorter[..., place + 1 :].eq(0).all()


def test_scores_of_the_next_token_agree_with_log_prob(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), full(make_batch(decoder_spec))
    condition = model.condition(make_z(model, batch), batch)
    log_prob = model.log_prob(condition, batch)
    target = torch.cat([batch.y, torch.full_like(batch.y[..., :1], end_of(batch, decoder_spec))], -1)
    for place in range(target.shape[-1]):
        length = torch.full_like(batch.x_length, place)
        for prefix in (batch.y, batch.y[..., :place]):  # the prefix may be padded, with anything
            scores = model.outcomes(condition, replace(batch, y=prefix, y_length=length))[:, :, place]
            assert scores.shape == (batch.tasks, batch.rows, end_of(batch, decoder_spec) + 1)
            torch.testing.assert_close(scores.exp().sum(-1), torch.ones_like(scores[..., 0]))
            scored = scores.gather(-1, target[..., place, None]).squeeze(-1)
            torch.testing.assert_close(scored, log_prob[..., place])


def test_prefixes_may_differ_in_length(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), make_batch(decoder_spec)
    assert batch.y_length is not None
    condition = model.condition(make_z(model, batch), batch)
    place = batch.y_length[..., None, None].expand(-1, -1, 1, end_of(batch, decoder_spec) + 1)
    scores = model.outcomes(condition, batch).gather(2, place).squeeze(2)
    end = model.log_prob(condition, batch).gather(-1, batch.y_length[..., None]).squeeze(-1)
    torch.testing.assert_close(scores[..., -1], end)


def test_x_matters_to_every_prediction(decoder_spec: ModelSpec) -> None:
    model, batch = make_model(decoder_spec), full(make_batch(decoder_spec))
    z = make_z(model, batch)
    other = replace(batch, x=torch.cat([batch.x[..., :-1], (batch.x[..., -1:] + 1) % 7], -1))
    assert (model(z, batch) != model(z, other)).all()


def test_too_long_sequences_are_refused(decoder_spec: ModelSpec) -> None:
    model = make_model(replace(decoder_spec, positions="table"))
    for sizes, most in (({"x": 9}, decoder_spec.max_x), ({"y": 9}, decoder_spec.max_y)):
        batch = make_batch(decoder_spec, **sizes)
        with pytest.raises(ValueError, match=f"up to {most} tokens, not 9"):
            model(make_z(model, batch), batch)
