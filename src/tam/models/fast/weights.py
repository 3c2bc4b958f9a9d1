"""The tensors of a transformer block, by name."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor

T = TypeVar("T", bound=Tensor | None)


class BlockWeights(NamedTuple, Generic[T]):
    """Weight and bias of each layer of a block, in the order of `block.parameters()`, or their gradients.

    The weight of a LayerNorm is its scale.
    """

    attention_norm: tuple[T, T]
    query: tuple[T, T]
    key_value: tuple[T, T]
    attention_out: tuple[T, T]
    mlp_norm: tuple[T, T]
    mlp_inner: tuple[T, T]
    mlp_out: tuple[T, T]

    @staticmethod
    def from_flat(tensors: Sequence[T]) -> "BlockWeights[T]":
        """Name 14 tensors that are in the order of `flat`."""
        return BlockWeights(*zip(tensors[::2], tensors[1::2], strict=True))

    @property
    def flat(self) -> list[T]:
        """All tensors in one list."""
        return [tensor for layer in self for tensor in layer]


PER_BLOCK = 2 * len(BlockWeights._fields)
"""Number of tensors of a block."""
