"""The layers of a block with their derivatives written out, the second too.

A layer goes through up to four passes, and keeps what the later ones need:

- `forward`: what it makes of its input;
- `back`: from the gradient at its output, that at its input;
- `turn`: from the rate at which the input and the weights change, that of its output;
- `turn_back`: from the rate at which the gradient at its output changes, that at its input.

The rates are those in one direction of all inputs and weights, so the last two passes multiply the matrix of
second derivatives with that direction, which is all that a gradient of a gradient asks for. A weight's rate
of None is zero. In `back` and `turn_back` a layer leaves what its weights get in `found`.

Shapes: G groups with weights of their own, P places of each, d width.
"""

# ruff: noqa: D102  what the four passes are is said above

import math
from collections.abc import Iterator
from typing import NamedTuple, Self

import torch
from torch import Tensor

_aten = torch.ops.aten
_EPSILON = 1e-5
_DENSITY = (2 * math.pi) ** -0.5  # of the normal distribution, at zero


_TAKEN = object()


class Ask(NamedTuple):
    """What is asked of `back`: whether weights get gradients, and whether two more passes follow."""

    weights: bool
    twice: bool


class Layer:
    """Something with the four passes."""

    def unload(self) -> list[Tensor]:
        """Take out all tensors that are kept, for autograd to keep them; what was found is dropped."""
        values = self.__dict__
        values.pop("found", None)
        taken: list[Tensor] = []
        for name, value in values.items():
            if isinstance(value, Tensor):
                taken.append(value)
                values[name] = _TAKEN
            elif isinstance(value, Layer):
                taken += value.unload()
        return taken

    def loaded(self, tensors: Iterator[Tensor]) -> Self:
        """A copy with these tensors, which `unload` gave, in their places."""
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
    """x ↦ x Wᵀ + b, of `[G, P, inputs]`."""

    x_rate: Tensor
    weight_rate: Tensor | None
    x: Tensor
    g: Tensor
    found: tuple[Tensor | None, Tensor | None]

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight, bias

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return _affine(x, self.weight, self.bias)

    def back(self, g: Tensor, ask: Ask) -> Tensor:
        if ask.twice:
            self.g = g
        if ask.weights:
            self.found = torch.bmm(g.mT, self.x), g.sum(1, keepdim=True)
        else:
            self.found = None, None
        return torch.bmm(g, self.weight)

    def turn(self, x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
        self.x_rate, self.weight_rate = x, weight
        first = _affine(x, self.weight, bias)
        return first if weight is None else first.baddbmm_(self.x, weight.mT)

    def turn_back(self, g: Tensor) -> Tensor:
        weight = torch.bmm(g.mT, self.x).baddbmm_(self.g.mT, self.x_rate)
        self.found = weight, g.sum(1, keepdim=True)
        g_x = torch.bmm(g, self.weight)
        return g_x if self.weight_rate is None else g_x.baddbmm_(self.g, self.weight_rate)


class Norm(Layer):
    """LayerNorm, of `[G, P, d]`."""

    x: Tensor
    hat: Tensor
    mean: Tensor
    inverse: Tensor
    g: Tensor
    g_x: Tensor
    x_rate: Tensor
    hat_rate: Tensor
    scale_rate: Tensor | None
    found: tuple[Tensor | None, Tensor | None]

    def __init__(self, scale: Tensor, shift: Tensor) -> None:
        self.scale, self.shift = scale, shift

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        if self.scale.shape[0] == 1:
            return self._normed(self.scale.flatten(), self.shift.flatten())
        one, zero = x.new_ones(x.shape[-1]), x.new_zeros(x.shape[-1])  # without them torch is slower
        self.hat = self._normed(one, zero)
        return torch.addcmul(self.shift, self.hat, self.scale)

    def back(self, g: Tensor, ask: Ask) -> Tensor:
        self.found = None, None
        if self.scale.shape[0] == 1:
            g_x, scale, shift = self._backward(g, self.scale.flatten(), wanted=ask.weights)
            if ask.weights:
                self.found = scale.view(self.scale.shape), shift.view(self.scale.shape)
        else:
            if ask.weights:
                self.found = (g * self.hat).sum(1, keepdim=True), g.sum(1, keepdim=True)
            g_x = self._centred(g * self.scale)
        if ask.twice:
            self.g, self.g_x = g, g_x
        return g_x

    def turn(self, x: Tensor, scale: Tensor | None, shift: Tensor | None) -> Tensor:
        self.x_rate, self.scale_rate = x, scale
        if self.scale.shape[0] == 1:
            self.hat = (self.x - self.mean).mul_(self.inverse)
        self.hat_rate = self._centred(x)
        y = self.hat_rate * self.scale if shift is None else torch.addcmul(shift, self.hat_rate, self.scale)
        return y if scale is None else y.addcmul_(self.hat, scale)

    def turn_back(self, g: Tensor) -> Tensor:
        scale = (g * self.hat).addcmul_(self.g, self.hat_rate)
        self.found = scale.sum(1, keepdim=True), g.sum(1, keepdim=True)
        g_hat, g_hat_rate = self.g * self.scale, g * self.scale
        if self.scale_rate is not None:
            g_hat_rate.addcmul_(self.g, self.scale_rate)
        change = self.g_x * _mean_product(self.x_rate, self.hat)
        change.addcmul_(self.hat_rate, _mean_product(g_hat, self.hat))
        change.addcmul_(self.hat, _mean_product(g_hat, self.hat_rate))
        return self._centred(g_hat_rate).addcmul_(change, self.inverse, value=-1)

    def _normed(self, scale: Tensor, shift: Tensor) -> Tensor:
        y, self.mean, self.inverse = torch.native_layer_norm(self.x, scale.shape, scale, shift, _EPSILON)
        return y

    def _centred(self, change: Tensor) -> Tensor:
        """The derivative of `hat` in x, a symmetric matrix for each place, times a change."""
        return self._backward(change, None, wanted=False)[0]

    def _backward(self, g: Tensor, scale: Tensor | None, *, wanted: bool) -> tuple[Tensor, Tensor, Tensor]:
        """Torch's derivative of a LayerNorm with a scale that is shared."""
        moments = self.mean, self.inverse
        mask = [True, wanted, wanted]
        return _aten.native_layer_norm_backward(g, self.x, self.x.shape[-1:], *moments, scale, scale, mask)


def _mean_product(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).mean(-1, keepdim=True)


class Gelu(Layer):
    """x ↦ x Φ(x), Φ the distribution function of the normal distribution."""

    x: Tensor
    x_rate: Tensor
    g: Tensor
    slope: Tensor

    def forward(self, x: Tensor) -> Tensor:
        self.x = x
        return torch.nn.functional.gelu(x)

    def back(self, g: Tensor, ask: Ask) -> Tensor:
        """May change g, which nobody else needs."""
        if not ask.twice:
            return _aten.gelu_backward.grad_input(g, self.x, grad_input=g)
        self.g = g
        return _aten.gelu_backward(g, self.x)

    def turn(self, x: Tensor) -> Tensor:
        self.x_rate = x
        self.slope = _aten.gelu_backward(torch.ones_like(x), self.x)
        return x * self.slope

    def turn_back(self, g: Tensor) -> Tensor:
        square = self.x.square()
        density = (square * -0.5).exp_()
        bent = density.mul_(square.sub_(2)).mul_(self.x_rate)  # the second derivative is φ(x) (2 − x²)
        return (g * self.slope).addcmul_(bent, self.g, value=-_DENSITY)


class Attention(Layer):
    """Each of Q vectors takes a mixture of L values, by its products with their keys; in N batches."""

    q: Tensor
    k: Tensor
    v: Tensor
    weights: Tensor
    g: Tensor
    g_weights: Tensor
    g_scores: Tensor
    q_rate: Tensor
    k_rate: Tensor
    v_rate: Tensor
    weights_rate: Tensor

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def forward(self, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        """Mix `[N, L, ·]` to `[N, Q, ·]`; `bias` is added to the scores `[R, N / R, Q, L]`."""
        self.q, self.k, self.v = q, k, v
        scores = self._product(q, k.mT)
        if bias is not None:
            scores.view(len(bias), -1, *scores.shape[1:]).add_(bias)
        scores.sub_(scores.amax(-1, keepdim=True)).exp_()
        self.weights = scores.div_(scores.sum(-1, keepdim=True))
        return torch.bmm(self.weights, v)

    def back(self, g: Tensor, places: slice, ask: Ask) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of q, k and v, of some of their places."""
        g_weights = torch.bmm(g, self.v.mT)
        g_weights -= (g_weights * self.weights).sum(-1, keepdim=True)
        g_scores = g_weights * self.weights
        if ask.twice:
            self.g, self.g_weights, self.g_scores = g, g_weights, g_scores
        g_q = self._product(g_scores[:, places], self.k)
        g_k = self._product(g_scores[:, :, places].mT, self.q)
        return g_q, g_k, torch.bmm(self.weights[:, :, places].mT, g)

    def turn(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.q_rate, self.k_rate, self.v_rate = q, k, v
        scores = self._product(q, self.k.mT).baddbmm_(self.q, k.mT, alpha=self.factor)
        scores -= (scores * self.weights).sum(-1, keepdim=True)
        self.weights_rate = scores.mul_(self.weights)
        return torch.bmm(self.weights_rate, self.v).baddbmm_(self.weights, v)

    def turn_back(self, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = torch.bmm(self.g, self.v_rate.mT).baddbmm_(g, self.v.mT)
        both = (weights * self.weights).addcmul_(self.g_weights, self.weights_rate)
        scores = both.addcmul_(self.weights, both.sum(-1, keepdim=True), value=-1)
        q = self._product(scores, self.k).baddbmm_(self.g_scores, self.k_rate, alpha=self.factor)
        k = self._product(scores.mT, self.q).baddbmm_(self.g_scores.mT, self.q_rate, alpha=self.factor)
        return q, k, torch.bmm(self.weights_rate.mT, self.g).baddbmm_(self.weights.mT, g)

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.baddbmm(a.new_empty(()), a, b, beta=0, alpha=self.factor)
