"""A block's attention, with the four passes of `tam.models.fast.cpu_layers`.

Shapes: G groups with their own weights, R rows of each, K places of a row, X cached places, L = K + X, Q
places with a query, H heads, d width, D = d / H.
"""

# ruff: noqa: D102  `cpu_layers` describes the four passes

from collections.abc import Sequence

import torch
from torch import Tensor

from tam.models.attention import ALL
from tam.models.fast.cpu_layers import Affine, Layer, Needs
from tam.models.fast.weights import BlockWeights
from tam.models.rotary import Rotation


class SoftmaxAttention(Layer):
    """Softmax attention of Q queries to L keys and values, in N batches."""

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
        """The gradients of the selected queries, and of the selected keys and values."""
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
    """Multi-head attention from the places `read` to all places.

    The cache may hold queries, keys and values of later places, which then have an output too, or only keys
    and values of earlier places. With a rotation, the queries and keys of the K places are rotated.

    Attributes:
        cache_grads: The gradients of the cached tensors, each None if not needed.
    """

    cache_grads: Sequence[Tensor | None]

    def __init__(
        self, weights: BlockWeights[Tensor], heads: int, read: slice, rotation: Rotation | None
    ) -> None:
        self.query, self.key_value = Affine(*weights.query), Affine(*weights.key_value)
        self.heads, self.read, self.rotation = heads, read, rotation
        self.attention = SoftmaxAttention((weights.query[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None, cached: Sequence[Tensor]) -> Tensor:
        """Attend, from the K places `[G, R, K, d]` to `[G, R · Q, d]`."""
        self.shape = normed.shape
        self.queries_cached, self.cached_places = len(cached) == 3, cached[-1].shape[-2] if cached else 0
        queries = self.query.forward(normed[:, :, self.read].flatten(1, 2))
        keys_values = self.key_value.forward(normed.flatten(1, 2))
        own = self._rotated([*self._split_heads(queries, 1), *self._split_heads(keys_values, 2)])
        q, k, v = self._with_cache(own, cached)
        return self._join_heads([self.attention.forward(q, k, v, bias)])

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        own = (ALL, ALL) if needs.weights else self._own
        grads = self.attention.backward(self._split_heads(g, 1)[0], *own, needs)
        q, *keys_values = self._rotated(self._without_cache(grads, all_places=needs.weights), back=True)
        g_queries = self.query.backward(self._join_heads([q]), needs)
        return self._sum(self.key_value.backward(self._join_heads(keys_values), needs), g_queries)

    def jvp(self, normed: Tensor, tangents: BlockWeights[Tensor | None], cached: Sequence[Tensor]) -> Tensor:
        queries = self.query.jvp(normed[:, :, self.read].flatten(1, 2), *tangents.query)
        keys_values = self.key_value.jvp(normed.flatten(1, 2), *tangents.key_value)
        own = self._rotated([*self._split_heads(queries, 1), *self._split_heads(keys_values, 2)])
        q, k, v = self._with_cache(own, cached)
        return self._join_heads([self.attention.jvp(q, k, v)])

    def jvp_backward(self, g: Tensor) -> Tensor:
        grads = self.attention.jvp_backward(self._split_heads(g, 1)[0])
        q, *keys_values = self._rotated(self._without_cache(grads, all_places=True), back=True)
        g_queries = self.query.jvp_backward(self._join_heads([q]))
        return self._sum(self.key_value.jvp_backward(self._join_heads(keys_values)), g_queries)

    @property
    def key_value_grads(self) -> tuple[Tensor | None, Tensor | None]:
        """The gradients of weight and bias of keys and values."""
        return self.key_value.weight_grads

    def _sum(self, g_normed: Tensor, g_queries: Tensor) -> Tensor:
        read = g_normed.view(self.shape)[:, :, self.read]
        read += g_queries.view(read.shape)
        return g_normed

    @property
    def _own(self) -> tuple[slice, slice]:
        """The slices of queries, and of keys and values, that belong to the K places."""
        if self.queries_cached:
            return slice(self.shape[2]), slice(self.shape[2])
        return ALL, slice(self.cached_places, None)

    def _rotated(self, own: Sequence[Tensor], *, back: bool = False) -> Sequence[Tensor]:
        """Rotate the queries and keys of the K places; or rotate gradients `back`."""
        if self.rotation is None:
            return own
        rotation, (q, k, v) = self.rotation.inverse if back else self.rotation, own
        return [rotation.at(self.read)(q), rotation(k), v]

    def _with_cache(self, own: Sequence[Tensor], cached: Sequence[Tensor]) -> Sequence[Tensor]:
        """Add the cached queries, keys and values: `[G · R · H, ·, D]` each."""
        if not cached:
            return own
        cached = [part.reshape(len(own[0]), -1, own[0].shape[2]) for part in cached]
        if self.queries_cached:
            return [torch.cat(pair, dim=1) for pair in zip(own, cached, strict=True)]
        return [own[0], *(torch.cat(pair, dim=1) for pair in zip(cached, own[1:], strict=True))]

    def _without_cache(self, grads: Sequence[Tensor], *, all_places: bool) -> Sequence[Tensor]:
        """Split off the gradients of the cache; unless `all_places`, `grads` are of the K places already."""
        queries, keys = self._own
        if not self.cached_places:
            self.cache_grads = ()
        elif not all_places:
            self.cache_grads = [None] * (3 if self.queries_cached else 2)
        elif self.queries_cached:
            self.cache_grads = [grad[:, keys.stop :] for grad in grads]
        else:
            self.cache_grads = [grad[:, : keys.start] for grad in grads[1:]]
        return [grads[0][:, queries], *(grad[:, keys] for grad in grads[1:])] if all_places else grads

    def _split_heads(self, x: Tensor, parts: int) -> Tensor:
        """From `[G, R · L, parts · d]` to `[parts, G · R · H, L, D]`."""
        rows = self.shape[0] * self.shape[1]
        x = x.view(rows, -1, parts, self.heads, self.shape[3] // self.heads).permute(2, 0, 3, 1, 4)
        return x.reshape(parts, rows * self.heads, -1, x.shape[-1])

    def _join_heads(self, parts: Sequence[Tensor]) -> Tensor:
        """From `[G · R · H, L, D]` for each part to `[G, R · L, parts · d]`."""
        groups, rows = self.shape[:2]
        places = parts[0].shape[1]
        x = parts[0].new_empty(groups * rows, places, len(parts), self.heads, parts[0].shape[-1])
        for place, part in enumerate(parts):
            x[:, :, place] = part.view(groups * rows, self.heads, places, -1).transpose(1, 2)
        return x.view(groups, rows * places, -1)


class SinglePlace(Layer):
    """Multi-head attention from a single place, without a cache.

    It does not need keys and values of every place. For the weights W of a head, the scores are
    (W_q a) · (W_k x) = (W_kᵀ W_q a) · x, and the output is Σ αᵢ W_v xᵢ = W_v Σ αᵢ xᵢ. The bias of the keys
    adds the same number to all scores of a place, so it has no effect.
    """

    cache_grads: Sequence[Tensor | None] = ()

    def __init__(self, weights: BlockWeights[Tensor], heads: int, place: int) -> None:
        self.heads, self.place = heads, place
        self.query = Affine(*weights.query)
        keys, values = self._by_head(weights.key_value[0])
        self.to_places = Affine(keys.mT)
        self.to_values = Affine(values, self._by_head(weights.key_value[1].mT)[1].mT)
        self.attention = SoftmaxAttention((weights.query[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None, _: Sequence[Tensor]) -> Tensor:
        """Attend, from all places `[G, R, L, d]` to `[G, R, d]`."""
        self.shape, seen = normed.shape, normed.flatten(0, 1)
        queries = self._heads_first(self.query.forward(normed[:, :, self.place]))
        mixed = self.attention.forward(self._rows_first(self.to_places.forward(queries)), seen, seen, bias)
        return self._join(self.to_values.forward(self._back_to_heads(mixed)))

    def backward(self, g: Tensor, needs: Needs) -> Tensor:
        g_mixed = self._rows_first(self.to_values.backward(self._heads_first(g), needs))
        g_mapped, keys, values = self.attention.backward(g_mixed, ALL, ALL, needs)
        g_queries = self.to_places.backward(self._back_to_heads(g_mapped), needs)
        return self._all(keys, values, self.query.backward(self._join(g_queries), needs))

    def jvp(self, normed: Tensor, tangents: BlockWeights[Tensor | None], _: Sequence[Tensor]) -> Tensor:
        seen = normed.flatten(0, 1)
        keys = values = bias = None
        weight_tangent, bias_tangent = tangents.key_value
        if weight_tangent is not None:
            keys, values = self._by_head(weight_tangent)
        if bias_tangent is not None:
            bias = self._by_head(bias_tangent.mT)[1].mT
        queries = self._heads_first(self.query.jvp(normed[:, :, self.place], *tangents.query))
        mapped = self._rows_first(self.to_places.jvp(queries, None if keys is None else keys.mT))
        mixed = self._back_to_heads(self.attention.jvp(mapped, seen, seen))
        return self._join(self.to_values.jvp(mixed, values, bias))

    def jvp_backward(self, g: Tensor) -> Tensor:
        g_mixed = self._rows_first(self.to_values.jvp_backward(self._heads_first(g)))
        g_mapped, keys, values = self.attention.jvp_backward(g_mixed)
        g_queries = self.to_places.jvp_backward(self._back_to_heads(g_mapped))
        return self._all(keys, values, self.query.jvp_backward(self._join(g_queries)))

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

    def _all(self, keys: Tensor, values: Tensor, queries: Tensor) -> Tensor:
        """Sum the gradients of keys, values and queries at all places, `[G, R · L, d]`."""
        total = keys.add_(values).view(self.shape)
        total[:, :, self.place] += queries
        return total.flatten(1, 2)

    def _by_head(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Split a weight `[G, 2 · d, ·]` into those of keys and of values, `[G · H, D, ·]` each."""
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
