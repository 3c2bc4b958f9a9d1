"""Adapting is torch's optimiser on a model of its own for each task; the trained model stays as it is."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import CAVIA, MAML, TAM, Agnostic, Method, Multitask
from tam.models import Model
from tests.methods.small import SPECS, plain_loss, some, trained
from tests.models.conftest import make_batch

PLAIN = ("encoder", "decoder")
MAML_SPECS = (*PLAIN, "lstm", "encoder-compositional", "decoder-compositional")
METHODS: dict[str, tuple[Method, float, tuple[str, ...]]] = {
    "agnostic": (Agnostic(), 0.03, PLAIN),
    "maml": (MAML(), 0.02, MAML_SPECS),
    "tam": (TAM(patience=1), 0.5, tuple(SPECS)),  # patience is for training
    "cavia": (CAVIA(), 0.1, tuple(SPECS)),
    "multitask": (Multitask(finetune="all"), 0.02, tuple(SPECS)),
    "multitask, embedding": (Multitask(finetune="embedding"), 0.02, tuple(SPECS)),
}
CASES = [(method, name) for method, (_, _, names) in METHODS.items() for name in names]
STEPS = (0, 2, 6)


def start(method: Method, model: Model) -> tuple[Tensor | None, list[Tensor]]:
    """Where z starts, if there is one, and what moves."""
    if isinstance(method, Agnostic | MAML):
        return model.unknown, list(model.parameters())
    z = model.blank(1)
    if isinstance(method, Multitask):
        table = (
            model.unknown if model.task_embeddings is None else model.task_embeddings.mean(0, keepdim=True)
        )
        z = some(table).detach().clone()
    z.requires_grad_()
    moves_all = isinstance(method, Multitask) and method.finetune == "all"
    return z, [z, *model.parameters()] if moves_all else [z]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_adapting_is_an_optimiser_on_a_model_of_its_own(name: str, form: str) -> None:
    method, rate, _ = METHODS[name]
    model = trained(method.spec(SPECS[form], 7))
    batch, before = make_batch(model.spec, 3, 4), deepcopy(model)
    if batch.y_length is None:  # a task need not have all classes
        batch = replace(batch, classes=torch.tensor([3, 2, 3]), y=batch.y.clamp(max=1))
    with torch.no_grad():  # changes nothing
        answers = [method.outcomes(model, z, batch) for z in method.adapt(model, batch, STEPS, rate)]
    improved: list[bool] = []
    for task in range(3):
        alone, part = deepcopy(model), batch.part(slice(task, task + 1))
        z, moving = start(method, alone)
        kind = torch.optim.SGD if isinstance(method, MAML | CAVIA) else torch.optim.Adam
        optimiser, visited = kind(moving, lr=rate), list[tuple[float, Tensor]]()
        for step in range(max(STEPS) + 1):
            optimiser.zero_grad()
            loss = plain_loss(alone, {}, None if z is None else z.flatten(), batch, task, slice(None))
            condition = alone.condition(None if z is None else z.view(1, 1, -1), part)
            visited.append((loss.item(), alone.outcomes(condition, part).detach()[0]))
            if step in STEPS:
                _, best = min(visited, key=lambda pair: pair[0])
                torch.testing.assert_close(answers[STEPS.index(step)][task], best)
            loss.backward()
            optimiser.step()
        improved.append(min(loss for loss, _ in visited) < visited[0][0])
    assert any(improved)
    for (name, a), b in zip(model.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.grad is None
