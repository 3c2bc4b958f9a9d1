"""How the kernels of a block, those of `tam.models.fast.kernels` but for `rows`, are launched.

Shapes: P places in all, L places of a sequence, d width.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for


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


class XCache(NamedTuple):
    """Keys and values of the places of x before those of a pass, and how many each sequence has."""

    keys_values: Tensor  # [R, blocks, 2, H, X, d / H], in float32
    lengths: Tensor  # [R], int32


class Projection(NamedTuple):
    """Where a block's queries, keys and values go, with its weights and what is kept at its LayerNorm."""

    block: Block
    kept: Kept
    qkv: Tensor


class Places(NamedTuple):
    """The places that a block's MLP computes: `reading` of each sequence, from `first` on."""

    number: int  # in all
    length: int  # of a sequence
    first: int
    reading: int


class Launch(NamedTuple):
    """How a kernel is launched."""

    span: int  # places that a program holds
    warps: int
    stages: int
    part: int | None = None  # columns, or units of the MLP, that it holds at once
    registers: int | None = None  # at most, of a thread


LAUNCHES = {
    "project_forward": Launch(64, 4, 1, part=64),
    "project_backward": Launch(64, 4, 2),
    "attention_forward": Launch(32, 2, 3),
    "attention_backward": Launch(32, 2, 2, registers=128),
    "mlp_forward": Launch(64, 4, 3, part=32, registers=168),
    "mlp_backward": Launch(64, 4, 4, part=32, registers=168),
    "weight_gradients": Launch(32, 4, 6),
}
WIDTHS = (16, 32, 64, 128)
LONGEST = 128  # places of a sequence
MOST_CACHED = 64  # places before it
_CACHED = 32  # cached places that a program of attention holds, unless one sequence has more
SHARES = 11  # of the places, over which programs make a weight's gradient together


def rows_at_once(width: int) -> int:
    """How many rows of the matrices a program folds; parts of scales' gradients are of as many."""
    return min(width, 32)


