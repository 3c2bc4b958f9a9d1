"""TAM: transformers trained with alternating minimisation (Algorithms 1 and 2 of the paper).

Logeswaran, Lee, Ott, Lee, Ranzato, Szlam: Few-shot Sequence Learning with Transformers, 2020.

Algorithm 2, the compositional form, is Algorithm 1 with z as the embedding of one primitive that
plays unknown: the model takes the other primitives' embeddings from its table, which is part of θ.

Shapes: B tasks, N rows of each, S components of a task embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from tam.config.methods import TamSettings
from tam.methods.losses import ExampleLosses, backward, score_losses
from tam.methods.method import Losses, Method, Rate, Update
from tam.methods.mixture import fit_mixtures, mixed_outcomes
from tam.methods.proposal import Proposal
from tam.methods.search import Search, fit_embeddings
from tam.methods.x_cache import CachedX
from tam.models import Batch, Model, ModelSpec, no_weight_gradients
from tam.models.fast.engine import has_kernels
from tam.models.fast.gpu_losses import chosen_rows


@dataclass(frozen=True, kw_only=True)
class TAM(TamSettings, Method):
    """TAM with its settings."""

    version: ClassVar[int] = 3

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network conditioned on z; unless z is of a primitive, with a proposer and a memory if asked."""
        if spec.compositional:
            return spec
        return replace(spec, proposer=self.proposer, kept=tasks if self.starts > 1 else 0)

    @property
    def searches(self) -> int:
        """See `Method.searches`."""
        return self.starts

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Algorithm 1 for the B tasks of a batch, from line 4 on.

        One pass gives both gradients at a z: that of θ for this turn of the loop (line 7), and that of z for
        the next (line 6); the pass before the loop is for z alone, unless `learn_blank`. −Δθ is what gathers
        in `.grad`, which `update` clears. A task that stops stays where it is, and weighs nothing. The losses
        that come out are over the rows that z follows.
        """
        chosen = self._small_supports(batch, step)
        accumulated = self.theta_update == "accumulated"
        cached = CachedX(model, batch) if accumulated else None
        batch = batch if cached is None else cached.batch
        z = model.blank(batch.tasks) if batch.start is None else batch.start
        proposal = None if model.proposer is None else Proposal(model, batch, chosen)
        search = Search(z if proposal is None else proposal.z, self.inner_rate, self.patience)  # z = 0
        moved: list[Tensor] = []  # how many tasks did, in each turn
        learns = search.active if self.learn_blank else None
        at_start = gradients_at(model, search.z, batch, chosen, theta_weights=learns, add=accumulated)
        if proposal is not None:
            proposal.learn(model, at_start.of_all_rows)
        if self.learn_blank and not accumulated:
            update(search.count)
        loss, gradient, _ = at_start
        for _ in range(self.inner_steps):  # while loss improves and max number of updates not reached
            search.watch(loss)
            search.step(gradient)  # z ← z − ∇z
            loss, gradient, _ = gradients_at(  # Δθ ← Δθ − ∇θ
                model, search.z, batch, chosen, theta_weights=search.active, add=accumulated
            )
            moved.append(search.count)
            if not accumulated:
                update(search.count)
        taken = torch.stack(moved).sum()
        if cached is not None:
            cached.backward(model)
            update(taken + batch.tasks if self.learn_blank else taken)  # θ ← θ + Δθ
        return Losses(at_start.loss.mean(), loss.mean(), taken / batch.tasks, search.z)

    def phase(self, step: int) -> int:
        """1 once z follows small supports, 0 before."""
        return 0 if self.small is None else int(step >= self.small.after)

    def shortened(self) -> Method:
        """The same with one inner step."""
        return replace(self, inner_steps=1)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The task embeddings `[B, S]` with the lowest support loss within each number of steps; θ stays.

        With several starts, a mixture of them; see `tam.methods.mixture`.
        Patience is for training: here a task goes on, since the best z is known, and may come later.
        """
        start = model.blank(support.tasks)
        if model.proposer is not None:
            with torch.no_grad():
                start = model.propose(support)
        if self.starts > 1:
            return fit_mixtures(model, support, start, self.starts, steps, rate)
        return fit_embeddings(Search(start, rate), model, support, steps)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, z; θ), a z for each task, or a mixture of several."""
        if self.starts > 1:
            return mixed_outcomes(model, states, batch)
        return model.outcomes(model.condition(states.unsqueeze(1), batch), batch)

    def _small_supports(self, batch: Batch, step: int) -> Tensor | None:
        """Which rows z follows, `[B, N]`; None for all. Rows are in random order, so the first are a draw."""
        if self.small is None or self.phase(step) == 0:
            return None
        assert batch.chance is not None
        low, high = self.small.sizes
        size = (low * (high / low) ** batch.chance[:, 0]).round()
        size = torch.where(batch.chance[:, 1] < self.small.share, size, float(batch.rows))
        rows = torch.arange(batch.rows, device=batch.device) < size.unsqueeze(1)
        return rows.to(batch.chance.dtype)


class Gradients(NamedTuple):
    """What one pass finds at z."""

    loss: Tensor  # of every task, [B]
    of_z: Tensor  # its gradient in z, [B, S]
    of_rows: Tensor  # that of the loss over all rows, in each row's copy of z, [B, N, S], or in z, [B, 1, S]

    @property
    def of_all_rows(self) -> Tensor:
        """The gradient in z of the loss over all rows, `[B, S]`."""
        return self.of_rows.sum(1)


def gradients_at(
    model: Model,
    z: Tensor,
    batch: Batch,
    chosen: Tensor | None = None,
    theta_weights: Tensor | None = None,
    *,
    add: bool = True,
) -> Gradients:
    """The loss of every task at z, and its gradient in z; that in θ gathers in `.grad`.

    Args:
        model: The network.
        z: Task embeddings, `[B, S]`.
        batch: The examples of the tasks.
        chosen: The rows that z's loss is over, `[B, N]`; None for all. One backward pass serves z and θ:
            every row has its own copy of z, so that rows can be left out of z's gradient afterwards.
        theta_weights: Adds to `.grad` of θ, and of the batch's `x_cache` if it has one, the gradient of the
            tasks' losses (over all rows), weighted by these, `[B]`. A task of weight 0 gets no gradient in
            z either. None: θ is left alone.
        add: Whether the gradient of θ is added to what is in `.grad`, or takes its place.
    """
    rows = z.detach().unsqueeze(1)
    rows = (rows if chosen is None else rows.repeat(1, batch.rows, 1)).requires_grad_()
    with torch.enable_grad():
        losses = score_losses(model.score(rows, batch), batch)
        if theta_weights is None:
            with no_weight_gradients():
                (gradient,) = torch.autograd.grad(losses.tasks, rows, torch.ones_like(losses.tasks))
        else:
            theta, inputs = list(model.parameters()), [rows, *batch.x_cache]
            found = backward(losses.tasks, theta, inputs, weights=theta_weights, add=add)
            gradient, *of_cache = found
            for part, found in zip(batch.x_cache, of_cache, strict=True):
                part.grad = found if part.grad is None else part.grad.add_(found)
    if chosen is None:
        return Gradients(losses.tasks.detach(), gradient.squeeze(1), gradient)
    return Gradients(*_of_rows(gradient, *losses.examples, chosen), gradient)


def _of_rows(gradient: Tensor, total: Tensor, predictions: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The tasks' losses `[B]` over the rows chosen, and their gradients, given those of each row's z."""
    if has_kernels(gradient):
        return chosen_rows(gradient, total, predictions, chosen)
    share = predictions.sum(1) / (predictions * chosen).sum(1)
    gradient = (gradient * chosen.unsqueeze(2)).sum(1) * share.unsqueeze(1)
    return ExampleLosses(total, predictions).per_task(chosen), gradient
