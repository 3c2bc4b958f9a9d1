"""The network and examples that every contender gets.

Shapes: N rows per task; in second order, N in the support and N in the query.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from tam.models import Batch, Model, ModelSpec, build_model

Step = Callable[[], list[Tensor]]
"""One meta-step or one adaptation; returns the gradient of θ or the task embeddings."""


@dataclass(frozen=True)
class Sizes:
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
    """The number of tasks in adaptation."""
    rate: float = 0.01
    """Inner learning rate: so small that every step lowers every loss, and the last embedding is the best."""

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
    """The network and examples that every contender gets.

    Attributes:
        model: The network, conditioned on a task embedding.
        bare: The network without a task embedding, for MAML.
        batch: Tasks with N rows each.
        split: Tasks with 2 N rows each, for second order: N support rows, then N query rows.
        new: The tasks of the adaptation.
    """

    sizes: Sizes
    model: Model
    bare: Model
    batch: Batch
    split: Batch
    new: Batch

    @property
    def weights(self) -> list[nn.Parameter]:
        return list(self.model.parameters())

    @property
    def support(self) -> Batch:
        return self.split.cut(slice(self.sizes.rows))

    @property
    def query(self) -> Batch:
        return self.split.cut(slice(self.sizes.rows, None))

    def episodes(self) -> Iterator[tuple[Batch, Batch]]:
        """Support and query of the tasks of `split`, one by one."""
        return zip(self.each(self.support), self.each(self.query), strict=True)

    def each(self, batch: Batch) -> Iterator[Batch]:
        """The tasks of a batch, one by one."""
        return (batch.part(slice(place, place + 1)) for place in range(batch.tasks))

    def in_double(self) -> "Problem":
        return replace(self, model=deepcopy(self.model).double(), bare=deepcopy(self.bare).double())


def problem(sizes: Sizes) -> Problem:
    """Random weights and random examples; nothing is zero that would be nonzero in training."""
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
