"""Launches of the kernels of a transformer block, which are in `tam.models.fast.kernels`.

Shapes: P places in all, L places of a sequence, d width.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for


class FoldedBlock(NamedTuple):
    """One block's weights in the layout of the kernels."""

    w_qkv: Tensor
    w_o: Tensor
    w_inner: Tensor
    w_out: Tensor
    b_qkv: Tensor
    b_o: Tensor
    b_inner: Tensor
    b_out: Tensor


def block_of(matrices: Tensor, biases: Tensor, width: int) -> FoldedBlock:
    """One block's weights, given as one row of matrices and one of biases."""
    w_qkv, w_o, w_inner, w_out = matrices.split([n * width**2 for n in (3, 1, 4, 4)])
    squares = (w_qkv.view(-1, width), w_o.view(-1, width), w_inner.view(-1, width), w_out.view(width, -1))
    return FoldedBlock(*squares, *biases.split([n * width for n in (3, 1, 4, 1)]))


class Kept(NamedTuple):
    """What the forward pass keeps at a LayerNorm: standardised vectors, and their inverse deviation."""

    normed: Tensor
    inverses: Tensor


def kept_of(normed: Tensor, inverses: Tensor, index: int, places: int) -> Kept:
    """What is kept at LayerNorm `index`; the last may have fewer places."""
    rows = slice(index * places, (index + 1) * places)
    return Kept(normed[rows], inverses[rows])


class XCache(NamedTuple):
    """Cached keys and values of x, which comes before the places of a pass, and the lengths of x."""

    keys_values: Tensor  # [R, blocks, 2, H, X, d / H], in float32
    lengths: Tensor  # [R], int32


class Projection(NamedTuple):
    """Destination of a block's queries, keys and values, with its weights and what its LayerNorm keeps."""

    block: FoldedBlock
    kept: Kept
    qkv: Tensor


class Places(NamedTuple):
    """The places that a block's MLP computes: `reading` of each sequence, starting at `first`."""

    number: int  # of these places, in all sequences
    length: int  # of a sequence
    first: int
    reading: int


class Launch(NamedTuple):
    """Launch settings of a kernel."""

    span: int  # places per program
    warps: int
    stages: int
    part: int | None = None  # columns, or units of the MLP, that a program holds at a time
    registers: int | None = None  # maximum per thread


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
MOST_PLACES = 128  # places of a sequence
MOST_CACHED = 64  # cached places of a sequence
_CACHED = 32  # cached places per program of attention, unless a single sequence has more
SHARES = 11  # of the places; each program sums a weight's gradient over one of them


def rows_per_fold(width: int) -> int:
    """Rows of the matrices that a program folds, and that a partial gradient of a scale covers."""
    return min(width, 32)


