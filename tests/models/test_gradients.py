"""Derivatives against finite differences, under torch.func, and in reduced precision."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from tam.models import Batch, ModelSpec
from tests.models.conftest import make_batch, make_model, make_z


def tiny(spec: ModelSpec) -> ModelSpec:
    return replace(spec, layers=1, width=4, bottleneck=2 if spec.conditioning == "adapter" else None)


def test_first_derivatives(spec: ModelSpec) -> None:
    model, batch = make_model(tiny(spec)), make_batch(spec, 2, 2)
    names, parameters = zip(*model.named_parameters(), strict=True)

    def log_prob(*values: Tensor) -> Tensor:
        z = values[0] if model.task_size else None
        return functional_call(model, dict(zip(names, values[-len(names) :], strict=True)), (z, batch))

    z = make_z(model, batch)
    leaves = (*parameters,) if z is None else (z.requires_grad_(), *parameters)
    assert torch.autograd.gradcheck(log_prob, leaves, fast_mode=True)


def test_second_derivatives(conditioned_spec: ModelSpec) -> None:
    model, batch = make_model(tiny(conditioned_spec)), make_batch(conditioned_spec, 2, 2)
    z = make_z(model, batch).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda z: model(z, batch), (z,), fast_mode=True)


def test_weights_of_each_task(spec: ModelSpec) -> None:
    """As MAML needs them: gradients of all tasks' own weights at once equal those of one after another."""
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    z = make_z(model, batch)
    weights = {
        name: torch.stack([p.detach() * scale for scale in (0.9, 1.0, 1.1)])
        for name, p in model.named_parameters()
    }
    fields = {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}
    if z is not None:
        fields["z"] = z

    def loss(weights: dict[str, Tensor], fields: dict[str, Tensor]) -> Tensor:
        one: dict[str, Any] = {name: value.unsqueeze(0) for name, value in fields.items()}
        own_z = one.pop("z", None)
        return functional_call(model, weights, (own_z, Batch(**one))).exp().square().sum()

    together = vmap(grad(loss))(weights, fields)
    for task in range(3):
        alone = grad(loss)(
            *({name: value[task] for name, value in values.items()} for values in (weights, fields))
        )
        for name, value in alone.items():
            torch.testing.assert_close(together[name][task], value)


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # said by torch whenever these flags are set
def test_autocast(spec: ModelSpec) -> None:
    model, batch = make_model(spec).float(), make_batch(spec)
    z = make_z(model, batch)
    z = None if z is None else z.float()
    expected = model(z, batch)
    # Without oneDNN, whose bfloat16 kernels crash on virtual machines that hide the tiles they announce.
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.backends.mkldnn.flags(enabled=False):
        log_prob = model(z, batch)
    assert log_prob.dtype == torch.float32
    torch.testing.assert_close(log_prob, expected, atol=0.1, rtol=0.05)
    assert not torch.equal(log_prob, expected)
    with torch.backends.mkldnn.flags(enabled=False):
        log_prob.exp().sum().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_cached_x_changes_nothing(spec: ModelSpec) -> None:
    """Outputs and all gradients are the same; where x depends on the task, nothing is reused."""
    model, batch = make_model(spec), make_batch(spec)
    z, given = make_z(model, batch), model.with_x_cache(batch)
    if spec.conditioning in ("adapter", "norm") or spec.task_first or spec.backbone == "lstm":
        assert given is batch
        return
    assert len(given.x_cache) == (4 if spec.kind == "classification" else 1 + spec.copies)
    inputs = [*([] if z is None else [z.requires_grad_()]), *model.parameters()]
    plain, reused = (model(z, one) for one in (batch, given))
    torch.testing.assert_close(reused, plain, rtol=1e-12, atol=1e-12)
    gradients = [
        torch.autograd.grad(out.square().sum(), inputs, materialize_grads=True) for out in (plain, reused)
    ]
    torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-12)
