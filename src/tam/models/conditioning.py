"""What the network sees of a task: tokens for the sequence, or offsets on shared weights.

Shapes: B tasks, M copies of each one's embedding (1, or one a row), G = B · M, K places of the task, S
components of a task embedding, d width.
"""

from dataclasses import dataclass

from torch import Tensor

from tam.models.layers import AdapterOffset, NormOffset, adapter_size, split_offsets
from tam.models.spec import ModelSpec


@dataclass(frozen=True, eq=False)
class Modulation:
    """Offsets for all blocks, two a block, and for the final LayerNorm; empty where there are none."""

    norms: tuple[NormOffset, ...] = ()
    adapters: tuple[AdapterOffset, ...] = ()

    def block(self, index: int) -> "Modulation":
        """The offsets of one block, two of each sort."""
        pair = slice(2 * index, 2 * index + 2)
        return Modulation(self.norms[pair], self.adapters[pair])

    def norm(self, index: int) -> NormOffset | None:
        """That of one LayerNorm, if there are such."""
        return self.norms[index] if self.norms else None

    def adapter(self, index: int) -> AdapterOffset | None:
        """That of one adapter, if there are such."""
        return self.adapters[index] if self.adapters else None


@dataclass(frozen=True, eq=False)
class Condition:
    """What the network sees of B tasks, made by `Model.condition`.

    Attributes:
        tasks: Number of tasks B.
        copies: Number M of copies: 1 if a task's rows share one, or the number of rows.
        tokens: The task's tokens at its K places, `[B, M, K, d]`, or None.
        modulation: Offsets on LayerNorms or adapters, in G = B · M groups, or None.
    """

    tasks: int
    copies: int
    tokens: Tensor | None = None
    modulation: Modulation | None = None

    def check(self, tasks: int, rows: int) -> None:
        """Raise an error unless this can condition `rows` rows of each of `tasks` tasks."""
        if self.tasks != tasks or self.copies not in (1, rows):
            raise ValueError(
                f"a condition of {self.tasks} tasks with {self.copies} copies each does not fit "
                f"{tasks} tasks of {rows} rows: tasks are equal, and copies are 1 or one a row"
            )


def task_size(spec: ModelSpec) -> int:
    """Number of components S of a task embedding.

    - token: `task_tokens · width`.
    - norm: scale and bias of 2 LayerNorms a layer and a final one, `(2 · layers + 1) · 2 · width`.
    - adapter: 2 adapters a layer, each two matrices with their biases,
      `2 · layers · (2 · width · bottleneck + bottleneck + width)`.
    - none: 0.
    """
    if spec.conditioning == "token":
        return spec.task_tokens * spec.width
    if spec.conditioning == "norm":
        return (2 * spec.layers + 1) * 2 * spec.width
    if spec.bottleneck is not None:
        return 2 * spec.layers * adapter_size(spec.width, spec.bottleneck)
    return 0


def split_modulation(z: Tensor, spec: ModelSpec) -> Modulation | None:
    """Read task embeddings `[G, S]` as offsets, in the order in which the network uses them."""
    width, inside = spec.width, spec.bottleneck
    if spec.conditioning == "norm":
        norms = split_offsets(z, 2 * spec.layers + 1, [(1, width), (1, width)])
        return Modulation(norms=tuple(NormOffset(*parts) for parts in norms))
    if inside is not None:
        adapters = split_offsets(
            z, 2 * spec.layers, [(width, inside), (1, inside), (inside, width), (1, width)]
        )
        return Modulation(adapters=tuple(AdapterOffset(*parts) for parts in adapters))
    return None
