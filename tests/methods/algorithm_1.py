"""A plain reading of Algorithm 1, one task after another, one example at a time; and our steps beside it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from tam.methods import TAM, Losses
from tam.methods.losses import example_losses
from tam.models import Batch, Model
from tam.training.adam import Adam

RATE, CLIP = 0.01, 0.5


def take(batch: Batch, task: int, rows: Sequence[int]) -> Batch:
    """Some rows of one task."""
    return replace(batch.part(slice(task, task + 1)).take(torch.tensor([list(rows)])), present=None)


def mean_loss(outcomes: Tensor, batch: Batch) -> Tensor:
    """The mean of −log p over the predictions of one task, picked one by one from all outcomes."""
    picked: list[Tensor] = []
    for row in range(batch.rows):
        if batch.y_length is None:
            picked.append(outcomes[0, row, int(batch.y[0, row])])
        else:
            length, end = int(batch.y_length[0, row]), outcomes.shape[-1] - 1
            tokens = [*batch.y[0, row, :length].tolist(), end]
            picked += [outcomes[0, row, place, token] for place, token in enumerate(tokens)]
    return -torch.stack(picked).mean()


def task_loss(model: Model, z: Tensor, batch: Batch, task: int, rows: Sequence[int] | None = None) -> Tensor:
    """The loss of one task at its z, `[S]`."""
    some = take(batch, task, range(batch.rows) if rows is None else rows)
    return mean_loss(model.outcomes(model.condition(z.view(1, 1, -1), some), some), some)


def losses_at(model: Model, z: Tensor, batch: Batch) -> Tensor:
    """The loss of every task at its z, `[B]`."""
    return example_losses(model, z.unsqueeze(1), batch).per_task()


@dataclass
class Walk:
    """One task of the reference on its way."""

    z: Tensor
    adam: torch.optim.Adam
    best: float = math.inf
    worse: int = 0
    steps: int = 0
    losses: list[float] = field(default_factory=list)

    def goes_on(self, patience: int | None) -> bool:
        """Line 5: whether the loss improved."""
        self.worse = 0 if self.losses[-1] < self.best else self.worse + 1
        self.best = min(self.best, self.losses[-1])
        return patience is None or self.worse < patience


def algorithm_1(
    model: Model,
    batch: Batch,
    settings: TAM,
    rows_of_z: Sequence[Sequence[int] | None] | None = None,
    outer: int = 1,
) -> list[Walk]:
    """Algorithm 1 as printed, θ moving once at the end or after every step; z by torch's Adam.

    Besides, searches may start elsewhere (`batch.start`), and θ learn there (`learn_blank`).
    """
    theta = list(model.parameters())
    theta_adam = torch.optim.Adam(theta, lr=RATE, betas=(0.9, 0.98))
    interleaved = settings.theta_update == "interleaved"
    walks: list[Walk] = []
    learned_from: list[int] = []

    def look(tasks: Sequence[int], *, learn: bool) -> None:
        for task in tasks:
            walk, rows = walks[task], None if rows_of_z is None else rows_of_z[task]
            z_loss = task_loss(model, walk.z, batch, task, rows)
            walk.losses.append(z_loss.item())
            (walk.z.grad,) = torch.autograd.grad(z_loss, walk.z)
            if learn:
                loss = task_loss(model, walk.z.detach(), batch, task)
                gradients = torch.autograd.grad(loss, theta, materialize_grads=True)
                for parameter, gradient in zip(theta, gradients, strict=True):
                    parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
                learned_from.append(task)
        if interleaved:
            move_theta()

    def move_theta() -> None:
        if learned_from:
            for parameter in theta:
                assert parameter.grad is not None
                parameter.grad /= len(learned_from)
            torch.nn.utils.clip_grad_norm_(theta, CLIP)
            theta_adam.step()
            theta_adam.zero_grad()
            learned_from.clear()

    for _ in range(outer):
        walks.clear()
        for task in range(batch.tasks):
            z = (
                torch.zeros(model.task_size, dtype=torch.float64)
                if batch.start is None
                else batch.start[task]
            )
            z = z.clone().requires_grad_()
            walks.append(Walk(z, torch.optim.Adam([z], lr=settings.inner_rate)))
        going = list(range(batch.tasks))
        look(going, learn=settings.learn_blank)
        for _ in range(settings.inner_steps):
            going = [task for task in going if walks[task].goes_on(settings.patience)]
            for task in going:
                walks[task].adam.step()
                walks[task].steps += 1
            look(going, learn=True)
        move_theta()
    return walks


def ours(
    model: Model, batch: Batch, settings: TAM, outer: int = 1, step: int = 0
) -> tuple[list[Losses], list[float]]:
    """Our training steps with our Adam, and over how many task-steps each move was."""
    adam = Adam(model, (), CLIP)
    adam.rate.fill_(RATE)
    counts: list[float] = []

    def update(count: Tensor) -> None:
        counts.append(count.item())
        adam.move(count)

    return [settings.training_step(model, batch, update, step) for _ in range(outer)], counts


def assert_same_theta(first: Model, second: Model) -> None:
    for (name, a), b in zip(first.named_parameters(), second.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")


def assert_moved(model: Model, start: Model) -> None:
    assert any((a != b).any() for a, b in zip(model.parameters(), start.parameters(), strict=True))
