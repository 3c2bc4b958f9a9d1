"""A block's attention, with the four passes of `tam.models.fast.cpu_layers`.

Shapes: G groups with weights of their own, R rows of each, K places of a row, X cached ones, L = K + X, Q of
the K that ask, H heads, d width, D = d / H.
"""

# ruff: noqa: D102  `cpu_layers` says what the four passes are

from collections.abc import Sequence

import torch
from torch import Tensor

from tam.models.fast.cpu_layers import Affine, Layer, Needs
from tam.models.fast.weights import BlockWeights
from tam.models.rotary import Rotation

ALL = slice(None)


class Attention(Layer):
    """Each of Q queries takes a mixture of L values, weighted by its products with their keys; N batches."""

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

    def backward(self, g: Tensor, queries: slice, keys: slice, needs: Needs) -> list[Tensor]:
        """The gradients of some queries, and of some keys and values."""
        g_weights = torch.bmm(g, self.v.mT)
        g_weights -= (g_weights * self.weights).sum(-1, keepdim=True)
        g_scores = g_weights * self.weights
        if needs.twice:
            self.g, self.g_weights, self.g_scores = g, g_weights, g_scores
        g_q = self._product(g_scores[:, queries], self.k)
        g_k = self._product(g_scores[:, :, keys].mT, self.q)
        return [g_q, g_k, torch.bmm(self.weights[:, :, keys].mT, g)]

    def jvp(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        self.q_tangent, self.k_tangent, self.v_tangent = q, k, v
        scores = self._product(q, self.k.mT).baddbmm_(self.q, k.mT, alpha=self.factor)
        scores -= (scores * self.weights).sum(-1, keepdim=True)
        self.weights_tangent = scores.mul_(self.weights)
        return torch.bmm(self.weights_tangent, self.v).baddbmm_(self.weights, v)

    def jvp_backward(self, g: Tensor) -> list[Tensor]:
        weights = torch.bmm(self.g, self.v_tangent.mT).baddbmm_(g, self.v.mT)
        both = (weights * self.weights).addcmul_(self.g_weights, self.weights_tangent)
        scores = both.addcmul_(self.weights, both.sum(-1, keepdim=True), value=-1)
        q = self._product(scores, self.k).baddbmm_(self.g_scores, self.k_tangent, alpha=self.factor)
        k = self._product(scores.mT, self.q).baddbmm_(self.g_scores.mT, self.q_tangent, alpha=self.factor)
        return [q, k, torch.bmm(self.weights_tangent.mT, self.g).baddbmm_(self.weights.mT, g)]

    def _product(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.baddbmm(a.new_empty(()), a, b, beta=0, alpha=self.factor)


class Mixing(Layer):
    """The places `read` ask all places.

    Queries, keys and values of places after these may be cached, which then ask too; or only keys and values
    of places before these. With a rotation of the K places, their queries and keys are rotated.

    Attributes:
        cache_grads: The gradients of what is cached, each None if not needed.
    """

    cache_grads: Sequence[Tensor | None]

    def __init__(
        self, weights: BlockWeights[Tensor], heads: int, read: slice, rotation: Rotation | None = None
    ) -> None:
        self.query, self.key_value = Affine(*weights.query), Affine(*weights.key_value)
        self.heads, self.read, self.rotation = heads, read, rotation
        self.attention = Attention((weights.query[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None, cached: Sequence[Tensor]) -> Tensor:
        """From the K places `[G, R, K, d]` to what those that ask take, `[G, R · Q, d]`."""
        self.shape = normed.shape
        self.asking_cached, self.seen_cached = len(cached) == 3, cached[-1].shape[-2] if cached else 0
        asking = self.query.forward(normed[:, :, self.read].flatten(1, 2))
        own = [*self._apart(asking, 1), *self._apart(self.key_value.forward(normed.flatten(1, 2)), 2)]
        q, k, v = self._with_cache(self._rotated(own), cached)
        return self._together([self.attention.forward(q, k, v, bias)])

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        own = (ALL, ALL) if needs.weights else self._own
        grads = self.attention.backward(self._apart(g, 1)[0], *own, needs)
        q, *keys_values = self._rotated(self._without_cache(grads, all_places=needs.weights), back=True)
        g_asking = self.query.backward(self._together([q]), needs)
        return self._sum(self.key_value.backward(self._together(keys_values), needs), g_asking)

    def jvp(self, normed: Tensor, tangents: BlockWeights[Tensor | None], cached: Sequence[Tensor]) -> Tensor:
        asking = self.query.jvp(normed[:, :, self.read].flatten(1, 2), *tangents.query)
        seen = self.key_value.jvp(normed.flatten(1, 2), *tangents.key_value)
        own = self._rotated([*self._apart(asking, 1), *self._apart(seen, 2)])
        q, k, v = self._with_cache(own, cached)
        return self._together([self.attention.jvp(q, k, v)])

    def jvp_backward(self, g: Tensor) -> Tensor:
        grads = self.attention.jvp_backward(self._apart(g, 1)[0])
        q, *keys_values = self._rotated(self._without_cache(grads, all_places=True), back=True)
        g_asking = self.query.jvp_backward(self._together([q]))
        return self._sum(self.key_value.jvp_backward(self._together(keys_values)), g_asking)

    @property
    def key_value_grads(self) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of weight and bias of keys and values."""
        return self.key_value.weight_grads

    def _sum(self, g_normed: Tensor, g_asking: Tensor) -> Tensor:
        read = g_normed.view(self.shape)[:, :, self.read]
        read += g_asking.view(read.shape)
        return g_normed

    @property
    def _own(self) -> tuple[slice, slice]:
        """Which queries, and which keys and values, are of the K places."""
        if self.asking_cached:
            return slice(self.shape[2]), slice(self.shape[2])
        return ALL, slice(self.seen_cached, None)

    def _rotated(self, own: Sequence[Tensor], *, back: bool = False) -> Sequence[Tensor]:
        """Queries, keys and values of the K places, the first two rotated; or back, if gradients."""
        if self.rotation is None:
            return own
        rotation, (q, k, v) = self.rotation.inverse if back else self.rotation, own
        return [rotation.at(self.read)(q), rotation(k), v]

    def _with_cache(self, own: Sequence[Tensor], cached: Sequence[Tensor]) -> Sequence[Tensor]:
        """Queries, keys and values of all places, `[G · R · H, ·, D]` each."""
        if not cached:
            return own
        cached = [part.reshape(len(own[0]), -1, own[0].shape[2]) for part in cached]
        if self.asking_cached:
            return [torch.cat(pair, dim=1) for pair in zip(own, cached, strict=True)]
        return [own[0], *(torch.cat(pair, dim=1) for pair in zip(cached, own[1:], strict=True))]

    def _without_cache(self, grads: Sequence[Tensor], *, all_places: bool) -> Sequence[Tensor]:
        """The gradients at the K places, given those at all places, or at the K places already."""
        queries, keys = self._own
        if not self.seen_cached:
            self.cache_grads = ()
        elif not all_places:
            self.cache_grads = [None] * (3 if self.asking_cached else 2)
        elif self.asking_cached:
            self.cache_grads = [grad[:, keys.stop :] for grad in grads]
        else:
            self.cache_grads = [grad[:, : keys.start] for grad in grads[1:]]
        return [grads[0][:, queries], *(grad[:, keys] for grad in grads[1:])] if all_places else grads

    def _apart(self, x: Tensor, parts: int) -> Tensor:
        """From `[G, R · L, parts · d]` to `[parts, G · R · H, L, D]`."""
        rows = self.shape[0] * self.shape[1]
        x = x.view(rows, -1, parts, self.heads, self.shape[3] // self.heads).permute(2, 0, 3, 1, 4)
        return x.reshape(parts, rows * self.heads, -1, x.shape[-1])

    def _together(self, parts: Sequence[Tensor]) -> Tensor:
        """From `[G · R · H, L, D]` of each part to `[G, R · L, parts · d]`."""
        groups, rows = self.shape[:2]
        places = parts[0].shape[1]
        x = parts[0].new_empty(groups * rows, places, len(parts), self.heads, parts[0].shape[-1])
        for place, part in enumerate(parts):
            x[:, :, place] = part.view(groups * rows, self.heads, places, -1).transpose(1, 2)
        return x.view(groups, rows * places, -1)


class Reading(Layer):
    """One place asks.

    Then keys and values need not be made for every place. With W the rows of a head, the scores are
    (W_q a) · (W_k x) = (W_kᵀ W_q a) · x, and the mixture is Σ αᵢ W_v xᵢ = W_v Σ αᵢ xᵢ. The bias of the keys
    adds the same to all scores of a place, and so nothing. Nothing is cached.
    """

    cache_grads: Sequence[Tensor | None] = ()

    def __init__(self, weights: BlockWeights[Tensor], heads: int, place: int) -> None:
        self.heads, self.place = heads, place
        self.query = Affine(*weights.query)
        keys, values = self._by_head(weights.key_value[0])
        self.to_places = Affine(keys.mT)
        self.to_values = Affine(values, self._by_head(weights.key_value[1].mT)[1].mT)
        self.attention = Attention((weights.query[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None, _: Sequence[Tensor]) -> Tensor:
        """From all places `[G, R, L, d]` to what the asking one takes, `[G, R, d]`."""
        self.shape, seen = normed.shape, normed.flatten(0, 1)
        asking = self._heads_first(self.query.forward(normed[:, :, self.place]))
        mixed = self.attention.forward(self._rows_first(self.to_places.forward(asking)), seen, seen, bias)
        return self._join(self.to_values.forward(self._back_to_heads(mixed)))

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        g_mixed = self._rows_first(self.to_values.backward(self._heads_first(g), needs))
        g_asked, keys, values = self.attention.backward(g_mixed, ALL, ALL, needs)
        g_asking = self.to_places.backward(self._back_to_heads(g_asked), needs)
        g_query = self.query.backward(self._join(g_asking), needs)
        return self._all(keys, values, g_query)

    def jvp(self, normed: Tensor, tangents: BlockWeights[Tensor | None], _: Sequence[Tensor]) -> Tensor:
        seen = normed.flatten(0, 1)
        keys = values = bias = None
        of_weight, of_bias = tangents.key_value
        if of_weight is not None:
            keys, values = self._by_head(of_weight)
        if of_bias is not None:
            bias = self._by_head(of_bias.mT)[1].mT
        asking = self._heads_first(self.query.jvp(normed[:, :, self.place], *tangents.query))
        asked = self._rows_first(self.to_places.jvp(asking, None if keys is None else keys.mT))
        mixed = self._back_to_heads(self.attention.jvp(asked, seen, seen))
        return self._join(self.to_values.jvp(mixed, values, bias))

    def jvp_backward(self, g: Tensor) -> Tensor:
        g_mixed = self._rows_first(self.to_values.jvp_backward(self._heads_first(g)))
        g_asked, keys, values = self.attention.jvp_backward(g_mixed)
        g_asking = self.to_places.jvp_backward(self._back_to_heads(g_asked))
        g_query = self.query.jvp_backward(self._join(g_asking))
        return self._all(keys, values, g_query)

    @property
    def key_value_grads(self) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of weight and bias of keys and values."""
        (keys, _), (values, bias) = self.to_places.weight_grads, self.to_values.weight_grads
        if keys is None or values is None or bias is None:
            return None, None
        groups = self.shape[0]
        weights = [part.reshape(groups, -1, self.shape[3]) for part in (keys.mT, values)]
        bias = bias.view(groups, 1, -1)
        return torch.cat(weights, dim=1), torch.cat([torch.zeros_like(bias), bias], dim=2)

    def _all(self, keys: Tensor, values: Tensor, asking: Tensor) -> Tensor:
        """The gradient at all places, `[G, R · L, d]`."""
        total = keys.add_(values).view(self.shape)
        total[:, :, self.place] += asking
        return total.flatten(1, 2)

    def _by_head(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Of a weight `[G, 2 · d, ·]` that of the keys and that of the values, `[G · H, D, ·]` each."""
        keys, values = weight.unflatten(1, (2, self.heads, -1)).unbind(1)
        return keys.flatten(0, 1), values.flatten(0, 1)

    def _heads_first(self, x: Tensor) -> Tensor:
        """From `[G, R, d]` to `[G · H, R, D]`."""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2).flatten(0, 1)

    def _join(self, x: Tensor) -> Tensor:
        """From `[G · H, R, D]` to `[G, R, d]`."""
        return x.unflatten(0, (-1, self.heads)).transpose(1, 2).flatten(2)

    def _rows_first(self, x: Tensor) -> Tensor:
        """From `[G · H, R, d]` to `[G · R, H, d]`."""
        return x.unflatten(0, (-1, self.heads)).transpose(1, 2).flatten(0, 1)

    def _back_to_heads(self, x: Tensor) -> Tensor:
        """From `[G · R, H, d]` to `[G · H, R, d]`."""
        return x.unflatten(0, self.shape[:2]).transpose(1, 2).flatten(0, 1)
