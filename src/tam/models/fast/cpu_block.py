"""A transformer's block as one operation for autograd, for CPUs; see `tam.models.fast.cpu_layers`.

Torch's derivatives of a block are exact too, but take several times as many passes over memory, which is what
counts on a CPU. Here are two derivatives and no third. Under `vmap` the weights may be each task's own.

Shapes: G groups (tasks with weights of their own; 1 if they are shared), R rows of each, L places, Q of them
read, X known before, d width.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tam.models.fast.cpu_attention import Mixing, Reading
from tam.models.fast.cpu_layers import Affine, Ask, Gelu, Layer, Norm

_functorch = torch._C._functorch  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
_torch: Any = torch._C  # pyright: ignore[reportPrivateUsage]
_WEIGHTS = 14  # tensors of a block
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
    if not in_transform():
        return True
    levels = _functorch.get_interpreter_stack()
    return _functorch.is_batchedtensor(hidden) and [level.key() for level in levels] == [
        _functorch.TransformType.Vmap
    ]


def whole_block(
    hidden: Tensor,
    known: Sequence[Tensor],
    bias: Tensor | None,
    weights: Sequence[Tensor],
    *,
    heads: int,
    read: slice,
) -> Tensor:
    """One block.

    Args:
        hidden: The vectors, `[R, L, d]`.
        known: Of places after these the vectors, `[R, X, d]`, and the queries, keys and values,
            `[R, H, X, D]` each, if they need not be computed again; then all places are read.
        bias: What is added to the attention scores; broadcasts to `[R, H, Q, L + X]`.
        weights: Scale and bias of the first LayerNorm, weight and bias of query, key_value and out, scale and
            bias of the second LayerNorm, weight and bias of the MLP's inner and out layer.
        heads: Attention heads.
        read: The places wanted.

    Returns:
        The hidden states at the places `read`, `[R, Q, d]`; those known come last.
    """
    operation = _Each if in_transform() else _Block
    return operation.apply(_Passes(heads, read), hidden, bias, *known, *weights)


def in_transform() -> bool:
    """Whether this runs under `vmap` or another transform of `torch.func`."""
    return torch._C._are_functorch_transforms_active()  # pyright: ignore[reportPrivateUsage]


class _Passes(Layer):
    """The four passes of a block over `[G, R, L, d]`; see `tam.models.fast.cpu_layers`."""

    shape: torch.Size

    def __init__(self, heads: int, read: slice) -> None:
        self.heads, self.read = heads, read

    def forward(
        self, hidden: Tensor, bias: Tensor | None, known: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> Tensor:
        self.shape = hidden.shape
        groups = hidden.shape[0]
        p = [weight.detach().reshape(groups, -1, weight.shape[-1]) for weight in weights]
        self.norm, self.out, self.gelu = Norm(*p[:2]), Affine(*p[6:8]), Gelu()
        self.mlp_norm, self.inner, self.outer = Norm(*p[8:10]), Affine(*p[10:12]), Affine(*p[12:])
        asking = range(hidden.shape[2])[self.read]
        normed = self.norm.forward(hidden.flatten(1, 2)).view(hidden.shape)
        if len(asking) == 1 and not known:
            self.mixing = Reading(p[2:6], self.heads, asking[0])
            mixed = self.mixing.forward(normed, bias)
        else:
            self.mixing = Mixing(p[2:6], self.heads, self.read)
            mixed = self.mixing.forward(normed, bias, known[1:])
        middle = self.out.forward(mixed).add_(self._read(hidden, known))
        inside = self.gelu.forward(self.inner.forward(self.mlp_norm.forward(middle)))
        return self.outer.forward(inside).add_(middle)

    def back(self, g: Tensor, ask: Ask) -> list[Tensor | None]:
        g = g.reshape(self.shape[0], -1, self.shape[-1])
        g_inside = self.gelu.back(self.outer.back(g, ask), ask)
        g_middle = self.mlp_norm.back(self.inner.back(g_inside, ask), ask) + g
        g_normed = self.mixing.back(self.out.back(g_middle, ask), ask)
        return self._found(self.norm.back(g_normed, ask), g_middle)

    def turn(self, hidden: Tensor, known: Sequence[Tensor], rates: Sequence[Tensor | None]) -> Tensor:
        r = [None if rate is None else rate.reshape(self.shape[0], -1, rate.shape[-1]) for rate in rates]
        normed = self.norm.turn(hidden.flatten(1, 2), *r[:2]).view(hidden.shape)
        if isinstance(self.mixing, Reading):
            mixed = self.mixing.turn(normed, r[2:6])
        else:
            mixed = self.mixing.turn(normed, r[2:6], known[1:])
        middle = self.out.turn(mixed, *r[6:8]).add_(self._read(hidden, known))
        inside = self.gelu.turn(self.inner.turn(self.mlp_norm.turn(middle, *r[8:10]), *r[10:12]))
        return self.outer.turn(inside, *r[12:]).add_(middle)

    def turn_back(self, g: Tensor) -> list[Tensor | None]:
        g = g.reshape(self.shape[0], -1, self.shape[-1])
        g_inside = self.gelu.turn_back(self.outer.turn_back(g))
        g_middle = self.mlp_norm.turn_back(self.inner.turn_back(g_inside)).add_(g)
        g_normed = self.mixing.turn_back(self.out.turn_back(g_middle))
        return self._found(self.norm.turn_back(g_normed), g_middle)

    def _found(self, g_hidden: Tensor, g_middle: Tensor) -> list[Tensor | None]:
        """What hidden states, known and weights get."""
        known, mixing = self.mixing.found[:-4], self.mixing.found[-4:]
        g_hidden, g_middle = g_hidden.view(self.shape), g_middle.view(*self.shape[:2], -1, self.shape[3])
        if known:
            g_hidden = g_hidden + g_middle[:, :, : self.shape[2]]
            known = [None if known[0] is None else g_middle[:, :, self.shape[2] :], *known]
        elif g_hidden.shape == g_middle.shape:
            g_hidden = g_hidden + g_middle
        else:
            g_hidden = g_hidden.clone()
            g_hidden[:, :, self.read] += g_middle
        mlp = *self.mlp_norm.found, *self.inner.found, *self.outer.found
        return [g_hidden, *known, *self.norm.found, *mixing, *self.out.found, *mlp]

    def _read(self, hidden: Tensor, known: Sequence[Tensor]) -> Tensor:
        """The vectors at the places that are read, `[G, P, d]`."""
        hidden = hidden.view(self.shape)
        if known:
            hidden = torch.cat([hidden, known[0].reshape(*self.shape[:2], -1, self.shape[3])], dim=2)
            return hidden.flatten(1, 2)
        return hidden[:, :, self.read].flatten(1, 2)


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
        bias: Tensor | None,
        *tensors: Tensor,
    ) -> Tensor:
        known, weights = tensors[:-_WEIGHTS], tensors[-_WEIGHTS:]
        grouped = hidden if hidden.dim() == 4 else hidden.unsqueeze(0)
        output = passes.forward(grouped, bias, known, weights)
        output = output.view(*hidden.shape[:-2], -1, hidden.shape[-1])
        ctx.passes, ctx.turned = passes, []
        ctx.shapes = [tensor.shape for tensor in (hidden, *tensors)]
        ctx.save_for_backward(output, *passes.unload())
        ctx.set_materialize_grads(False)
        return output

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        (g,) = grad_outputs
        output, *kept = ctx.saved_tensors
        turned: list[_Passes] = [passes for task, passes in ctx.turned if task == _graph_task()]
        ctx.turned.clear()
        wanted = of_weights() and any(ctx.needs_input_grad[3:])
        if turned:
            _check_order()
            found = _turn_back(turned, g, ctx.shapes)
        elif g is None:
            found = (None,) * len(ctx.shapes)
        elif torch.is_grad_enabled():
            passes = ctx.passes.loaded(iter(kept))
            found = _Gradient.apply(passes, ctx.turned, ctx.shapes, Ask(wanted, twice=True), g, output)
        else:
            found = _shaped(ctx.passes.loaded(iter(kept)).back(g, Ask(wanted, twice=False)), ctx.shapes)
        return None, found[0], None, *found[1:]


class _Gradient(torch.autograd.Function):
    """The gradient of a block at its input and of its weights."""

    @staticmethod
    def forward(
        ctx: Any,
        passes: _Passes,
        turned: list[tuple[int, _Passes]],
        shapes: list[torch.Size],
        ask: Ask,
        g: Tensor,
        output: Tensor,  # not looked at, but for it `_Block.backward` comes after `backward`
    ) -> tuple[Tensor | None, ...]:
        ctx.passes, ctx.turned, ctx.shapes = passes, turned, shapes
        ctx.set_materialize_grads(False)
        found = _shaped(passes.back(g, ask), shapes)
        ctx.save_for_backward(*passes.unload())
        return found

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        _check_order()
        passes: _Passes = ctx.passes.loaded(iter(ctx.saved_tensors))
        hidden, *known = (
            passes.norm.x.new_zeros(shape) if rate is None else rate
            for rate, shape in zip(grad_outputs[:-_WEIGHTS], ctx.shapes[:-_WEIGHTS], strict=True)
        )
        out = passes.turn(hidden.view(passes.shape), known, grad_outputs[-_WEIGHTS:])
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

        hidden, bias, *others = (
            None if tensor is None else grouped(tensor, dim)
            for tensor, dim in zip(tensors, in_dims[1:], strict=True)
        )
        if bias is not None:
            assert hidden is not None
            bias = bias.expand(-1, hidden.shape[1], -1, -1, -1).flatten(0, 1)
        return _Block.apply(passes, hidden, bias, *others), 0


def _turn_back(
    turned: Sequence[_Passes], g: Tensor | None, shapes: Sequence[torch.Size]
) -> tuple[Tensor | None, ...]:
    """What comes of the gradient's own derivatives, each already half on its way, and of g."""
    total: list[Tensor | None] = [None] * len(shapes)
    for passes in turned:
        found = passes.turn_back(torch.zeros_like(passes.outer.g) if g is None else g)
        total = [b if a is None else a if b is None else a + b for a, b in zip(total, found, strict=True)]
        g = None
    return _shaped(total, shapes)


def _shaped(found: Sequence[Tensor | None], shapes: Sequence[torch.Size]) -> tuple[Tensor | None, ...]:
    return tuple(None if one is None else one.view(shape) for one, shape in zip(found, shapes, strict=True))


def _check_order() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError("a block has two derivatives, and no third")


def _graph_task() -> int:
    """The number of the backward pass that is under way."""
    return torch._C._current_graph_task_id()  # pyright: ignore[reportPrivateUsage]
