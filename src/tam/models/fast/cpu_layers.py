"""The layers of a block with both derivatives written out.

A layer has up to four passes, each of which keeps what later ones need:

- `forward`: from the input to the output;
- `backward`: from the gradient at the output to the gradient at the input;
- `jvp`: from the tangents of the input and the weights to the tangent of the output;
- `jvp_backward`: from the tangent of the gradient at the output to the tangent of the gradient at the input.

Tangents are derivatives along one direction in all inputs and weights, so the last two passes compute a
Hessian-vector product, which is what the gradient of a gradient needs. A weight's tangent of None is zero.
`backward` and `jvp_backward` store the gradients of the weights in `weight_grads`.

Shapes: G groups with their own weights, P places of each, d width.
"""

# ruff: noqa: D102  the module docstring describes the four passes

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import torch
from torch import Tensor

_aten = torch.ops.aten
_EPSILON = 1e-5
_DENSITY = (2 * math.pi) ** -0.5  # of the normal distribution, at zero
_TAKEN = object()


class Needs(NamedTuple):
    """Whether `backward` must compute weight gradients, and whether `jvp` and `jvp_backward` follow."""

    weights: bool
    twice: bool


class Layer:
    """A layer with the four passes."""

    def unload(self) -> list[Tensor]:
        """Remove and return all tensors, for autograd to keep; gradients are dropped."""
        values = self.__dict__
        for name in ("weight_grads", "cache_grads"):
            values.pop(name, None)
        taken: list[Tensor] = []
        for name, value in values.items():
            if isinstance(value, Tensor):
                taken.append(value)
                values[name] = _TAKEN
            elif isinstance(value, Layer):
                taken += value.unload()
        return taken

    def loaded(self, tensors: Iterator[Tensor]) -> Self:
        """A copy with the tensors that `unload` returned."""
        new = object.__new__(type(self))
        new.__dict__ = values = self.__dict__.copy()
        for name, value in values.items():
            if value is _TAKEN:
                values[name] = next(tensors)
            elif isinstance(value, Layer):
                values[name] = value.loaded(tensors)
        return new


def _affine(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return torch.bmm(x, weight.mT) if bias is None else torch.baddbmm(bias, x, weight.mT)


class Affine(Layer):
    """x ↦ x Wᵀ + b on `[G, P, inputs]`."""

    weight_grads: tuple[Tensor | None, Tensor | None]

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight, bias

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return _affine(x, self.weight, self.bias)

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        if needs.twice:
            self.g = g
        if needs.weights:
            self.weight_grads = torch.bmm(g.mT, self.x), g.sum(1, keepdim=True)
        else:
            self.weight_grads = None, None
        return torch.bmm(g, self.weight)

    def jvp(self, x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
        self.x_tangent, self.weight_tangent = x, weight
        first = _affine(x, self.weight, bias)
        return first if weight is None else first.baddbmm_(self.x, weight.mT)

    def jvp_backward(self, g: Tensor) -> Tensor:
        weight = torch.bmm(g.mT, self.x).baddbmm_(self.g.mT, self.x_tangent)
        self.weight_grads = weight, g.sum(1, keepdim=True)
        g_x = torch.bmm(g, self.weight)
        return g_x if self.weight_tangent is None else g_x.baddbmm_(self.g, self.weight_tangent)


class Norm(Layer):
    """LayerNorm on `[G, P, d]`."""

    weight_grads: tuple[Tensor | None, Tensor | None]

    def __init__(self, scale: Tensor, shift: Tensor) -> None:
        self.scale, self.shift = scale, shift

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        if self.scale.shape[0] == 1:
            return self._normed(self.scale.flatten(), self.shift.flatten())
        one, zero = x.new_ones(x.shape[-1]), x.new_zeros(x.shape[-1])  # without them torch is slower
        self.hat = self._normed(one, zero)
        return torch.addcmul(self.shift, self.hat, self.scale)

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        self.weight_grads = None, None
        if self.scale.shape[0] == 1:
            g_x, scale, shift = self._backward(g, self.scale.flatten(), wanted=needs.weights)
            if needs.weights:
                self.weight_grads = scale.view(self.scale.shape), shift.view(self.scale.shape)
        else:
            if needs.weights:
                self.weight_grads = (g * self.hat).sum(1, keepdim=True), g.sum(1, keepdim=True)
            g_x = self._centred(g * self.scale)
        if needs.twice:
            self.g, self.g_x = g, g_x
        return g_x

    def jvp(self, x: Tensor, scale: Tensor | None, shift: Tensor | None) -> Tensor:
        self.x_tangent, self.scale_tangent = x, scale
        if self.scale.shape[0] == 1:
            self.hat = (self.x - self.mean).mul_(self.inverse)
        self.hat_tangent = self._centred(x)
        y = (
            self.hat_tangent * self.scale
            if shift is None
            else torch.addcmul(shift, self.hat_tangent, self.scale)
        )
        return y if scale is None else y.addcmul_(self.hat, scale)

    def jvp_backward(self, g: Tensor) -> Tensor:
        scale = (g * self.hat).addcmul_(self.g, self.hat_tangent)
        self.weight_grads = scale.sum(1, keepdim=True), g.sum(1, keepdim=True)
        g_hat, g_hat_tangent = self.g * self.scale, g * self.scale
        if self.scale_tangent is not None:
            g_hat_tangent.addcmul_(self.g, self.scale_tangent)
        change = self.g_x * _mean_product(self.x_tangent, self.hat)
        change.addcmul_(self.hat_tangent, _mean_product(g_hat, self.hat))
        change.addcmul_(self.hat, _mean_product(g_hat, self.hat_tangent))
        return self._centred(g_hat_tangent).addcmul_(change, self.inverse, value=-1)

    def _normed(self, scale: Tensor, shift: Tensor) -> Tensor:
        y, self.mean, self.inverse = torch.native_layer_norm(self.x, scale.shape, scale, shift, _EPSILON)
        return y

    def _centred(self, change: Tensor) -> Tensor:
        """Multiply by the derivative of `hat` with respect to x, a symmetric matrix for each place."""
        return self._backward(change, None, wanted=False)[0]

    def _backward(self, g: Tensor, scale: Tensor | None, *, wanted: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Torch's derivative of a LayerNorm with a shared scale."""
        moments = self.mean, self.inverse
        mask = [True, wanted, wanted]
        return _aten.native_layer_norm_backward(g, self.x, self.x.shape[-1:], *moments, scale, scale, mask)


def _mean_product(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).mean(-1, keepdim=True)


class Gelu(Layer):
    """x ↦ x Φ(x), where Φ is the distribution function of the standard normal distribution."""

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return torch.nn.functional.gelu(x)

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        """May overwrite g, which is not used elsewhere."""
        if not needs.twice:
            return _aten.gelu_backward.grad_input(g, self.x, grad_input=g)
        self.g = g
        return _aten.gelu_backward(g, self.x)

    def jvp(self, x: Tensor) -> Tensor:
        self.x_tangent = x
        self.slope = _aten.gelu_backward(torch.ones_like(x), self.x)
        return x * self.slope

    def jvp_backward(self, g: Tensor) -> Tensor:
        square = self.x.square()
        density = (square * -0.5).exp_()
        curved = density.mul_(square.sub_(2)).mul_(self.x_tangent)  # the second derivative is φ(x) (2 − x²)
        return (g * self.slope).addcmul_(curved, self.g, value=-_DENSITY)