class Kernels:
    """The kernels, with all that is the same for every launch in a pass."""

    def __init__(
        self,
        hidden: Tensor,
        packing: Sequence[Tensor],
        x_cache: Sequence[Tensor],
        shape: Sequence[int],
        half: bool,
    ) -> None:
        import triton.language as tl

        from tam.models.fast import kernels

        self._module, self._half = kernels, half
        self._x_cache = XCache(*x_cache) if x_cache else None
        self.rows, self.length, self.width = hidden.shape
        heads, causal, self.first, self.last = shape
        self._packing = packing  # starts, lengths and the sum of these
        self._constants: dict[str, Any] = {"D": self.width, "dtype": tl.bfloat16 if half else tl.float32}
        self._attention = {"H": heads, "causal": bool(causal)}

    @property
    def places(self) -> int:
        """Of all sequences."""
        return self.rows * self.length

    def places_of(self, index: int, blocks: int) -> Places:
        """The places that a block's MLP computes: all, but in the last block only those that are read."""
        if index < blocks - 1:
            return Places(self.places, self.length, 0, self.length)
        reading = self.last - self.first
        return Places(self.rows * reading, self.length, self.first, reading)

    def launch(self, name: str) -> dict[str, Any]:
        """The constants of a kernel's launch."""
        span, warps, stages, part, registers = LAUNCHES[name]
        if not self._half:  # twice as large
            span, stages = 32, 1
        if name.startswith("attention"):
            while self.length > span:
                span, warps = 2 * span, 2 * warps
            if span == LONGEST or self._x_cache is not None:
                registers = None  # they need more
        constants = {"span": span, "num_warps": warps, "num_stages": stages}
        if part is not None:
            constants["part"] = min(part, self.width)
        if registers is not None:
            constants["maxnreg"] = registers
        return constants

    def programs(self, name: str, places: int) -> int:
        """How many programs look at so many places."""
        each = (
            self.sequences(name) * self.length if name.startswith("attention") else self.launch(name)["span"]
        )
        return -(-places // each)

    def sequences(self, name: str) -> int:
        """How many sequences a program of attention holds."""
        fit = self.launch(name)["span"] // self.length
        return (
            fit if self._x_cache is None else min(fit, max(1, _CACHED // self._x_cache.keys_values.shape[4]))
        )

    def tiles(self, name: str, *tensors: Tensor, part: bool = False) -> Iterator[Any]:
        """Descriptors of the tiles in which a kernel takes matrices of places; `part`: so many columns."""
        launch = self.launch(name)
        columns = launch["part"] if part else self.width
        return (_tiles(tensor, launch["span"], columns) for tensor in tensors)

    def __call__(self, name: str, places: int, *arguments: Any, **constants: Any) -> None:
        """Launch a kernel over so many places."""
        constants |= self._constants | {"packed": bool(self._packing)}
        grid = (self.programs(name, places),)
        launch(getattr(self._module, name), grid, *arguments, **constants, **self.launch(name))

    def attention_forward(self, index: int, qkv: Tensor, mixed: Tensor, which: Places) -> None:
        """Launch the kernel of a block's attention."""
        cached, sizes, span = self._cached("attention_forward", index, mixed)
        self._attend("attention_forward", (qkv, *cached), (mixed,), (*which[1:], *sizes), before_span=span)

    def attention_backward(
        self,
        index: int,
        g_mixed: Tensor,
        qkv: Tensor,
        to: tuple[Tensor, Tensor],
        which: Places,
        weights: bool,
    ) -> None:
        """Launch its backward kernel, which leaves gradients at q, k, v and, if wanted, at the cache."""
        g_qkv, g_cache = to
        name = "attention_backward"
        cached, sizes, span = self._cached(name, index, g_qkv)
        given = (g_mixed, qkv, *cached)
        left = (g_qkv, g_cache[:, index] if span and weights else g_qkv)  # else it is not looked at
        self._attend(name, given, left, (*which[1:], *sizes), before_span=span, weights=weights)

    def _cached(
        self, name: str, index: int, nothing: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[int, int, int], int]:
        """What a block's attention sees of cached x.

        Returns:
            Keys and values with the lengths; how many sequences a program holds, and of each of these how
            many places there may be, and the numbers from one sequence to the next; places of a program.
        """
        each = self.sequences(name)
        if self._x_cache is None:
            return (nothing, nothing), (each, 1, 0), 0  # not looked at
        keys_values, lengths = self._x_cache
        longest = keys_values.shape[4]
        return (
            (keys_values[:, index], lengths),
            (each, longest, keys_values.stride(0)),
            room_for(each * longest),
        )

    def _attend(
        self,
        name: str,
        given: Sequence[Tensor],
        left: Sequence[Tensor],
        sizes: Sequence[int],
        **constants: Any,
    ) -> None:
        starts, lengths = self._packing[:2] if self._packing else (left[0], left[0])  # not looked at
        places = self.places
        self(name, places, *given, starts, lengths, *left, places, *sizes, **self._attention, **constants)

    def _count(self, places: int) -> Tensor | int:
        """How many places a kernel looks at: of so many, or if packed, what the GPU knows."""
        if not self._packing:
            return places
        return self._packing[2] if places else torch.zeros_like(self._packing[2])

    def project_forward(self, h: Tensor, to: Projection) -> None:
        """Launch the kernel that makes the first block's queries, keys and values."""
        name, places = "project_forward", self.places
        (h_in,) = self.tiles(name, h)
        self(name, places, h_in, *self._projection(name, to), self._count(places))

    def _projection(self, name: str, to: Projection) -> tuple[Any, ...]:
        """What a kernel that makes queries, keys and values is given for it."""
        (normed,), (qkv,) = self.tiles(name, to.kept.normed), self.tiles(name, to.qkv, part=True)
        w_qkv = _tiles(to.block.w_qkv, self.launch(name)["part"], self.width)
        return w_qkv, to.block.b_qkv, normed, to.kept.inverses, qkv

    def project_backward(
        self,
        block: Block,
        g_qkv: Tensor,
        g_residual: Tensor,
        kept: Kept,
        to: tuple[Tensor, Tensor],
        which: Places,
    ) -> None:
        """Launch its backward kernel, which leaves the gradient `to` a tensor in float32 and one in half."""
        name, places = "project_backward", self.places
        some = which.number < places
        g, residual, normed, g_in, g_half = self.tiles(name, g_qkv, g_residual, kept.normed, *to)
        w_qkv = _tiles(block.w_qkv, self.width, self.width)
        self(
            name, places, g, g_residual if some else residual, normed, kept.inverses, w_qkv, g_in, g_half,
            self._count(places), *which[1:], some=some,
        )  # fmt: skip

    def mlp_forward(
        self,
        block: Block,
        h: Tensor,
        mixed: Tensor,
        kept: Kept,
        out: Tensor,
        which: Places,
        to: Projection | None,
    ) -> None:
        """Launch the kernel that goes from the mixtures through the MLP, and `to` the next block."""
        name = "mlp_forward"
        following = self._projection(name, to) if to is not None else [kept.inverses] * 5  # not looked at
        some = which.number < self.places
        h_in, normed, h_out = self.tiles(name, h, kept.normed, out)
        (mixtures,) = self.tiles(name, mixed, part=True)
        w_o, w_inner, w_out = self._mlp_weights(name, block)
        self(
            name, which.number, h if some else h_in, mixtures, w_o, block.b_o, w_inner, block.b_inner, w_out,
            block.b_out, normed, kept.inverses, h_out, self._count(which.number), *which[1:], *following,
            some=some, last=to is None,
        )  # fmt: skip

    def mlp_backward(
        self,
        block: Block,
        g: tuple[Tensor, Tensor],
        kept: Kept,
        to: tuple[Tensor, Tensor],
        g_mixed: Tensor,
        inside: tuple[Tensor, Tensor],
        places: int,
        weights: bool,
    ) -> None:
        """Launch its backward kernel; gradients on the residual stream are in float32 and in half.

        If the weights' gradients are wanted, it leaves what is `inside` the MLP, and the gradient there.
        """
        name = "mlp_backward"
        g_out, g_half, normed, g_in, g_kept = self.tiles(name, *g, kept.normed, *to)
        mixtures, inner, g_inner = self.tiles(name, g_mixed, *inside, part=True)
        w_o, w_inner, w_out = self._mlp_weights(name, block)
        self(
            name, places, g_out, g_half, normed, kept.inverses, w_o, w_inner, block.b_inner, w_out, g_in,
            mixtures, g_kept, inner, g_inner, self._count(places), weights=weights,
        )  # fmt: skip

    def _mlp_weights(self, name: str, block: Block) -> tuple[Any, Any, Any]:
        """Descriptors of the weights around and in the MLP."""
        width, part = self.width, self.launch(name)["part"]
        return (
            _tiles(block.w_o, width, part),
            _tiles(block.w_inner, part, width),
            _tiles(block.w_out, width, part),
        )

    def fold(self, weights: Tensor, folded: Tensor, biases: Tensor) -> None:
        """Launch the kernel that makes each LayerNorm a part of the matrix after it."""
        span = rows_at_once(self.width)
        grid = (12 * self.width // span, len(weights))
        launch(self._module.fold, grid, weights, folded, biases, span=span, **self._constants)

    def unfold(self, *tensors: Tensor, block: int, blocks: int) -> None:
        """Launch its backward kernel, on the gradients that `weight_gradients` left of a block."""
        span = rows_at_once(self.width)
        grid = (12 * self.width // span,)
        launch(self._module.unfold, grid, *tensors, SHARES, block, blocks, span=span, **self._constants)

    def norm_gradients(self, g_norms: Tensor, g_weights: Tensor) -> None:
        """Launch the kernel that adds up what `unfold` left of all LayerNorms' scales and shifts."""
        grid = (len(g_norms), 2)
        constants = self._constants | {"span": rows_at_once(self.width)}
        launch(self._module.norm_gradients, grid, g_norms, g_weights, g_norms.shape[1], **constants)

    def weight_gradients(self, *tensors: Tensor, which: Places, block: int, blocks: int) -> None:
        """Launch the kernel that makes squares of weights' gradients, not tiles of places."""
        constants = self._constants | self.launch("weight_gradients") | {"packed": bool(self._packing)}
        counts = self._count(self.places), self._count(which.number)
        launch(self._module.weight_gradients, (12, SHARES), *tensors, *counts, block, blocks, **constants)


def _tiles(matrix: Tensor, rows: int, columns: int) -> Any:
    """The descriptor of a matrix's tiles."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(matrix, [rows, columns])
