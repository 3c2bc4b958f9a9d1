"""What every contender is given: a network and examples.

Shapes: N rows of each task, in second order N of the support and N of the query.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from tam.models import Batch, Model, ModelSpec, build_model

Step = Callable[[], list[Tensor]]
"""One meta-step, or one adaptation; returns θ's gradient, or the task embeddings."""


@dataclass(frozen=True)
class Sizes:
    """How large the problem is."""

    layers: int = 2
    width: int = 64
    heads: int = 4
    vocabulary: int = 12
    classes: int = 4
    tasks: int = 16
    rows: int = 8
    tokens: int = 10
    inner_steps: int = 5
    new_tasks: int = 64
    """Tasks that are adapted to, when that is all that is timed."""
    rate: float = 0.01
    """Of the inner steps; so small that each lowers every loss, and the best embedding is the last."""

    @property
    def spec(self) -> ModelSpec:
        return ModelSpec(
            kind="classification",
            vocabulary=self.vocabulary,
            classes=self.classes,
            max_x=self.tokens,
            layers=self.layers,
            width=self.width,
            heads=self.heads,
        )


@dataclass(frozen=True)
class Problem:
    """What every contender is given.

    Attributes:
        sizes: How large it is.
        model: The network, conditioned on a task embedding.
        bare: The network without one, for MAML.
        batch: Tasks with N rows each.
        split: Tasks with 2 N rows each, for second order: N of the support, then N of the query.
        new: The tasks that are adapted to.
    """

    sizes: Sizes
    model: Model
    bare: Model
    batch: Batch
    split: Batch
    new: Batch

    @property
    def weights(self) -> list[nn.Parameter]:
        """The parameters θ."""
        return list(self.model.parameters())

    @property
    def support(self) -> Batch:
        """What the tasks of `split` are learned from."""
        return self.split.cut(slice(self.sizes.rows))

    @property
    def query(self) -> Batch:
        """What they are then asked."""
        return self.split.cut(slice(self.sizes.rows, None))

    def episodes(self) -> Iterator[tuple[Batch, Batch]]:
        """Support and query of the tasks of `split`, one by one."""
        return zip(self.each(self.support), self.each(self.query), strict=True)

    def each(self, batch: Batch) -> Iterator[Batch]:
        """The tasks of a batch, one by one."""
        return (batch.part(slice(place, place + 1)) for place in range(batch.tasks))

    def in_double(self) -> "Problem":
        """The same in double precision."""
        return replace(self, model=deepcopy(self.model).double(), bare=deepcopy(self.bare).double())


def problem(sizes: Sizes) -> Problem:
    """Random weights and random examples; nothing is zero that would not be in training."""
    generator = torch.Generator().manual_seed(0)

    def examples(tasks: int, rows: int) -> Batch:
        shape = (tasks, rows)
        return Batch(
            x=torch.randint(sizes.vocabulary, (*shape, sizes.tokens), generator=generator),
            x_length=torch.full(shape, sizes.tokens),
            y=torch.randint(sizes.classes, shape, generator=generator),
            task=torch.arange(tasks),
            chance=torch.rand(tasks, 2, generator=generator),
        )

    return Problem(
        sizes,
        model=build_model(sizes.spec, generator),
        batch=examples(sizes.tasks, sizes.rows),
        new=examples(sizes.new_tasks, sizes.rows),
        bare=build_model(sizes.spec.without_embedding(), generator),
        split=examples(sizes.tasks, 2 * sizes.rows),
    )
