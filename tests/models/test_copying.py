"""Copying from x: mixed probabilities against brute force, gradients, and tokens that the model never saw."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import Batch, no_weight_gradients, target_log_prob
from tam.models.copying import Copier
from tests.models.conftest import SPECS, make_batch, make_model, make_z

SPEC = SPECS["decoder-copies"]
V = SPEC.vocabulary


def with_unknown(batch: Batch) -> Batch:
    """The batch with a third of its tokens unknown, each with the id of its first place in x."""
    assert batch.y_length is not None
    x, y = batch.x.clone(), batch.y.clone()
    for task in range(batch.tasks):
        for row in range(batch.rows):
            width, length = int(batch.x_length[task, row]), int(batch.y_length[task, row])
            tokens = x[task, row, :width].tolist()
            own = {token: V + tokens.index(token) for token in tokens if token % 3 == 0}
            own |= {token: own.get(token, V - 1) for token in (0, 3, 6)}
            for ids, size in ((x, width), (y, length)):
                for place in range(size):
                    token = int(ids[task, row, place])
                    ids[task, row, place] = own.get(token, token)
    return replace(batch, x=x, y=y)


def parts() -> tuple[Copier, list[Tensor], Batch]:
    """A copier, what it reads of five rows that predict three tokens each, and their inputs."""
    draws = torch.Generator().manual_seed(1)
    copier = Copier(SPEC, draws).double()
    log_prob, hidden, x_hidden = (
        torch.randn(5, 3, size, generator=draws, dtype=torch.float64) for size in (V + 1, 8, 8)
    )
    x_hidden = torch.cat([x_hidden, x_hidden[:, :1] + 1], dim=1)
    x = torch.tensor([[[2, 2, 7, 1], [7, 8, 7, 1], [3, 1, 0, 0], [6, 6, 6, 6], [5, 4, 3, 2]]])
    length = torch.tensor([[4, 4, 2, 4, 0]])
    return copier, [log_prob.log_softmax(-1), hidden, x_hidden], Batch(x, length, x[..., :2], length)


def test_probabilities_are_those_of_the_definition() -> None:
    """p(v) = (1 − g) · softmax(v) + g · Σ attention to v, computed one token at a time."""
    copier, given, batch = parts()
    log_prob, hidden, x_hidden = given
    mixed = copier(*given, batch)
    found = mixed.outcomes().exp()
    assert found.shape == (5, 3, V + 4 + 1)
    torch.testing.assert_close(found.sum(-1), torch.ones(5, 3, dtype=torch.float64))
    for row, (x, length) in enumerate(zip(batch.x[0].tolist(), batch.x_length[0].tolist(), strict=True)):
        for place in range(3):
            h = hidden[row, place]
            gate = torch.sigmoid(copier.gate(h)).item() if length else 0.0
            keys = copier.key(x_hidden[row, :length])
            attention = torch.softmax(keys @ copier.query(h) / 8**0.5, 0).tolist()
            expected = [(1 - gate) * p for p in log_prob[row, place].exp().tolist()]
            expected[V:V] = [0.0] * 4  # unknown tokens, by their first place; the end stays last
            for token, weight in zip(x[:length], attention, strict=True):
                expected[token] += gate * weight
            assert found[row, place].tolist() == pytest.approx(expected, abs=1e-12)
    for token in (0, 1, 6, 7, 8, V + 4):
        alone = mixed.of_targets(torch.full((5, 3), token))
        torch.testing.assert_close(alone.exp(), found[..., token], rtol=1e-9, atol=1e-12)


def test_first_and_second_derivatives_are_those_of_finite_differences() -> None:
    copier, given, batch = parts()
    target = torch.tensor([[2, 7, 11], [7, 8, 1], [1, 3, 11], [6, 0, 6], [5, 11, 2]])

    def whole(logits: Tensor, *hidden: Tensor) -> Tensor:
        mixed = copier(logits.log_softmax(-1), *hidden, batch)
        return mixed.outcomes().gather(-1, target.unsqueeze(-1)).clamp(min=-50).sum()

    def alone(logits: Tensor, *hidden: Tensor) -> Tensor:
        return copier(logits.log_softmax(-1), *hidden, batch).of_targets(target).clamp(min=-50).sum()

    inputs = [part.clone().requires_grad_() for part in given]
    for function in (whole, alone):
        assert torch.autograd.gradcheck(function, inputs, fast_mode=True)
        assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


@pytest.mark.parametrize("name", ["decoder-copies", "decoder-copies-first"])
def test_targets_alone_are_scored_as_among_all_outcomes(name: str) -> None:
    model, batch = make_model(SPECS[name]), with_unknown(make_batch(SPECS[name], 4, 8))
    z = make_z(model, batch)
    scores = model.score(z, batch)
    among = target_log_prob(model.outcomes(model.condition(z, batch), batch), batch)
    torch.testing.assert_close(scores, among)
    cached = model.with_x_cache(batch)
    assert len(cached.x_cache) == (2 if name == "decoder-copies" else 0)
    torch.testing.assert_close(model.score(z, cached), scores)


def test_the_gradient_of_z_is_that_of_finite_differences() -> None:
    """With cached x and without weight gradients too, as in the inner loop of TAM."""
    model, batch = make_model(SPEC), with_unknown(make_batch(SPEC))

    def loss(z: Tensor, batch: Batch = batch) -> Tensor:
        return model.score(z, batch).sum()

    z = make_z(model, batch).requires_grad_()
    assert torch.autograd.gradcheck(loss, [z])
    (plain,) = torch.autograd.grad(loss(z), z)
    cached = model.with_x_cache(batch)
    with no_weight_gradients():
        (found,) = torch.autograd.grad(loss(z, cached), z)
    torch.testing.assert_close(found, plain)
