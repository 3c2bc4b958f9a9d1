"""Adam on θ: torch's own where every weight is used, and rows that are not used stay as they are."""

import math

import pytest
import torch
from torch import Tensor, nn

from tam.training.adam import Adam, rate_at


def two_layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()


def backward(model: nn.Module, step: int, scale: float = 1.0) -> None:
    draw = torch.Generator().manual_seed(step)
    x = torch.randn(5, 3, generator=draw, dtype=torch.float64)
    (model(x).square().sum() * scale).backward()


def gradient_of(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad


@pytest.mark.parametrize("clip", [0.01, 2.0, 1e9])
def test_it_is_torchs_adam_after_clipping(clip: float) -> None:
    model, reference = two_layers(), two_layers()
    adam = Adam(model, (), clip)
    theirs = torch.optim.Adam(reference.parameters(), betas=(0.9, 0.98))
    norms: list[float] = []
    for step in range(8):
        rate = 0.1 / (step + 1)
        adam.rate.fill_(rate)
        theirs.param_groups[0]["lr"] = rate
        theirs.zero_grad()
        count = step + 1
        backward(model, step, scale=count)  # a sum over so many, of which the mean counts
        backward(reference, step)
        assert torch.equal(adam.gradient, torch.cat([gradient_of(p).flatten() for p in model.parameters()]))
        norms.append(torch.nn.utils.clip_grad_norm_(reference.parameters(), clip).item())
        adam.move(torch.tensor(float(count)))
        theirs.step()
        assert adam.gradient.eq(0).all()
        assert adam.norm.item() == pytest.approx(norms[-1])
        for a, b in zip(model.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-9)
    assert clip != 2.0 or min(norms) < 2 < max(norms), "some gradients must be clipped and some not"


class Table(nn.Module):
    """A table of embeddings, and a weight that every step uses."""

    def __init__(self) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(0)
        self.table = nn.Parameter(torch.randn(5, 3, generator=draw, dtype=torch.float64))
        self.weight = nn.Parameter(torch.randn(3, generator=draw, dtype=torch.float64))

    def forward(self, ids: Tensor, sparse: bool = False) -> Tensor:
        return (nn.functional.embedding(ids, self.table, sparse=sparse) @ self.weight).square().sum()


STEPS = [[0, 1], [1, 2], [0], [1, 1, 3], [2, 0]]


def test_rows_that_are_not_used_neither_move_nor_forget() -> None:
    """The reference is torch's Adam for sparse gradients, which leaves the other rows alone."""
    model, reference = Table(), Table()
    adam = Adam(model, ("table",), 1e9)
    adam.rate.fill_(0.1)
    sparse = torch.optim.SparseAdam([reference.table], lr=0.1, betas=(0.9, 0.98))
    dense = torch.optim.Adam([reference.weight], lr=0.1, betas=(0.9, 0.98))
    for ids in STEPS:
        model(torch.tensor(ids)).backward()
        adam.move(torch.tensor(1.0))
        sparse.zero_grad()
        dense.zero_grad()
        reference(torch.tensor(ids), sparse=True).backward()
        sparse.step()
        dense.step()
        torch.testing.assert_close(model.table, reference.table, rtol=1e-6, atol=1e-9)
        torch.testing.assert_close(model.weight, reference.weight, rtol=1e-6, atol=1e-9)
    assert torch.equal(model.table[4], Table().table[4])


def test_without_any_step_nothing_moves() -> None:
    """All tasks may have stopped: that is no gradient of zero, which momentum would answer to."""
    model = two_layers()
    adam = Adam(model, (), 1.0)
    adam.rate.fill_(0.1)
    backward(model, 0)
    adam.move(torch.tensor(3.0))
    before = [p.detach().clone() for p in model.parameters()]
    state = {name: value.clone() for name, value in adam.state().items()}
    for _ in range(2):
        adam.move(torch.tensor(0.0))
        assert all(torch.equal(a, b) for a, b in zip(model.parameters(), before, strict=True))
        assert all(torch.equal(value, state[name]) for name, value in adam.state().items())
    first = Adam(two_layers(), (), 1.0)
    first.rate.fill_(0.1)
    first.move(torch.tensor(0.0))  # the very first, too
    assert not first.state()["mean"].isnan().any()


def test_the_rate_rises_then_falls_along_a_cosine() -> None:
    rates = [rate_at(step, peak=2.0, warmup=4, steps=24) for step in range(25)]
    assert rates[:5] == [0.5, 1.0, 1.5, 2.0, 2.0]
    assert [rates[9], rates[14], rates[24]] == pytest.approx([1 + math.cos(math.pi / 4), 1, 0])
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert rate_at(0, peak=1.0, warmup=0, steps=1) == 1.0
    assert rate_at(3, peak=1.0, warmup=10, steps=5) == 0.4


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_gradient_that_is_no_number_does_not_hide(value: float) -> None:
    """The loop looks at the losses now and then: later moves must not make them look well again."""
    model = two_layers()
    adam = Adam(model, (), 1.0)
    adam.rate.fill_(0.1)
    backward(model, 0)
    adam.gradient[3] = value
    adam.move(torch.tensor(1.0))
    assert not math.isfinite(adam.norm.item())
    for step in range(5):
        backward(model, step)
        adam.move(torch.tensor(1.0))
        assert math.isnan(adam.norm.item())
    assert model(torch.ones(1, 3, dtype=torch.float64)).isnan().all()