class Kernels:
    """The kernels, with the arguments that all launches of a pass share."""

    def __init__(
        self,
        hidden: Tensor,
        packing: Sequence[Tensor],
        x_cache: Sequence[Tensor],
        shape: Sequence[int],
        half: bool,
    ) -> None:
        import triton.language as tl

        self._half = half
        self._x_cache = XCache(*x_cache) if x_cache else None
        self.rows, self.length, self.width = hidden.shape
        heads, causal, self.first, self.last = shape
        self._packing = packing  # starts, lengths and the sum of the lengths
        self._constants: dict[str, Any] = {"D": self.width, "dtype": tl.bfloat16 if half else tl.float32}
        self._attention = {"H": heads, "causal": bool(causal)}

    @property
    def places(self) -> int:
        """Number of places of all sequences."""
        return self.rows * self.length

    def places_of(self, index: int, blocks: int) -> Places:
        """The places that a block's MLP computes: all, or in the last block only those that are read."""
        if index < blocks - 1:
            return Places(self.places, self.length, 0, self.length)
        reading = self.last - self.first
        return Places(self.rows * reading, self.length, self.first, reading)

    def launch(self, name: str) -> dict[str, Any]:
        """The constants of a kernel's launch."""
        span, warps, stages, part, registers = LAUNCHES[name]
        if not self._half:  # float32 takes twice the space
            span, stages = 32, 1
        if name.startswith("attention"):
            while self.length > span:
                span, warps = 2 * span, 2 * warps
            if span == MOST_PLACES or self._x_cache is not None:
                registers = None  # these need more
        constants = {"span": span, "num_warps": warps, "num_stages": stages}
        if part is not None:
            constants["part"] = min(part, self.width)
        if registers is not None:
            constants["maxnreg"] = registers
        return constants

    def programs(self, name: str, places: int) -> int:
        """Number of programs for this number of places."""
        attends = name.startswith("attention")
        each = self.sequences(name) * self.length if attends else self.launch(name)["span"]
        return -(-places // each)

    def sequences(self, name: str) -> int:
        """Number of sequences per program of attention."""
        fit = self.launch(name)["span"] // self.length
        if self._x_cache is None:
            return fit
        return min(fit, max(1, _CACHED // self._x_cache.keys_values.shape[4]))

    def tiles(self, name: str, *tensors: Tensor, part: bool = False) -> Iterator[Any]:
        """Descriptors of the tiles in which a kernel reads matrices of places, of `part` columns or all."""
        launch = self.launch(name)
        columns = launch["part"] if part else self.width
        return (_tiles(tensor, launch["span"], columns) for tensor in tensors)

    def __call__(self, name: str, places: int, *arguments: Any, **constants: Any) -> None:
        """Launch a kernel over this number of places."""
        constants |= self._constants | {"packed": bool(self._packing)}
        grid = (self.programs(name, places),)
        launch(name, grid, *arguments, **constants, **self.launch(name))

    def attention_forward(self, index: int, qkv: Tensor, mixed: Tensor, which: Places) -> None:
        """Launch the attention kernel of a block."""
        self._attend("attention_forward", index, (qkv,), (mixed,), which)

    def attention_backward(
        self,
        index: int,
        g_mixed: Tensor,
        qkv: Tensor,
        to: tuple[Tensor, Tensor],
        which: Places,
        weights: bool,
    ) -> None:
        """Launch its backward kernel, which computes the gradients of q, k, v and, if wanted, the cache."""
        g_qkv, g_cache = to
        outputs = (g_qkv, g_cache[:, index] if self._x_cache is not None and weights else g_qkv)
        self._attend("attention_backward", index, (g_mixed, qkv), outputs, which, weights=weights)

    def _attend(
        self,
        name: str,
        index: int,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        which: Places,
        **constants: Any,
    ) -> None:
        """Launch a kernel of attention; an output stands for a tensor that it does not use."""
        unused, each = outputs[0], self.sequences(name)
        starts, lengths = self._packing[:2] or (unused, unused)
        cache, sizes, span = (unused, unused), (1, 0), 0
        if self._x_cache is not None:
            keys_values, cached_lengths = self._x_cache
            longest = keys_values.shape[4]
            cache, sizes = (keys_values[:, index], cached_lengths), (longest, keys_values.stride(0))
            span = room_for(each * longest)
        self(
            name, self.places, *inputs, *cache, starts, lengths, *outputs, self.places, *which[1:], each,
            *sizes, before_span=span, **self._attention, **constants,
        )  # fmt: skip

    def _count(self, places: int) -> Tensor | int:
        """The number of places, or if packed, the tensor on the GPU that holds it."""
        if not self._packing:
            return places
        return self._packing[2] if places else torch.zeros_like(self._packing[2])

    def project_forward(self, h: Tensor, to: Projection) -> None:
        """Launch the kernel that computes the first block's queries, keys and values."""
        name, places = "project_forward", self.places
        (h_in,) = self.tiles(name, h)
        self(name, places, h_in, *self._projection(name, to), self._count(places))

    def _projection(self, name: str, to: Projection) -> tuple[Any, ...]:
        """The arguments of a kernel that computes queries, keys and values."""
        (normed,), (qkv,) = self.tiles(name, to.kept.normed), self.tiles(name, to.qkv, part=True)
        w_qkv = _tiles(to.block.w_qkv, self.launch(name)["part"], self.width)
        return w_qkv, to.block.b_qkv, normed, to.kept.inverses, qkv

    def project_backward(
        self,
        block: FoldedBlock,
        g_qkv: Tensor,
        g_residual: Tensor,
        kept: Kept,
        to: tuple[Tensor, Tensor],
        which: Places,
    ) -> None:
        """Launch its backward kernel, which writes the gradient `to` a tensor in float32 and one in half."""
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
        block: FoldedBlock,
        h: Tensor,
        mixed: Tensor,
        kept: Kept,
        out: Tensor,
        which: Places,
        to: Projection | None,
    ) -> None:
        """Launch the kernel from attention's output through the MLP, and `to` the next block's q, k, v."""
        name = "mlp_forward"
        following = self._projection(name, to) if to is not None else [kept.inverses] * 5  # or unused
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
        block: FoldedBlock,
        g: tuple[Tensor, Tensor],
        kept: Kept,
        to: tuple[Tensor, Tensor],
        g_mixed: Tensor,
        inside: tuple[Tensor, Tensor],
        places: int,
        weights: bool,
    ) -> None:
        """Launch its backward kernel; gradients on the residual stream are in float32 and in half.

        If weight gradients are wanted, it writes the activations `inside` the MLP, and their gradient.
        """
        name = "mlp_backward"
        g_out, g_half, normed, g_in, g_kept = self.tiles(name, *g, kept.normed, *to)
        mixtures, inner, g_inner = self.tiles(name, g_mixed, *inside, part=True)
        w_o, w_inner, w_out = self._mlp_weights(name, block)
        self(
            name, places, g_out, g_half, normed, kept.inverses, w_o, w_inner, block.b_inner, w_out, g_in,
            mixtures, g_kept, inner, g_inner, self._count(places), weights=weights,
        )  # fmt: skip

    def _mlp_weights(self, name: str, block: FoldedBlock) -> tuple[Any, Any, Any]:
        """Descriptors of the weights around and in the MLP."""
        width, part = self.width, self.launch(name)["part"]
        return (
            _tiles(block.w_o, width, part),
            _tiles(block.w_inner, part, width),
            _tiles(block.w_out, width, part),
        )

    def fold(self, weights: Tensor, folded: Tensor, biases: Tensor) -> None:
        """Launch the kernel that folds each LayerNorm into the matrix after it."""
        span = rows_per_fold(self.width)
        grid = (12 * self.width // span, len(weights))
        launch("fold", grid, weights, folded, biases, span=span, **self._constants)

    def unfold(self, *tensors: Tensor, block: int, blocks: int) -> None:
        """Launch its backward kernel, on a block's gradients from `weight_gradients`."""
        span = rows_per_fold(self.width)
        grid = (12 * self.width // span,)
        launch("unfold", grid, *tensors, SHARES, block, blocks, span=span, **self._constants)

    def norm_gradients(self, g_norms: Tensor, g_weights: Tensor) -> None:
        """Launch the kernel that sums `unfold`'s partial gradients of LayerNorms' scales and shifts."""
        grid = (len(g_norms), 2)
        constants = self._constants | {"span": rows_per_fold(self.width)}
        launch("norm_gradients", grid, g_norms, g_weights, g_norms.shape[1], **constants)

    def weight_gradients(self, *tensors: Tensor, which: Places, block: int, blocks: int) -> None:
        """Launch the kernel whose programs each compute one square of the weight gradients."""
        constants = self._constants | self.launch("weight_gradients") | {"packed": bool(self._packing)}
        counts = self._count(self.places), self._count(which.number)
        launch("weight_gradients", (12, SHARES), *tensors, *counts, block, blocks, **constants)


def _tiles(matrix: Tensor, rows: int, columns: int) -> Any:
    """A descriptor of a matrix's tiles."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor.from_tensor(matrix, [rows, columns])
