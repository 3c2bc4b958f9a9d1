"""The agnostic and the multitask transformer: θ follows the pooled loss, embeddings included."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import Agnostic, Method, Multitask
from tam.models import Batch, Model, ModelSpec
from tests.methods.small import assert_same_gradients, plain_loss, some, trained
from tests.models.conftest import make_batch, make_model

ALL = slice(None)


def one_step(model: Model, batch: Batch, method: Method) -> Tensor:
    """The loss of a step."""
    counts: list[float] = []
    losses = method.training_step(model, batch, lambda n: counts.append(n.item()), 0)
    assert counts == [batch.tasks]
    assert losses.steps == 0
    return losses.end


def test_an_agnostic_step_follows_the_pooled_loss(plain_spec: ModelSpec) -> None:
    spec = Agnostic().spec(plain_spec, 3)
    model, reference, batch = make_model(spec), make_model(spec), make_batch(spec, 3, 4)
    assert model.task_size == 0
    loss = one_step(model, batch, Agnostic())
    theta = dict(reference.named_parameters())
    expected = torch.stack([plain_loss(reference, theta, None, batch, task, ALL) for task in range(3)])
    expected.sum().backward()
    assert_same_gradients(model, reference)
    torch.testing.assert_close(loss, expected.mean().detach())


def test_primitives_are_not_for_the_agnostic(compositional_spec: ModelSpec) -> None:
    with pytest.raises(ValueError, match="use_primitives"):
        Agnostic().spec(compositional_spec, 3)


def test_a_multitask_step_follows_each_tasks_own_embedding(spec: ModelSpec) -> None:
    spec = Multitask().spec(spec, 7)
    model, reference = trained(spec), trained(spec)
    batch, chance = make_batch(spec, 3, 4), torch.tensor([[0.1], [0.45], [0.3]], dtype=torch.float64)
    batch = replace(batch, task=torch.tensor([5, 0, 2]), chance=chance)
    if batch.primitives is not None:  # all of them are known here
        batch = replace(batch, primitives=batch.primitives % spec.primitives)
    one_step(model, batch, Multitask(unknown_share=0.4))
    losses: list[Tensor] = []
    for task, number in enumerate((5, 0, 2)):
        if reference.task_embeddings is not None:
            z = reference.task_embeddings[number]
        else:  # the first and the last play unknown
            own = some(reference.primitives)[some(batch.primitives)[task, some(batch.unknown)[task]]]
            z = own if task == 1 else some(reference.unknown)[0]
        losses.append(plain_loss(reference, dict(reference.named_parameters()), z, batch, task, ALL))
    torch.stack(losses).sum().backward()
    assert_same_gradients(model, reference)
