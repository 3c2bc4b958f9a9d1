"""Input sequences of a transformer's kernels: one kernel assembles them, a few compute the gradients.

Shapes: R sequences, L places of each, P rows, G tasks, d width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from tam.models.fast.context import check_first_derivative, wants_weight_gradients
from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_launch import WIDTHS
from tam.models.fast.gpu_packing import room_for

if TYPE_CHECKING:
    from tam.models.layers import Embedding

_SPAN = 64  # rows that a program sums at a time
_ASSEMBLED = 32  # rows that a program assembles
_PROGRAMS = 132  # that sum gradients
_FEW = 256  # tokens plus places, up to which comparing each row with all of them is cheap


class Tokens(NamedTuple):
    """Tokens of all sequences, and their embedding tables."""

    ids: Tensor  # [R, places], int64
    token: Tensor
    position: Tensor

    @property
    def places(self) -> int:
        """Tokens of a sequence, padding included."""
        return self.ids.shape[1]


class Parts(NamedTuple):
    """The parts of a sequence, in order; each may be missing."""

    front: Tensor | None = None  # [G, K₀, d]
    x: Tokens | None = None
    lead: Tensor | None = None  # [G, K₁, d]
    y: Tokens | None = None


@dataclass(frozen=True, eq=False)
class Layout:
    """How the places of all sequences are laid out as rows of a matrix.

    Attributes:
        sequences: Number of sequences.
        sizes: Places of the front, x, the lead and y, padding included.
        packing: If packed without padding, the first rows and lengths of the sequences, `[R]` each, and the
            number of rows, `[1]`, in int32; else empty.
        source: If packed, the place among all R · L places that each row holds, `[R · L]`, int32.
        x_lengths: The lengths of x, `[R]`.
    """

    sequences: int
    sizes: tuple[int, int, int, int]
    packing: tuple[Tensor, ...] = ()
    source: Tensor | None = None
    x_lengths: Tensor | None = None

    @property
    def length(self) -> int:
        """Places of a sequence, padding included."""
        return sum(self.sizes)

    @property
    def rows(self) -> int:
        """Maximum number of rows."""
        return self.sequences * self.length

    @property
    def count(self) -> Tensor | int:
        """Number of rows, or if packed, the tensor on the GPU that holds it."""
        return self.packing[2] if self.packing else self.rows

    def pointer(self, other: Tensor) -> Tensor:
        """`source`, or if it is None, `other` as an unused argument."""
        return other if self.source is None else self.source


def layout_of(sizes: tuple[int, int, int, int], x_lengths: Tensor | None, y_lengths: Tensor | None) -> Layout:
    """Lay sequences out without padding, by the lengths of x and y, `[R]`; at most one may be None."""
    given = [lengths.contiguous() for lengths in (x_lengths, y_lengths) if lengths is not None]
    ends = (given[0] + given[1] if len(given) > 1 else given[0]).cumsum(0)
    sequences, length = len(ends), sum(sizes)
    starts, lengths = (ends.new_empty(sequences, dtype=torch.int32) for _ in range(2))
    total = ends.new_empty(1, dtype=torch.int32)
    source = ends.new_empty(sequences * length, dtype=torch.int32)
    span = 32
    launch(
        "pack_places", (-(-sequences // span),), given[0], given[-1], ends, starts, lengths, total,
        source, sequences, length, *sizes[:3], has_x=x_lengths is not None, has_y=y_lengths is not None,
        span=span, places=room_for(length),
    )  # fmt: skip
    return Layout(sequences, sizes, (starts, lengths, total), source, x_lengths)


def assemble(layout: Layout, parts: Parts) -> Tensor:
    """The vectors of all rows, `[P, d]`; undefined after the last row."""
    parts_of_task, tokens = (parts.front, parts.lead), (parts.x, parts.y)
    vectors = [*parts_of_task, *(part and part.token for part in tokens)]
    some = next(vector for vector in vectors if vector is not None)  # stands for those that are missing
    front, lead = (some if part is None else part for part in parts_of_task)
    x, y = (part or (some, some, some) for part in tokens)
    tensors = [front, *x, lead, *y]
    width = some.shape[-1]
    out = some.new_empty(layout.rows, width)
    shared = [layout.sequences // len(part) if part is not None else 1 for part in parts_of_task]
    flags = zip(("front", "x", "lead", "y"), parts, strict=True)
    constants: dict[str, Any] = {f"has_{name}": part is not None for name, part in flags}
    assert all(tensor.is_contiguous() for tensor in tensors)
    launch(
        "assemble", (-(-layout.rows // _ASSEMBLED),), *tensors, layout.pointer(out), out, layout.count,
        layout.length, *layout.sizes, *shared, span=_ASSEMBLED, D=width, packed=bool(layout.packing),
        **constants,
    )  # fmt: skip
    return out


def task_gradients(layout: Layout, g: Tensor, shape: torch.Size, *, front: bool) -> Tensor:
    """The gradient of the front or the lead, `[G, K, d]`, from the gradient of all rows."""
    groups, count, width = shape
    before = 0 if front else layout.sizes[0]
    packed = bool(layout.packing)
    if not front and not packed:
        before += layout.sizes[1]
    rows = layout.sequences // groups
    to = g.new_empty(shape)
    after_x = packed and not front and layout.sizes[1] > 0
    starts = layout.packing[0] if packed else g
    lengths = layout.x_lengths if after_x and layout.x_lengths is not None else starts
    launch(
        "task_gradients", (groups, count), g, starts, lengths, to, layout.length, before, rows,
        after_x=after_x, packed=packed, span=min(room_for(rows), 128), D=width,
    )  # fmt: skip
    return to


def token_gradients(layout: Layout, g: Tensor, part: Tokens, offset: int) -> tuple[Tensor, Tensor]:
    """The gradients of a part's tables, from the gradient of all rows; the part starts at place `offset`."""
    tokens, width = part.token.shape
    padded = room_for(tokens + part.places)
    sums = min(padded, 128)
    programs = min(-(-layout.rows // _SPAN), _PROGRAMS)
    parts = g.new_empty(programs, padded, width)
    launch(
        "token_gradients", (programs, padded // sums), g, part.ids, layout.pointer(g), parts,
        layout.count, layout.length, offset, part.places, tokens, span=_SPAN, D=width, sums=sums,
        packed=bool(layout.packing), num_warps=8,
    )  # fmt: skip
    total = parts.sum(0)
    places = total[tokens : tokens + part.places]
    missing = len(part.position) - part.places
    return total[:tokens], torch.nn.functional.pad(places, (0, 0, 0, missing)) if missing else places


def takes(embedding: "Embedding", places: int) -> bool:
    """Whether the kernels support this number of places and this embedding, which all tasks must share."""
    if embedding.position is None:
        return False
    tokens, width = embedding.token.shape
    fits = places <= min(_FEW - tokens, len(embedding.position)) and width in WIDTHS
    return fits and isinstance(embedding.token, nn.Parameter)


def embed(embedding: "Embedding", ids: Tensor) -> Tensor:
    """Embed tokens `[R, L]` as the sums of their vectors and those of their places.

    On a GPU, torch sums the gradient of a lookup in no fixed order, and slowly if there are few tokens.
    """
    assert embedding.position is not None
    parts = Parts(x=Tokens(ids.contiguous(), embedding.token, embedding.position))
    return vectors_of(Layout(len(ids), (0, ids.shape[1], 0, 0)), parts).view(*ids.shape, -1)


def vectors_of(layout: Layout, parts: Parts) -> Tensor:
    """The vectors of all rows, `[P, d]`, with a derivative; undefined after the last row.

    Gradients are always summed in the same order; those of tables in TF32, which has a mantissa of 10 bits.
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
        check_first_derivative()
        layout, g = ctx.layout, gradients[0].contiguous()
        grads: list[Tensor | None] = [None]
        for shape, front in zip(ctx.shapes, (True, False), strict=True):
            grads.append(None if shape is None else task_gradients(layout, g, shape, front=front))
        offsets = (layout.sizes[0], sum(layout.sizes[:3]))
        for part, offset in zip(_tokens(ctx.saved_tensors), offsets, strict=True):
            tables: tuple[Tensor | None, Tensor | None] = (None, None)
            if part is not None and wants_weight_gradients():
                tables = token_gradients(layout, g, part, offset)
            grads += [None, *tables]
        return tuple(grads)


def _tokens(tensors: Sequence[Any]) -> list[Tokens | None]:
    """The tokens of x and of y."""
    return [None if part[0] is None else Tokens(*part) for part in (tensors[:3], tensors[3:])]
