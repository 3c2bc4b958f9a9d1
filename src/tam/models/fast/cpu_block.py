"""A transformer block as one autograd operation, for CPUs; see `tam.models.fast.cpu_layers`.

Torch's own derivatives of a block are just as exact, but take several times as many passes over memory, which
is what counts on a CPU. There is no third derivative. Under `vmap` each task may have its own weights.

Shapes: G groups (tasks with their own weights; 1 if they are shared), R rows of each, L places, Q of them
read, X cached places, d width.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from tam.models.conditioning import Modulation
from tam.models.fast import context
from tam.models.fast.cpu_attention import Mixing, SinglePlace
from tam.models.fast.cpu_layers import Affine, Gelu, Layer, Needs, Norm
from tam.models.fast.weights import PER_BLOCK, BlockWeights
from tam.models.rotary import Rotation

if TYPE_CHECKING:
    from tam.models.transformer import Block, Transformer


def takes(hidden: Tensor) -> bool:
    """Whether this engine supports these vectors: any on a CPU, unless `torch.func` differentiates them."""
    if hidden.device.type != "cpu" or torch.is_autocast_enabled("cpu") or torch.compiler.is_compiling():
        return False
    return hidden.numel() > 0 and (not context.in_transform() or context.only_vmap_batches(hidden))


def first_block(network: "Transformer", hidden: Tensor, positions: Tensor | None = None) -> list[Tensor]:
    """The vectors `[R, X, d]`, and their queries, keys and values in the first block, `[R, H, X, D]` each."""
    first, rotation = cast("Block", network.blocks[0]), network.rotation(positions, hidden)
    normed = first.attention_norm(hidden)
    qkv = first.attention.queries(normed, rotation), *first.attention.keys_values(normed, rotation)
    return [hidden, *(part.contiguous() for part in qkv)]


def run(
    block: "Block",
    hidden: Tensor,
    bias: Tensor | None,
    _offsets: Modulation,
    read: slice,
    x_cache: Sequence[Tensor] = (),
    rotation: Rotation | None = None,
) -> Tensor:
    """Compute a block, as `Block.forward` does without offsets.

    `x_cache` may also be the result of `first_block` for places after these. All places are then read, and
    the cached ones come last.
    """
    operation = _Each if context.in_transform() else _Block
    passes = _Passes(block.attention.heads, read, rotation)
    return operation.apply(passes, hidden, bias, *x_cache, *block.parameters())


class _Passes(Layer):
    """The four passes of a block over `[G, R, L, d]`; see `tam.models.fast.cpu_layers`."""

    def __init__(self, heads: int, read: slice, rotation: Rotation | None) -> None:
        self.heads, self.read, self.rotation = heads, read, rotation

    def forward(
        self, hidden: Tensor, bias: Tensor | None, x_cache: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> Tensor:
        self.shape, groups = hidden.shape, hidden.shape[0]
        w = BlockWeights.from_flat([one.detach().reshape(groups, -1, one.shape[-1]) for one in weights])
        self.norm, self.out, self.gelu = Norm(*w.attention_norm), Affine(*w.attention_out), Gelu()
        self.mlp_norm, self.inner, self.outer = Norm(*w.mlp_norm), Affine(*w.mlp_inner), Affine(*w.mlp_out)
        places = range(hidden.shape[2])[self.read]
        if len(places) == 1 and not x_cache and self.rotation is None:
            self.mixing = SinglePlace(w, self.heads, places[0])
        else:
            self.mixing = Mixing(w, self.heads, self.read, self.rotation)
        vectors, cached = _split_cache(x_cache)
        normed = self.norm.forward(hidden.flatten(1, 2)).view(hidden.shape)
        mixed = self.mixing.forward(normed, bias, cached)
        middle = self.out.forward(mixed).add_(self._read(hidden, vectors))
        inside = self.gelu.forward(self.inner.forward(self.mlp_norm.forward(middle)))
        return self.outer.forward(inside).add_(middle)

    def backward(self, g: Tensor, needs: Needs) -> list[Tensor | None]:
        g = g.reshape(self.shape[0], -1, self.shape[-1])
        g_inside = self.gelu.backward(self.outer.backward(g, needs), needs)
        g_middle = self.mlp_norm.backward(self.inner.backward(g_inside, needs), needs) + g
        g_normed = self.mixing.backward(self.out.backward(g_middle, needs), needs)
        return self._gradients(self.norm.backward(g_normed, needs), g_middle)

    def jvp(self, hidden: Tensor, x_cache: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> Tensor:
        groups = self.shape[0]
        t = BlockWeights.from_flat(
            [None if one is None else one.reshape(groups, -1, one.shape[-1]) for one in tangents]
        )
        vectors, cached = _split_cache(x_cache)
        normed = self.norm.jvp(hidden.flatten(1, 2), *t.attention_norm).view(hidden.shape)
        mixed = self.mixing.jvp(normed, t, cached)
        middle = self.out.jvp(mixed, *t.attention_out).add_(self._read(hidden, vectors))
        inside = self.gelu.jvp(self.inner.jvp(self.mlp_norm.jvp(middle, *t.mlp_norm), *t.mlp_inner))
        return self.outer.jvp(inside, *t.mlp_out).add_(middle)

    def jvp_backward(self, g: Tensor) -> list[Tensor | None]:
        g = g.reshape(self.shape[0], -1, self.shape[-1])
        g_inside = self.gelu.jvp_backward(self.outer.jvp_backward(g))
        g_middle = self.mlp_norm.jvp_backward(self.inner.jvp_backward(g_inside)).add_(g)
        g_normed = self.mixing.jvp_backward(self.out.jvp_backward(g_middle))
        return self._gradients(self.norm.jvp_backward(g_normed), g_middle)

    def _gradients(self, g_hidden: Tensor, g_middle: Tensor) -> list[Tensor | None]:
        """The gradients of the hidden states, cached x and weights."""
        places, of_cache = self.shape[2], self.mixing.cache_grads
        g_hidden, g_middle = g_hidden.view(self.shape), g_middle.view(*self.shape[:2], -1, self.shape[3])
        if len(of_cache) == 3:
            g_hidden = g_hidden + g_middle[:, :, :places]
            of_cache = [None if of_cache[0] is None else g_middle[:, :, places:], *of_cache]
        elif g_hidden.shape == g_middle.shape:
            g_hidden = g_hidden + g_middle
        else:
            g_hidden = g_hidden.clone()
            g_hidden[:, :, self.read] += g_middle
        of_weights = BlockWeights(
            attention_norm=self.norm.weight_grads,
            query=self.mixing.query.weight_grads,
            key_value=self.mixing.key_value_grads,
            attention_out=self.out.weight_grads,
            mlp_norm=self.mlp_norm.weight_grads,
            mlp_inner=self.inner.weight_grads,
            mlp_out=self.outer.weight_grads,
        )
        return [g_hidden, *of_cache, *of_weights.flat]

    def _read(self, hidden: Tensor, cached: Tensor | None) -> Tensor:
        """The vectors at the places `read`, `[G, P, d]`."""
        hidden = hidden.view(self.shape)
        if cached is None:
            return hidden[:, :, self.read].flatten(1, 2)
        return torch.cat([hidden, cached.reshape(*self.shape[:2], -1, self.shape[3])], dim=2).flatten(1, 2)


def _split_cache(x_cache: Sequence[Tensor]) -> tuple[Tensor | None, Sequence[Tensor]]:
    """Split into cached vectors, if any, and cached queries, keys and values."""
    return (x_cache[0], x_cache[1:]) if len(x_cache) == 4 else (None, x_cache)


class _Block(torch.autograd.Function):
    """A block. Its derivative is a separate operation, `_Gradient`, which is itself differentiable.

    The second derivative is computed in two halves: `jvp` in `_Gradient.backward`, and `jvp_backward` here,
    once all gradients at this block's output have been summed.
    """

    @staticmethod
    def forward(ctx: Any, passes: _Passes, hidden: Tensor, bias: Tensor | None, *tensors: Tensor) -> Tensor:
        x_cache, weights = tensors[:-PER_BLOCK], tensors[-PER_BLOCK:]
        grouped = hidden if hidden.dim() == 4 else hidden.unsqueeze(0)
        output = passes.forward(grouped, bias, x_cache, weights)
        output = output.view(*hidden.shape[:-2], -1, hidden.shape[-1])
        ctx.passes, ctx.half_way = passes, []
        ctx.shapes = [tensor.shape for tensor in (hidden, *tensors)]
        ctx.save_for_backward(output, *passes.unload())
        ctx.set_materialize_grads(False)
        return output

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor | None, ...]:
        (g,) = grad_outputs
        output, *kept = ctx.saved_tensors
        half_way = [passes for number, passes in ctx.half_way if number == context.backward_pass()]
        ctx.half_way.clear()
        wanted = context.wants_weight_gradients() and any(ctx.needs_input_grad[3:])
        if half_way:
            _check_order()
            grads = _jvp_backward(half_way, g, ctx.shapes)
        elif g is None:
            grads = (None,) * len(ctx.shapes)
        elif torch.is_grad_enabled():
            passes = ctx.passes.loaded(iter(kept))
            grads = _Gradient.apply(passes, ctx.half_way, ctx.shapes, Needs(wanted, twice=True), g, output)
        else:
            grads = _shaped(ctx.passes.loaded(iter(kept)).backward(g, Needs(wanted, twice=False)), ctx.shapes)
        return None, grads[0], None, *grads[1:]


class _Gradient(torch.autograd.Function):
    """The gradients of a block with respect to its input and its weights."""

    @staticmethod
    def forward(
        ctx: Any,
        passes: _Passes,
        half_way: list[tuple[int, _Passes]],
        shapes: list[torch.Size],
        needs: Needs,
        g: Tensor,
        output: Tensor,  # not used, but makes autograd run `_Block.backward` after `backward`
    ) -> tuple[Tensor | None, ...]:
        ctx.passes, ctx.half_way, ctx.shapes = passes, half_way, shapes
        ctx.set_materialize_grads(False)
        grads = _shaped(passes.backward(g, needs), shapes)
        ctx.save_for_backward(*passes.unload())
        return grads

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Any, ...]:
        _check_order()
        passes: _Passes = ctx.passes.loaded(iter(ctx.saved_tensors))
        hidden, *x_cache = (
            passes.norm.x.new_zeros(shape) if tangent is None else tangent
            for tangent, shape in zip(grad_outputs[:-PER_BLOCK], ctx.shapes[:-PER_BLOCK], strict=True)
        )
        out = passes.jvp(hidden.view(passes.shape), x_cache, grad_outputs[-PER_BLOCK:])
        ctx.half_way.append((context.backward_pass(), passes))
        return None, None, None, None, out.view(*ctx.shapes[0][:-2], -1, out.shape[-1]), None


class _Each(torch.autograd.Function):
    """A block under `vmap`, which becomes a `_Block` with one group per task."""

    @staticmethod
    def forward(passes: _Passes, *tensors: Tensor | None) -> Tensor:
        raise AssertionError("must be called under `vmap`")

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


def _jvp_backward(
    half_way: Sequence[_Passes], g: Tensor | None, shapes: Sequence[torch.Size]
) -> tuple[Tensor | None, ...]:
    """Back-propagate the gradients of the block's own gradients, whose `jvp` is done, together with g."""
    total: list[Tensor | None] = [None] * len(shapes)
    for passes in half_way:
        grads = passes.jvp_backward(torch.zeros_like(passes.outer.g) if g is None else g)
        total = [b if a is None else a if b is None else a + b for a, b in zip(total, grads, strict=True)]
        g = None
    return _shaped(total, shapes)


def _shaped(grads: Sequence[Tensor | None], shapes: Sequence[torch.Size]) -> tuple[Tensor | None, ...]:
    return tuple(None if one is None else one.view(shape) for one, shape in zip(grads, shapes, strict=True))


def _check_order() -> None:
    if torch.is_grad_enabled():
        raise RuntimeError("a transformer block has two derivatives, but no third")
