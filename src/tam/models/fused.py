"""The blocks of a transformer in a few kernels each, for GPUs; see `tam.models.kernels`.

All blocks are one operation for autograd, with a first derivative only. The residual stream stays in
float32; matrix products are in bfloat16 under autocast, else in float32.

Shapes: R rows, L places, Q of them read, d width; of each block 12 · d² entries of matrices and 13 · d of
vectors.
"""

import importlib.util
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

_LONGEST = 128
_WIDTHS = (16, 32, 64, 128)
_NARROWEST_HEAD = 16
_PER_BLOCK = 14  # tensors
_HAS_TRITON = importlib.util.find_spec("triton") is not None


class Launch(NamedTuple):
    """How a kernel is launched."""

    span: int  # places that a program holds
    warps: int
    stages: int
    part: int | None = None  # units of the MLP that it holds
    registers: int | None = None  # at most, of a thread


LAUNCHES = {
    "project_forward": Launch(64, 4, 2),
    "project_backward": Launch(64, 4, 2),
    "attention_forward": Launch(64, 4, 2),
    "attention_backward": Launch(64, 4, 2, registers=128),
    "mlp_forward": Launch(64, 4, 2, part=64),
    "mlp_backward": Launch(64, 4, 3, part=32),
    "weight_gradients": Launch(64, 4, 4),
}
SHARES = 11  # of the places, over which programs make a weight's gradient together


def can_fuse(hidden: Tensor, heads: int) -> bool:
    """Whether the kernels take these hidden states `[R, L, d]`, and are faster than plain code."""
    _, length, width = hidden.shape
    fits = length <= _LONGEST and width in _WIDTHS and width // heads >= _NARROWEST_HEAD
    return fits and hidden.is_cuda and torch.is_autocast_enabled("cuda") and _HAS_TRITON


def fused_blocks(
    hidden: Tensor,
    valid: Tensor | None,
    weights: Sequence[Tensor],
    *,
    heads: int,
    causal: bool,
    read: slice,
) -> Tensor:
    """All blocks of a transformer.

    Args:
        hidden: The vectors, `[R, L, d]`.
        valid: Which places hold tokens, `[R, L]`; the others are seen by themselves alone. None: all do.
        weights: Of each block scale and bias of its LayerNorm, weight and bias of query, key_value and out,
            scale and bias of the second LayerNorm, weight and bias of the MLP's inner and out layer.
        heads: Attention heads.
        causal: Whether a place sees none after it.
        read: The places wanted.

    Returns:
        The hidden states at the places `read`, `[R, Q, d]`.
    """
    first = read.start or 0
    last = hidden.shape[1] if read.stop is None else read.stop
    half = torch.is_autocast_enabled(hidden.device.type)
    seen = None if valid is None else valid.to(torch.uint8)
    shape = [heads, int(causal), first, last]
    return _forward(hidden.float().contiguous(), seen, list(weights), shape, half)[0]


def _cast(weights: Sequence[Tensor], half: bool) -> tuple[Tensor, Tensor]:
    """The matrices of all blocks in the type of the products, and the vectors: `[blocks, …]` each."""
    blocks = len(weights) // _PER_BLOCK
    matrices = torch.cat([w.detach().flatten() for w in weights if w.dim() == 2])
    vectors = torch.cat([w.detach() for w in weights if w.dim() == 1])
    return matrices.to(torch.bfloat16 if half else torch.float32).view(blocks, -1), vectors.view(blocks, -1)


class _Block(NamedTuple):
    """One block's weights as the kernels take them."""

    scale: Tensor
    shift: Tensor
    w_qkv: Tensor
    b_qkv: Tensor
    w_o: Tensor
    b_o: Tensor
    mlp_scale: Tensor
    mlp_shift: Tensor
    w_inner: Tensor
    b_inner: Tensor
    w_out: Tensor
    b_out: Tensor

    @property
    def projection(self) -> tuple[Tensor, ...]:
        return self[:4]

    @property
    def mlp(self) -> tuple[Tensor, ...]:
        return self[4:]


def _block(matrices: Tensor, vectors: Tensor, width: int) -> _Block:
    w_qkv, w_o, w_inner, w_out = matrices.split([n * width**2 for n in (3, 1, 4, 4)])
    scale, shift, b_qkv, b_o, mlp_scale, mlp_shift, b_inner, b_out = vectors.split(
        [n * width for n in (1, 1, 3, 1, 1, 1, 4, 1)]
    )
    return _Block(
        scale, shift, w_qkv, b_qkv, w_o, b_o, mlp_scale, mlp_shift, w_inner, b_inner, w_out, b_out
    )  # fmt: skip


