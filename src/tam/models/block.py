"""A transformer's block as one operation for autograd, for CPUs; see `tam.models.calculus`.

Torch's derivatives of a block are exact too, but take several times as many passes over memory, which is what
counts on a CPU. Here are two derivatives and no third. Under `vmap` the weights may be each task's own.

Shapes: G groups (tasks with weights of their own; 1 if they are shared), R rows of each, L places, Q of them
read, d width.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tam.models.calculus import Affine, Gelu, Layer, Norm
from tam.models.mixing import Mixing, Reading

_functorch = torch._C._functorch  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_DEPTH = "tam: contexts without gradients of weights"


@contextmanager
def no_weight_gradients() -> Generator[None]:
    """Where this thread takes gradients here, blocks leave out those of their weights. For those of z alone.

    What was computed before, and does not depend on z, gets none either.
    """
    depth = _depth()
    _torch._stash_obj_in_tls(_DEPTH, depth + 1)
    try:
        yield
    finally:
        _torch._stash_obj_in_tls(_DEPTH, depth)


def of_weights() -> bool:
    """Whether gradients of weights are wanted by the thread that asked for this backward pass."""
    return _depth() == 0


def _depth() -> int:
    """How many contexts this thread is in.

    Threads that autograd has for GPUs see what the thread saw that asked for gradients: torch keeps objects
    for a thread, and takes them along.
    """
    return _torch._get_obj_in_tls(_DEPTH) if _torch._is_key_in_tls(_DEPTH) else 0


def can_be_one(hidden: Tensor) -> bool:
    """Whether `whole_block` takes these vectors: any on a CPU, where `torch.func` differentiates nothing."""
    if hidden.device.type != "cpu" or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling():
        return False
    if hidden.numel() == 0:
        return False
    if not _in_transform():
        return True
    levels = _functorch.get_interpreter_stack()
    return _functorch.is_batchedtensor(hidden) and [level.key() for level in levels] == [
        _functorch.TransformType.Vmap
    ]


def whole_block(
    hidden: Tensor,
    known: Tensor | None,
    bias: Tensor | None,
    weights: Sequence[Tensor],
    *,
    heads: int,
    read: slice,
) -> Tensor:
    """One block.

    Args:
        hidden: The vectors, `[R, L, d]`.
        known: Queries, keys and values of the last X places, `[R, 3, H, X, D]`, if they need not be computed
            again; then all places are read.
        bias: What is added to the attention scores; broadcasts to `[R, H, Q, L]`.
        weights: Scale and bias of the first LayerNorm, weight and bias of query, key_value and out, scale and
            bias of the second LayerNorm, weight and bias of the MLP's inner and out layer.
        heads: Attention heads.
        read: The places wanted.

    Returns:
        The hidden states at the places `read`, `[R, Q, d]`.
    """
    operation = _Each if _in_transform() else _Block
    return operation.apply(_Passes(heads, read), hidden, known, bias, *weights)


def _in_transform() -> bool:
    return torch._C._are_functorch_transforms_active()  # pyright: ignore[reportPrivateUsage]


class _Passes(Layer):
    """The four passes of a block over `[G, R, L, d]`; see `tam.models.calculus`."""

    shape: torch.Size

    def __init__(self, heads: int, read: slice) -> None:
        self.heads, self.read = heads, read

    def forward(
        self, hidden: Tensor, known: Tensor | None, bias: Tensor | None, weights: Sequence[Tensor]
    ) -> Tensor:
        self.shape = hidden.shape
        p = [weight.detach().reshape(len(hidden), -1, weight.shape[-1]) for weight in weights]
        self.norm, self.out, self.gelu = Norm(*p[:2]), Affine(*p[6:8]), Gelu()
        self.mlp_norm, self.inner, self.outer = Norm(*p[8:10]), Affine(*p[10:12]), Affine(*p[12:])
        asking = range(hidden.shape[2])[self.read]
        if known is None and len(asking) == 1:
            self.mixing = Reading(p[2:6], self.heads, asking[0])
        else:
            self.mixing = Mixing(p[2:6], self.heads, self.read, known)
        fresh = self._fresh(hidden)
        normed = self.norm.forward(fresh.flatten(1, 2)).view(fresh.shape)
        middle = self.out.forward(self.mixing.forward(normed, bias)).add_(self._read(hidden))
        inside = self.gelu.forward(self.inner.forward(self.mlp_norm.forward(middle)))
        return self.outer.forward(inside).add_(middle)

    def back(self, g: Tensor, *, wanted: bool) -> list[Tensor | None]:
        g = g.reshape(len(self.outer.x), -1, self.shape[-1])
        g_inside = self.gelu.back(self.outer.back(g, wanted=wanted))
        g_middle = self.mlp_norm.back(self.inner.back(g_inside, wanted=wanted), wanted=wanted) + g
        g_normed = self.mixing.back(self.out.back(g_middle, wanted=wanted), wanted=wanted)
        return self._found(self.norm.back(g_normed, wanted=wanted), g_middle)

    def turn(self, hidden: Tensor, known: Tensor | None, rates: Sequence[Tensor | None]) -> Tensor:
        r = [None if rate is None else rate.reshape(self.shape[0], -1, rate.shape[-1]) for rate in rates]
        fresh = self._fresh(hidden)
        normed = self.norm.turn(fresh.flatten(1, 2), *r[:2]).view(fresh.shape)
        mixed = self.mixing.turn(normed, r[2:6], known)
        middle = self.out.turn(mixed, *r[6:8]).add_(self._read(hidden))
        inside = self.gelu.turn(self.inner.turn(self.mlp_norm.turn(middle, *r[8:10]), *r[10:12]))
        return self.outer.turn(inside, *r[12:]).add_(middle)

    def turn_back(self, g: Tensor) -> list[Tensor | None]:
        g = g.reshape(len(self.outer.x), -1, self.shape[-1])
        g_inside = self.gelu.turn_back(self.outer.turn_back(g))
        g_middle = self.mlp_norm.turn_back(self.inner.turn_back(g_inside)).add_(g)
        g_normed = self.mixing.turn_back(self.out.turn_back(g_middle))
        return self._found(self.norm.turn_back(g_normed), g_middle)

    def _found(self, g_fresh: Tensor, g_middle: Tensor) -> list[Tensor | None]:
        """What hidden states, known and weights get."""
        if g_fresh.shape == g_middle.shape:
            g_hidden = g_fresh + g_middle
        else:
            g_hidden = g_fresh.new_zeros(self.shape)
            read, fresh = g_hidden[:, :, self.read], self._fresh(g_hidden)
            read.copy_(g_middle.view(read.shape))
            fresh += g_fresh.view(fresh.shape)
        known, *mixing = self.mixing.found
        mlp = *self.mlp_norm.found, *self.inner.found, *self.outer.found
        return [g_hidden, known, *self.norm.found, *mixing, *self.out.found, *mlp]

    def _fresh(self, hidden: Tensor) -> Tensor:
        """The places of which nothing is known."""
        known = self.mixing.known
        return hidden if known is None else hidden[:, :, : hidden.shape[2] - known.shape[-2]]

    def _read(self, hidden: Tensor) -> Tensor:
        """The places that are read, `[G, P, d]`."""
        return hidden.view(self.shape)[:, :, self.read].flatten(1, 2)


class _Block(torch.autograd.Function):
    """A block. Its derivative is an operation of its own, which has a derivative in its turn.

    That one comes in two halves: `turn` on the way to the loss, in `_Gradient`, and `turn_back` here, where
    all that is wanted of this block's output has come together.
    """

    @staticmethod
    def forward(
        ctx: Any,
        passes: _Passes,
        hidden: Tensor,
        known: Tensor | None,
        bias: Tensor | None,
        *weights: Tensor,
    ) -> Tensor:
        grouped = hidden if hidden.dim() == 4 else hidden.unsqueeze(0)
        output = passes.forward(grouped, known, bias, weights)
        output = output.view(*hidden.shape[:-2], -1, hidden.shape[-1])
        ctx.passes, ctx.turned = passes, []
        ctx.shapes = [tensor if tensor is None else tensor.shape for tensor in (hidden, known, *weights)]
        ctx.save_for_backward(output, *passes.unload())
        ctx.set_materialize_grads(False)
        return output

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        (g,) = grad_outputs
        output, *kept = ctx.saved_tensors
        turned: list[_Passes] = [passes for task, passes in ctx.turned if task == _graph_task()]
        ctx.turned.clear()
        wanted = of_weights() and any(ctx.needs_input_grad[2:])
        if turned:
            _check_order()
            found = _turn_back(turned, g, ctx.shapes)
        elif g is None:
            found = (None,) * len(ctx.shapes)
        elif torch.is_grad_enabled():
            passes = ctx.passes.loaded(iter(kept))
            found = _Gradient.apply(passes, ctx.turned, ctx.shapes, wanted, g, output)
        else:
            found = _shaped(ctx.passes.loaded(iter(kept)).back(g, wanted=wanted), ctx.shapes)
        return None, *found[:2], None, *found[2:]


class _Gradient(torch.autograd.Function):
    """The gradient of a block at its input and of its weights."""

    @staticmethod
    def forward(
        ctx: Any,
        passes: _Passes,
        turned: list[tuple[int, _Passes]],
        shapes: list[torch.Size | None],
        wanted: bool,
        g: Tensor,
        output: Tensor,  # not looked at, but for it `_Block.backward` comes after `backward`
    ) -> tuple[Tensor | None, ...]:
        ctx.passes, ctx.turned, ctx.shapes = passes, turned, shapes
        ctx.set_materialize_grads(False)
        found = _shaped(passes.back(g, wanted=wanted), shapes)
        ctx.save_for_backward(*passes.unload())
        return found

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        _check_order()
        hidden, known, *rates = grad_outputs
        passes: _Passes = ctx.passes.loaded(iter(ctx.saved_tensors))
        hidden = passes.norm.x.new_zeros(passes.shape) if hidden is None else hidden.view(passes.shape)
        out = passes.turn(hidden, known, rates)
        ctx.turned.append((_graph_task(), passes))
        return None, None, None, None, out.view(*ctx.shapes[0][:-2], -1, out.shape[-1]), None


class _Each(torch.autograd.Function):
    """A block under `vmap`, which becomes one with a group for each task."""

    @staticmethod
    def forward(passes: _Passes, *tensors: Tensor | None) -> Tensor:
        raise AssertionError("only `vmap` comes here, and finds its rule")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        passes, *tensors = args

        def grouped(tensor: Tensor, dim: int | None) -> Tensor:
            if dim is None:
                return tensor.expand(info.batch_size, *tensor.shape)
            return tensor.movedim(dim, 0) if dim else tensor

        hidden, known, bias, *weights = (
            None if tensor is None else grouped(tensor, dim)
            for tensor, dim in zip(tensors, in_dims[1:], strict=True)
        )
        if bias is not None:
            assert hidden is not None
            bias = bias.expand(-1, hidden.shape[1], -1, -1, -1).flatten(0, 1)
        return _Block.apply(passes, hidden, known, bias, *weights), 0


def _turn_back(
    turned: Sequence[_Passes], g: Tensor | None, shapes: Sequence[torch.Size | None]
) -> tuple[Tensor | None, ...]:
    """What comes of the gradient's own derivatives, each already half on its way, and of g."""
    total: list[Tensor | None] = [None] * len(shapes)
    for passes in turned:
        found = passes.turn_back(torch.zeros_like(passes.outer.g) if g is None else g)
        total = [b if a is None else a if b is None else a + b for a, b in zip(total, found, strict=True)]
        g = None
    return _shaped(total, shapes)


def _shaped(found: Sequence[Tensor | None], shapes: Sequence[torch.Size | None]) -> tuple[Tensor | None, ...]:
    return tuple(
        None if one is None or shape is None else one.view(shape)
        for one, shape in zip(found, shapes, strict=True)
    )


def _check_order() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError("a block has two derivatives, and no third")


def _graph_task() -> int:
    """The number of the backward pass that is under way."""
    return torch._C._current_graph_task_id()  # pyright: ignore[reportPrivateUsage]
