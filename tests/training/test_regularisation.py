"""Weight decay, dropout and label smoothing: in training alone, and off by default."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tam.errors import UserError
from tam.methods.losses import losses_of, score_of_targets, smoothed, task_losses
from tam.models.dropout import drop, dropping
from tam.models.fast import engine
from tam.training.adam import Adam
from tam.training.preflight import prepare
from tam.training.trainer import Trainer
from tests.training.toys import toy_config, toy_tasks

METHODS = ["tam", "agnostic", "multitask", "cavia", "snail", "matching"]


def trainer_of(folder: Path, method: str = "tam", kind: str = "classification", **values: Any) -> Trainer:
    shots = {"shots": (1,)} if method in ("snail", "matching") else {}
    return Trainer(prepare(toy_config(method, **shots, **values), toy_tasks(kind)), folder)


def test_dropout_zeroes_its_share_and_keeps_the_mean() -> None:
    generator, ones = torch.Generator().manual_seed(0), torch.ones(200, 500)
    assert drop(ones) is ones
    with dropping(0.25, generator):
        dropped = drop(ones)
        assert engine.engine(ones) == "plain"
    assert drop(ones) is ones
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    with dropping(0.0, generator):
        assert drop(ones) is ones
        assert engine.engine(ones) == "cpu"


@pytest.mark.parametrize(
    ("method", "kind"),
    [*((method, "classification") for method in METHODS), ("tam", "transduction"), ("cavia", "transduction")],
)
@pytest.mark.parametrize("values", [{"dropout": 0.5}, {"label_smoothing": 0.3}])
def test_it_is_for_training_alone(method: str, kind: str, values: dict[str, Any], tmp_path: Path) -> None:
    """A first step has another loss; validation of the same weights has the same scores, and θ learns."""
    with_it, without = trainer_of(tmp_path, method, kind, **values), trainer_of(tmp_path, method, kind)
    assert with_it.validate() == without.validate()
    assert float(with_it.step().end) != float(without.step().end)
    assert with_it.validate() == with_it.validate()  # nothing random is left
    assert with_it.adam.norm > 0


@pytest.mark.parametrize(
    ("method", "values", "kind"),
    [
        ("maml", {"dropout": 0.1}, "classification"),
        ("tam", {"dropout": 0.1, "backbone": "lstm"}, "classification"),
        ("snail", {"label_smoothing": 0.1}, "transduction"),
    ],
)
def test_where_it_would_not_work_it_is_an_error(
    method: str, values: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=f"{next(iter(values))} must be 0 for .*{method}|LSTM"):
        trainer_of(tmp_path, method, kind, **values)


@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_smoothing_is_torch_s(kind: str, tmp_path: Path) -> None:
    """The loss of every task against torch's cross-entropy with label smoothing."""
    trainer = trainer_of(tmp_path, "agnostic", kind)
    batch = trainer.data.draw(4, 8, trainer.generator)
    model = trainer.model
    outcomes = model.outcomes(model.condition(None, batch), batch)
    targets = batch.y
    if batch.y_length is not None:
        end = torch.full_like(batch.y[..., :1], outcomes.shape[-1] - 1)
        targets = torch.cat([batch.y, end], dim=-1)  # the toys' sequences are of one length
    expected = torch.stack(
        [
            F.cross_entropy(one.flatten(0, -2), target.flatten(), label_smoothing=0.2)
            for one, target in zip(outcomes, targets, strict=True)
        ]
    )
    plain = task_losses(outcomes, batch)
    with smoothed(0.2):
        torch.testing.assert_close(task_losses(outcomes, batch), expected)
        scores = score_of_targets(model, None, batch)
        torch.testing.assert_close(-scores.flatten(1).mean(1), expected)
        if kind == "classification":
            torch.testing.assert_close(losses_of(outcomes, batch).per_task(), expected)
    assert torch.equal(task_losses(outcomes, batch), plain)
    assert not torch.allclose(plain, expected)


def test_classes_that_a_task_has_not_get_nothing(tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path)
    batch = trainer.data.draw(4, 8, trainer.generator)
    outcomes = torch.full((4, 8, 3), -0.5)
    outcomes[..., 2] = -torch.inf
    outcomes[batch.y == 2] = -0.5
    with smoothed(0.5):
        losses = losses_of(outcomes.requires_grad_(), batch)
    losses.total.sum().backward()
    assert torch.equal(losses.total, torch.full((4, 8), 0.5))
    assert outcomes.grad is not None
    assert outcomes.grad.isfinite().all()


def test_weight_decay_is_adamw_s_on_matrices() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.weight, self.bias = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(3))

    ours, theirs = Net(), Net()
    adam = Adam(ours, (), clip=1e9, weight_decay=0.1)
    adam.rate.fill_(0.01)
    groups = [
        {"params": [theirs.weight], "weight_decay": 0.1},
        {"params": [theirs.bias], "weight_decay": 0.0},
    ]
    reference = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.98))
    for step in range(5):
        gradients = [torch.randn(3, 4), torch.randn(3)]
        for own, other, gradient in zip(ours.parameters(), theirs.parameters(), gradients, strict=True):
            assert own.grad is not None
            own.grad.copy_(gradient)
            other.grad = gradient.clone()
        adam.move(torch.tensor(1.0))
        reference.step()
        for own, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(own, other, msg=f"step {step}")
    before = ours.weight.detach().clone()
    adam.move(torch.tensor(0.0))  # nothing was learned from, so nothing decays
    assert torch.equal(ours.weight, before)