class _Kernels:
    """The kernels, with all that is the same for every launch in a pass."""

    def __init__(self, hidden: Tensor, valid: Tensor | None, shape: Sequence[int], half: bool) -> None:
        import triton.language as tl

        from tam.models import kernels

        self._module, self._half = kernels, half
        self.rows, self.length, self.width = hidden.shape
        heads, causal, self.first, self.last = shape
        self.valid = hidden if valid is None else valid  # something to point at
        self._constants: dict[str, Any] = {"D": self.width, "dtype": tl.bfloat16 if half else tl.float32}
        self._attention = {"H": heads, "masked": valid is not None, "causal": bool(causal)}

    @property
    def places(self) -> int:
        return self.rows * self.length

    def places_of(self, index: int, blocks: int) -> tuple[int, int, int, int]:
        """How many places a block's MLP looks at; and of sequences of L the Q places from `first` on."""
        if index < blocks - 1:
            return self.places, self.length, 0, self.length
        reading = self.last - self.first
        return self.rows * reading, self.length, self.first, reading

    def places_before(self, index: int, blocks: int) -> int:
        """How many places the MLPs of the blocks before look at."""
        return sum(self.places_of(before, blocks)[0] for before in range(index))

    def launch(self, name: str) -> dict[str, Any]:
        """The constants of a kernel's launch."""
        span, warps, stages, part, registers = LAUNCHES[name]
        if not self._half:  # twice as large
            span, stages = 32, 1
        if name.startswith("attention"):
            while self.length > span // 2:
                span *= 2
        constants = {"span": span, "num_warps": warps, "num_stages": stages}
        if part is not None:
            constants["part"] = min(part, self.width)
        if registers is not None:
            constants["maxnreg"] = registers
        return constants

    def programs(self, name: str, places: int) -> int:
        """How many programs look at so many places."""
        span = self.launch(name)["span"]
        return -(-places // (span // self.length * self.length if name.startswith("attention") else span))

    def __call__(self, name: str, places: int, *arguments: Any, **constants: Any) -> None:
        """Launch a kernel over so many places."""
        constants |= self._constants | (self._attention if name.startswith("attention") else {})
        grid = (self.programs(name, places),)
        getattr(self._module, name)[grid](*arguments, **constants, **self.launch(name))

    def weight_gradients(self, *arguments: Any) -> None:
        """Launch the kernel that makes squares of weights' gradients, not tiles of places."""
        constants = self._constants | self.launch("weight_gradients")
        self._module.weight_gradients[(12, SHARES)](*arguments, **constants)


@torch.library.custom_op("tam::blocks", mutates_args=())
def _forward(
    hidden: Tensor, valid: Tensor | None, weights: list[Tensor], shape: list[int], half: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The hidden states read; and for the way back those between blocks, q, k, v, mixtures and weights."""
    kernels = _Kernels(hidden, valid, shape, half)
    places, length, width = kernels.places, kernels.length, kernels.width
    matrices, vectors = _cast(weights, half)
    blocks = len(matrices)
    between = hidden.new_empty(blocks - 1, *hidden.shape)
    middle = hidden.new_empty(kernels.places_before(blocks, blocks), width)
    qkv = matrices.new_empty(blocks, places, 3 * width)
    mixed = matrices.new_empty(blocks, places, width)
    out = hidden.new_empty(kernels.rows, shape[3] - shape[2], width)
    state = hidden
    for index in range(blocks):
        block = _block(matrices[index], vectors[index], width)
        kernels("project_forward", places, state, *block.projection, qkv[index], places)
        kernels("attention_forward", places, qkv[index], kernels.valid, mixed[index], places, length)
        after = between[index] if index < blocks - 1 else out
        which = kernels.places_of(index, blocks)
        h_kept = middle[kernels.places_before(index, blocks) :]
        kernels("mlp_forward", which[0], state, mixed[index], *block.mlp, h_kept, after, *which)
        state = after
    return out, between, middle, qkv, mixed, matrices, vectors


@_forward.register_fake
def _(
    hidden: Tensor, valid: Tensor | None, weights: list[Tensor], shape: list[int], half: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    rows, length, width = hidden.shape
    blocks = len(weights) // _PER_BLOCK
    matrices = hidden.new_empty(blocks, 12 * width**2, dtype=torch.bfloat16 if half else torch.float32)
    return (
        hidden.new_empty(rows, shape[3] - shape[2], width),
        hidden.new_empty(blocks - 1, rows, length, width),
        hidden.new_empty(rows * ((blocks - 1) * length + shape[3] - shape[2]), width),
        matrices.new_empty(blocks, rows * length, 3 * width),
        matrices.new_empty(blocks, rows * length, width),
        matrices,
        hidden.new_empty(blocks, 13 * width),
    )


@torch.library.custom_op("tam::blocks_backward", mutates_args=())
def _backward(
    gradient: Tensor, hidden: Tensor, valid: Tensor | None, kept: list[Tensor], shape: list[int], wanted: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients at the hidden states, and of matrices and vectors, if wanted."""
    between, middle, qkv, mixed, matrices, vectors = kept
    kernels = _Kernels(hidden, valid, shape, matrices.dtype == torch.bfloat16)
    places, width = kernels.places, kernels.width
    blocks = len(matrices)
    some = int(wanted)
    squares = hidden.new_empty(blocks, SHARES * some, 12 * width**2)
    biases = hidden.new_empty(blocks, SHARES * some, 12, width)
    tiles = max(kernels.programs(name, places) for name in ("mlp_backward", "project_backward"))
    norms = hidden.new_zeros(blocks, tiles * some, 4, width)
    x, x_mlp, g_kept, g_out = (matrices.new_empty(places * some, width) for _ in range(4))
    inner, g_inner = (matrices.new_empty(places * some, 4 * width) for _ in range(2))
    g_residual, g_mixed, g_qkv = (torch.empty_like(like) for like in (hidden, mixed[0], qkv[0]))
    g = gradient.contiguous()
    for index in reversed(range(blocks)):
        block = _block(matrices[index], vectors[index], width)
        state = between[index - 1] if index else hidden
        count, *which = kernels.places_of(index, blocks)
        kernels(
            "mlp_backward", count, g, middle[kernels.places_before(index, blocks) :], block.w_o,
            *block.mlp[2:-1], g_residual, g_mixed, g_kept, x_mlp, inner, g_inner, g_out, norms[index], count,
            weights=wanted,
        )  # fmt: skip
        kernels("attention_backward", places, g_mixed, qkv[index], kernels.valid, g_qkv, places, *which)
        g = torch.empty_like(hidden)
        kernels(
            "project_backward", places, g_qkv, g_residual, state, *block.projection[:-1], g, x, norms[index],
            places, *which, weights=wanted,
        )  # fmt: skip
        if wanted:
            kernels.weight_gradients(
                g_qkv, x, g_kept, mixed[index], g_inner, x_mlp, g_out, inner,
                squares[index], biases[index], places, count, *which,
            )  # fmt: skip
    norm, bias = norms.sum(1), biases.sum(1)
    lines = torch.cat([norm[:, :2], bias[:, :4], norm[:, 2:], bias[:, 4:9]], dim=1)
    return g, squares.sum(1), lines.flatten(1)


@_backward.register_fake
def _(
    gradient: Tensor, hidden: Tensor, valid: Tensor | None, kept: list[Tensor], shape: list[int], wanted: bool
) -> tuple[Tensor, Tensor, Tensor]:
    matrices, vectors = kept[-2:]
    return torch.empty_like(hidden), hidden.new_empty(matrices.shape), torch.empty_like(vectors)


def _set_up(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    hidden, valid, weights, ctx.shape, _ = inputs
    ctx.save_for_backward(hidden, valid, *output[1:])
    ctx.shapes = [tuple(weight.shape) for weight in weights]


def _differentiate(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Any, ...]:
    hidden, valid, *kept = ctx.saved_tensors
    g, squares, lines = _backward(gradient, hidden, valid, kept, ctx.shape, True)
    found: list[Tensor] = []
    for block in range(len(squares)):
        shapes = ctx.shapes[block * _PER_BLOCK : (block + 1) * _PER_BLOCK]
        sources = {2: squares[block], 1: lines[block]}
        places = {2: 0, 1: 0}
        for shape in shapes:
            kind, size = len(shape), torch.Size(shape).numel()
            found.append(sources[kind].narrow(0, places[kind], size).view(shape))
            places[kind] += size
    return g, None, found, None, None


_forward.register_autograd(_differentiate, setup_context=_set_up)
