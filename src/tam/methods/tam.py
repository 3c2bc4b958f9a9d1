"""TAM: transformers trained with alternating minimisation (Algorithms 1 and 2 of the paper).

Logeswaran, Lee, Ott, Lee, Ranzato, Szlam: Few-shot Sequence Learning with Transformers, 2020.

Algorithm 2, the compositional form, has the same lines 4 to 8. There z is the embedding of one primitive that
is treated as unknown (chosen in `TrainingData.draw`); the other primitives' embeddings are a table within θ.

Shapes: B tasks, N rows per task, S components of a task embedding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from tam.config.methods import TamSettings
from tam.methods.episodes import log_uniform
from tam.methods.method import Losses, Method, Rate, Update
from tam.methods.mixture import fit_mixtures, mixed_outcomes
from tam.methods.objective import Objective
from tam.methods.search import Search, fit_embeddings
from tam.methods.starts import Start
from tam.models import Batch, Model, ModelSpec


@dataclass(frozen=True, kw_only=True)
class TAM(TamSettings, Method):
    """TAM with its settings."""

    version: ClassVar[int] = 3
    fits_vector: ClassVar[bool] = True

    def spec(self, spec: ModelSpec, tasks: int) -> ModelSpec:
        """A network conditioned on z, with a proposer and a table of all tasks' z if settings need them."""
        if spec.compositional:
            return spec
        return replace(spec, proposer=self.proposer, kept=tasks if self.starts > 1 else 0)

    @property
    def searches(self) -> int:
        """See `Method.searches`."""
        return self.starts

    def training_step(self, model: Model, batch: Batch, update: Update, step: int) -> Losses:
        """Algorithm 1 for the B tasks of a batch, from line 4 on.

        One pass gives both gradients at a z: θ's for this iteration (line 7) and z's for the next (line 6).
        A task that has stopped keeps its z and adds nothing to Δθ.

        Our extensions enter through `Objective` (which rows z is fitted to), `Start` (where z starts),
        `Updates` (when θ is updated) and `learn_blank` (θ learns from the first pass too).
        """
        interleaved = self.theta_update == "interleaved"
        objective = Objective(model, batch, self._small_supports(batch, step), keep_x=not interleaved)
        start, theta = Start(objective), Updates(update, interleaved=interleaved)

        search = Search(start.z, self.inner_rate, self.patience)  # line 4: z = 0, Δθ = 0
        first = current = objective.at(search.z, theta=search.active if self.learn_blank else None)
        start.learn(first)
        if self.learn_blank:
            theta.add(search.count)
        for _ in range(self.inner_steps):  # line 5: while the loss improves, at most T times
            search.watch(current.loss)
            search.step(current.in_z)  # line 6: z ← z − ∇z
            current = objective.at(search.z, theta=search.active)  # line 7: Δθ ← Δθ − ∇θ
            theta.add(search.count)
        objective.finish()
        theta.finish()  # line 8: θ ← θ + Δθ
        inner_steps = torch.stack(theta.counts[-self.inner_steps :]).sum()
        return Losses(first.loss.mean(), current.loss.mean(), inner_steps / batch.tasks, search.z)

    def phase(self, step: int) -> int:
        """1 once small supports are in use, 0 before."""
        return 0 if self.small is None else int(step >= self.small.after)

    def shortened(self) -> Method:
        """The same method with one inner step."""
        return replace(self, inner_steps=1)

    def adapt(self, model: Model, support: Batch, steps: Sequence[int], rate: Rate) -> list[Tensor]:
        """The task embeddings `[B, S]` with the lowest support loss within each number of steps; θ is fixed.

        With several starts, mixtures of embeddings: see `tam.methods.mixture`.
        Patience applies to training only: here every step is taken; the best z is kept and may come late.
        """
        start = model.blank(support.tasks)
        if model.proposer is not None:
            with torch.no_grad():
                start = model.propose(support)
        if self.starts > 1:
            return fit_mixtures(model, support, start, self.starts, steps, rate, self.search_rates)
        return fit_embeddings(Search(start, rate), model, support, steps)

    def outcomes(self, model: Model, states: Tensor, batch: Batch) -> Tensor:
        """Log p(· | x, z; θ), with one z per task or a mixture of several."""
        if self.starts > 1:
            return mixed_outcomes(model, states, batch)
        return super().outcomes(model, states, batch)

    def _small_supports(self, batch: Batch, step: int) -> Tensor | None:
        """The rows that z is fitted to, as 0 or 1, `[B, N]`; None: all. The first rows are a random draw."""
        if self.small is None or self.phase(step) == 0:
            return None
        assert batch.chance is not None
        size = log_uniform(self.small.sizes, batch.chance[:, 0])
        size = torch.where(batch.chance[:, 1] < self.small.share, size, float(batch.rows))
        rows = torch.arange(batch.rows, device=batch.device) < size.unsqueeze(1)
        return rows.to(batch.chance.dtype)


class Updates:
    """Updates of θ: one at the end, by the sum of all gradients (the paper), or one after every gradient.

    Attributes:
        counts: For each gradient, the number of tasks it sums over.
    """

    def __init__(self, update: Update, *, interleaved: bool) -> None:
        self._update, self._interleaved = update, interleaved
        self.counts: list[Tensor] = []

    def add(self, count: Tensor) -> None:
        """Count a gradient added to `.grad`, a sum over `count` tasks; update θ now if interleaved."""
        self.counts.append(count)
        if self._interleaved:
            self._update(count)

    def finish(self) -> None:
        """Update θ by the sum of all gradients, unless interleaved."""
        if not self._interleaved:
            self._update(torch.stack(self.counts).sum())
