"""How a task embedding enters the network: as tokens of the sequence, or as offsets on shared weights.

Shapes: B tasks, M copies of each task embedding (1, or one per row), G = B · M, K places of the task, S
components of a task embedding, d width.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.batch import Batch
from tam.models.layers import AdapterOffset, NormOffset, split_offsets
from tam.models.spec import ModelSpec


@dataclass(frozen=True, eq=False)
class Modulation:
    """Offsets of the LayerNorms (two per block and the final one) or of the adapters (two per block)."""

    norms: tuple[NormOffset, ...] = ()
    adapters: tuple[AdapterOffset, ...] = ()

    def block(self, index: int) -> "Modulation":
        """The offsets of one block, two of each kind."""
        pair = slice(2 * index, 2 * index + 2)
        return Modulation(self.norms[pair], self.adapters[pair])

    def norm(self, index: int) -> NormOffset | None:
        """The offset of one LayerNorm, if there is one."""
        return self.norms[index] if self.norms else None

    def adapter(self, index: int) -> AdapterOffset | None:
        """The offset of one adapter, if there is one."""
        return self.adapters[index] if self.adapters else None


@dataclass(frozen=True, eq=False)
class Condition:
    """The embedded tasks of a batch, as the network reads them; made by `Model.condition`.

    Attributes:
        tasks: Number of tasks B.
        copies: Number of copies M: 1 if a task's rows share one, else one per row.
        tokens: The tokens at the task's K places, `[B, M, K, d]`, or None.
        modulation: Offsets on LayerNorms or adapters, in G = B · M groups, or None.
    """

    tasks: int
    copies: int
    tokens: Tensor | None = None
    modulation: Modulation | None = None

    def check(self, tasks: int, rows: int) -> None:
        """Raise an error unless this fits `tasks` tasks of `rows` rows each."""
        if self.tasks != tasks or self.copies not in (1, rows):
            raise ValueError(
                f"for {tasks} tasks of {rows} rows, the condition must be of {tasks} tasks with 1 or {rows} "
                f"copies: got {self.tasks} tasks with {self.copies} copies"
            )


def task_size(spec: ModelSpec) -> int:
    """Number of components S of a task embedding.

    - token: `task_tokens · width`.
    - norm: scale and bias of 2 LayerNorms per layer and a final one, `(2 · layers + 1) · 2 · width`.
    - adapter: 2 adapters per layer, each two matrices with their biases,
      `2 · layers · (2 · width · bottleneck + bottleneck + width)`.
    - none: 0.
    """
    if spec.conditioning == "token":
        return spec.task_tokens * spec.width
    layers, shapes = _offset_shapes(spec)
    return layers * sum(rows * columns for rows, columns in shapes)


def _offset_shapes(spec: ModelSpec) -> tuple[int, list[tuple[int, int]]]:
    """The number of layers that a task offsets, and the shapes of one layer's offsets."""
    width, inside = spec.width, spec.bottleneck
    if spec.conditioning == "norm":
        return 2 * spec.layers + 1, [(1, width), (1, width)]
    if inside is not None:
        return 2 * spec.layers, [(width, inside), (1, inside), (inside, width), (1, width)]
    return 0, []


def check_embeddings(z: Tensor | None, batch: Batch, spec: ModelSpec) -> None:
    """Raise an error unless z is what a model with this spec needs for the batch."""
    size = task_size(spec)
    needed, reason = size > 0, f"with conditioning {spec.conditioning!r}"
    if spec.compositional:
        needed = batch.unknown is not None
        reason = f"{'with' if needed else 'without'} an unknown slot in the batch"
        slots = None if batch.primitives is None else batch.primitives.shape[1]
        if slots != spec.slots:
            raise ValueError(f"each task must have {spec.slots} primitives in this model: got {slots}")
    if needed != (z is not None):
        raise ValueError(f"z must {'not ' if needed else ''}be None {reason}")
    shapes = [(batch.tasks, copies, size) for copies in (1, batch.rows)]
    if z is not None and z.shape not in shapes:
        raise ValueError(f"z [B, M, S] must have one of the shapes {shapes}: got {tuple(z.shape)}")


def primitive_embeddings(table: Tensor, z: Tensor | None, batch: Batch) -> Tensor:
    """Join the embeddings of each task's primitives, with z for the unknown one: `[B, M, slots · S]`."""
    assert batch.primitives is not None
    if z is None or batch.unknown is None:
        return F.embedding(batch.primitives, table).flatten(1).unsqueeze(1)
    slots = torch.arange(batch.primitives.shape[1], device=batch.device)
    is_unknown = slots == batch.unknown.unsqueeze(-1)  # [B, slots]
    # The unknown slot's id may be anything, so row 0 is looked up; `where` makes its gradient exactly 0.
    known = F.embedding(batch.primitives.masked_fill(is_unknown, 0), table)
    return torch.where(is_unknown[:, None, :, None], z.unsqueeze(2), known.unsqueeze(1)).flatten(2)


def split_modulation(z: Tensor, spec: ModelSpec) -> Modulation:
    """Split task embeddings `[G, S]` into offsets, in the order in which the network uses them."""
    offsets = split_offsets(z, *_offset_shapes(spec))
    if spec.conditioning == "norm":
        return Modulation(norms=tuple(NormOffset(*parts) for parts in offsets))
    return Modulation(adapters=tuple(AdapterOffset(*parts) for parts in offsets))
