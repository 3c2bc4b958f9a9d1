"""What the kernels of a block are given: its weights, what a pass keeps, and what comes before."""

from typing import NamedTuple

from torch import Tensor


class Block(NamedTuple):
    """One block's weights as the kernels take them."""

    w_qkv: Tensor
    w_o: Tensor
    w_inner: Tensor
    w_out: Tensor
    b_qkv: Tensor
    b_o: Tensor
    b_inner: Tensor
    b_out: Tensor


def block_of(matrices: Tensor, biases: Tensor, width: int) -> Block:
    """One block's weights, given as one row each."""
    w_qkv, w_o, w_inner, w_out = matrices.split([n * width**2 for n in (3, 1, 4, 4)])
    squares = (w_qkv.view(-1, width), w_o.view(-1, width), w_inner.view(-1, width), w_out.view(width, -1))
    return Block(*squares, *biases.split([n * width for n in (3, 1, 4, 1)]))


class Kept(NamedTuple):
    """What the forward pass keeps at a LayerNorm: standardised vectors, and one over their deviation."""

    normed: Tensor
    inverses: Tensor


def kept_of(normed: Tensor, inverses: Tensor, index: int, places: int) -> Kept:
    """What is kept at the LayerNorm of that number; the last may have fewer places."""
    which = slice(index * places, (index + 1) * places)
    return Kept(normed[which], inverses[which])


class Before(NamedTuple):
    """Keys and values of places that come before a pass's, and how many each sequence has."""

    values: Tensor  # [R, blocks, 2, H, X, d / H], in float32
    lengths: Tensor  # [R], int32


class Projection(NamedTuple):
    """Where a block's queries, keys and values go, with its weights and what is kept at its LayerNorm."""

    block: Block
    kept: Kept
    qkv: Tensor
