"""The sequences that a transformer's kernels are given, assembled by one kernel, with gradients by a few.

Shapes: P rows, d width.
"""

from typing import Any

import torch
from torch import Tensor

from tam.models.fast.cpu_block import of_weights
from tam.models.fast.gpu_sequence import Layout, Parts, Tokens, assemble, task_gradients, token_gradients


def vectors_of(layout: Layout, parts: Parts) -> Tensor:
    """The vectors of all rows, `[P, d]`; what is behind the last row is undefined.

    Gradients are always added up in the same order; those of tables in TF32, which keeps 10 bits after the
    first of each number that is added up.
    """
    nothing = (None, None, None)
    return _Assemble.apply(layout, parts.front, parts.lead, *(parts.x or nothing), *(parts.y or nothing))


class _Assemble(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, layout: Layout, front: Tensor | None, lead: Tensor | None, *tokens: Tensor | None
    ) -> Tensor:
        ctx.layout, ctx.shapes = layout, [None if part is None else part.shape for part in (front, lead)]
        ctx.save_for_backward(*tokens)
        x, y = _tokens(tokens)
        return assemble(layout, Parts(front, x, lead, y))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        layout, g = ctx.layout, gradients[0].contiguous()
        found: list[Tensor | None] = [None]
        for shape, front in zip(ctx.shapes, (True, False), strict=True):
            found.append(None if shape is None else task_gradients(layout, g, shape, front=front))
        offsets = (layout.sizes[0], sum(layout.sizes[:3]))
        for part, offset in zip(_tokens(ctx.saved_tensors), offsets, strict=True):
            tables = token_gradients(layout, g, part, offset) if part is not None and of_weights() else ()
            found += [None, *(tables or (None, None))]
        return tuple(found)


def _tokens(tensors: tuple[Tensor | None, ...]) -> list[Tokens | None]:
    """The tokens of x and of y."""
    parts: list[Tokens | None] = []
    for ids, token, position in (tensors[:3], tensors[3:]):
        if ids is None or token is None or position is None:
            parts.append(None)
        else:
            parts.append(Tokens(ids, token, position))
    return parts
