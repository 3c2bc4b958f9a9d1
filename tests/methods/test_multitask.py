"""The multitask transformer: embeddings in θ, learned with all else, and what a new task starts from."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.errors import UserError
from tam.methods import TAM, Multitask
from tam.methods.losses import task_losses
from tam.models import Batch, Model, ModelSpec

Make = Callable[..., Batch]
MakeModel = Callable[..., Model]
PlainLoss = Callable[..., Tensor]
ALL = slice(None)
BOTH = pytest.mark.parametrize("finetune", ["all", "embedding"])


def trained(model: Model) -> Model:
    """A model whose embeddings are as large as after training."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for table in (model.task_embeddings, model.unknown):
            if table is not None:
                table.normal_(std=0.3, generator=generator)
    return model


def one_step(model: Model, batch: Batch, settings: Multitask) -> None:
    counts: list[float] = []
    losses = settings.training_step(model, batch, lambda n: counts.append(n.item()), 0)
    assert counts == [batch.tasks]
    assert losses.steps == 0


def test_a_training_step_follows_each_tasks_own_embedding(
    spec: ModelSpec,
    make_model: MakeModel,
    make_batch: Make,
    plain_loss: PlainLoss,
    assert_same_gradients: Callable[[Model, Model], None],
) -> None:
    spec = Multitask().spec(spec, 7)
    model, reference = trained(make_model(spec)), trained(make_model(spec))
    batch = replace(make_batch(spec, 3, 4), task=torch.tensor([5, 0, 2]))
    batch = replace(batch, chance=torch.tensor([[0.1], [0.5], [0.4]], dtype=torch.float64))
    one_step(model, batch, Multitask())
    losses: list[Tensor] = []
    for task, number in enumerate((5, 0, 2)):
        if reference.task_embeddings is not None:
            z = reference.task_embeddings[number]
        else:  # the first and the last play unknown
            assert batch.primitives is not None
            assert batch.unknown is not None
            assert reference.primitives is not None
            assert reference.unknown is not None
            own = reference.primitives[int(batch.primitives[task, int(batch.unknown[task])])]
            z = own if task == 1 else reference.unknown[0]
        losses.append(plain_loss(reference, dict(reference.named_parameters()), z, batch, task, ALL))
    torch.stack(losses).sum().backward()
    assert_same_gradients(model, reference)


def test_only_the_embeddings_of_the_batchs_tasks_get_a_gradient(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model = make_model(Multitask().spec(plain_spec, 7))
    one_step(model, replace(make_batch(plain_spec, 2, 4), task=torch.tensor([6, 1])), Multitask())
    assert model.task_embeddings is not None
    assert model.task_embeddings.grad is not None
    assert model.task_embeddings.grad.ne(0).any(1).tolist() == [False, True, *[False] * 4, True]


def test_a_primitive_that_plays_unknown_gets_no_gradient(
    compositional_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    batch = replace(
        make_batch(compositional_spec, 2, 5),
        primitives=torch.tensor([[1, 2, 3], [1, 4, 3]]),
        unknown=torch.tensor([1, 1]),
    )
    for share, rows, unknown in ((0.0, [1, 2, 3, 4], False), (1.0, [1, 3], True)):
        model = make_model(Multitask().spec(compositional_spec, 7))
        one_step(model, batch, Multitask(unknown_share=share))
        assert model.primitives is not None
        assert model.primitives.grad is not None
        assert model.unknown is not None
        assert model.unknown.grad is not None
        assert model.primitives.grad.ne(0).any(1).nonzero().flatten().tolist() == rows
        assert model.unknown.grad.ne(0).any().item() == unknown


@BOTH
def test_a_new_task_starts_from_the_mean_or_from_unknown(
    spec: ModelSpec, finetune: str, make_model: MakeModel, make_batch: Make
) -> None:
    settings = Multitask(finetune=finetune)  # pyright: ignore[reportArgumentType]
    spec = settings.spec(spec, 7)
    model, batch = trained(make_model(spec)), make_batch(spec, 3, 4)
    (states,) = settings.adapt(model, batch, [0], 0.1)
    z = model.unknown if model.task_embeddings is None else model.task_embeddings.mean(0, keepdim=True)
    assert z is not None
    z = z.expand(3, 1, -1)
    expected = model.outcomes(model.condition(z, batch), batch)
    torch.testing.assert_close(settings.outcomes(model, states, batch), expected)


@BOTH
def test_adapting_is_adam_on_the_embedding_and_if_asked_on_all(
    spec: ModelSpec, finetune: str, make_model: MakeModel, make_batch: Make, plain_loss: PlainLoss
) -> None:
    settings = Multitask(finetune=finetune)  # pyright: ignore[reportArgumentType]
    spec = settings.spec(spec, 7)
    model, batch = trained(make_model(spec)), make_batch(spec, 2, 4)
    before = deepcopy(model)
    (states,) = settings.adapt(model, batch, [6], 0.02)
    for task in range(2):
        alone = deepcopy(model)
        start = alone.unknown if alone.task_embeddings is None else alone.task_embeddings.mean(0)
        assert start is not None
        z = start.detach().clone().flatten().requires_grad_()
        moving = [z, *alone.parameters()] if finetune == "all" else [z]
        adam = torch.optim.Adam(moving, lr=0.02)
        lowest, best = float("inf"), None
        for _ in range(7):
            adam.zero_grad()
            loss = plain_loss(alone, dict(alone.named_parameters()), z, batch, task, ALL)
            if loss.item() < lowest:
                part = batch.part(slice(task, task + 1))
                lowest = loss.item()
                best = alone.outcomes(alone.condition(z.view(1, 1, -1), part), part).detach()
            loss.backward()
            adam.step()
        found = settings.outcomes(model, states, batch)[task : task + 1]
        torch.testing.assert_close(found, best)
    assert states.shape[1] == model.task_size or finetune == "all"
    for (name, a), b in zip(model.named_parameters(), before.parameters(), strict=True):
        assert torch.equal(a, b), name
        assert a.grad is None


def test_moving_the_embedding_alone_is_tams_adapting_from_another_start(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch = make_model(Multitask().spec(plain_spec, 7)), make_batch(plain_spec, 3, 4)
    (ours,) = Multitask(finetune="embedding").adapt(model, batch, [5], 0.1)  # an untrained table is zero
    (tams,) = TAM(patience=None).adapt(model, batch, [5], 0.1)
    assert torch.equal(ours, tams)


def test_all_weights_fit_the_support_at_least_as_well_as_the_embedding(
    plain_spec: ModelSpec, make_model: MakeModel, make_batch: Make
) -> None:
    model, batch = make_model(Multitask().spec(plain_spec, 7)), make_batch(plain_spec, 3, 4)
    losses: dict[str, Tensor] = {}
    for finetune in ("all", "embedding"):
        settings = Multitask(finetune=finetune)
        (states,) = settings.adapt(model, batch, [20], 0.02)
        losses[finetune] = task_losses(settings.outcomes(model, states, batch), batch)
    assert (losses["all"] < losses["embedding"]).all()


@pytest.mark.parametrize("settings", [{"finetune": "some"}, {"unknown_share": -0.1}, {"unknown_share": 1.1}])
def test_wrong_settings_are_errors(settings: dict[str, object]) -> None:
    with pytest.raises(UserError, match=next(iter(settings))):
        Multitask(**settings)  # pyright: ignore[reportArgumentType]
