"""What training computes with the CPU engine is what plain code gives."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import CAVIA, MAML, TAM, Method
from tam.models.fast.context import plain
from tests.methods.small import DECODER, ENCODER
from tests.models.conftest import make_batch, make_model

METHODS: dict[str, Method] = {
    "tam": TAM(inner_steps=3, inner_rate=0.3, patience=None),
    "tam, interleaved": TAM(inner_steps=3, inner_rate=0.3, patience=1, theta_update="interleaved"),
    "tam, mixed": TAM(inner_steps=3, inner_rate=0.3, support="mixed", small_after=0, small_sizes=(1, 3)),
    "maml": MAML(inner_steps=3, inner_rate=0.3, support_sizes=(2, 2)),
    "maml of first order": MAML(inner_steps=3, inner_rate=0.3, support_sizes=(2, 2), order="first"),
    "cavia": CAVIA(inner_steps=3, inner_rate=0.3, support_sizes=(1, 3)),
    "cavia of first order": CAVIA(inner_steps=3, inner_rate=0.3, support_sizes=(2, 2), order="first"),
}
SPECS = {
    "encoder": replace(ENCODER, layers=2),
    "compositional": replace(ENCODER, layers=2, primitives=6, slots=3),
    "decoder": replace(DECODER, layers=2),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("form", SPECS)
def test_gradients_and_adaptation(name: str, form: str) -> None:
    method = METHODS[name]
    model, batch = make_model(method.spec(SPECS[form], 3)), make_batch(SPECS[form])

    def results() -> list[Tensor]:
        for parameter in model.parameters():
            parameter.grad = None
        method.training_step(model, batch, lambda _: None, 1)
        gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        return [*gradients, *method.adapt(model, batch, [1, 4], 0.3)]

    found = results()
    with plain():
        expected = results()
    assert max(float(value.detach().abs().max()) for value in expected) > 1e-3
    torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)
