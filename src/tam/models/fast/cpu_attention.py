"""How places take from others in a block, in the four passes of `tam.models.fast.cpu_layers`.

Shapes: G groups with weights of their own, R rows of each, K places of a row, X known ones after them,
L = K + X, Q of them asking, H heads, d width, D = d / H.
"""

# ruff: noqa: D102  what the four passes are is said in `tam.models.fast.cpu_layers`

from collections.abc import Sequence

import torch
from torch import Tensor

from tam.models.fast.cpu_layers import Affine, Ask, Attention, Layer

ALL = slice(None)


class Mixing(Layer):
    """The places `read` ask all places. What is `known` are queries, keys and values of places after these.

    Attributes:
        found: What is known gets, and weight and bias of query and key_value.
        known: Whether there are such.
    """

    found: list[Tensor | None]
    known: bool
    shape: torch.Size

    def __init__(self, weights: Sequence[Tensor], heads: int, read: slice) -> None:
        self.query, self.key_value = Affine(*weights[:2]), Affine(*weights[2:])
        self.heads, self.read = heads, read
        self.attention = Attention((weights[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None, known: Sequence[Tensor]) -> Tensor:
        """From the K places `[G, R, K, d]` to what those that ask take, `[G, R · Q, d]`."""
        self.shape, self.known = normed.shape, bool(known)
        asking = self.query.forward(normed[:, :, self.read].flatten(1, 2))
        own = [*self._apart(asking, 1), *self._apart(self.key_value.forward(normed.flatten(1, 2)), 2)]
        q, k, v = self._with(own, known)
        return self._together([self.attention.forward(q, k, v, bias)])

    def back(self, g: Tensor, ask: Ask) -> Tensor:
        own = ALL if ask.weights or not self.known else slice(self.shape[2])
        g_known, q, *keys_values = self._without(self.attention.back(self._apart(g, 1)[0], own, ask))
        g_asking = self.query.back(self._together([q]), ask)
        g_normed = self.key_value.back(self._together(keys_values), ask)
        return self._add_up(g_known, g_normed, g_asking)

    def turn(self, normed: Tensor, rates: Sequence[Tensor | None], known: Sequence[Tensor]) -> Tensor:
        asking = self.query.turn(normed[:, :, self.read].flatten(1, 2), *rates[:2])
        seen = self.key_value.turn(normed.flatten(1, 2), *rates[2:])
        own = [*self._apart(asking, 1), *self._apart(seen, 2)]
        q, k, v = self._with(own, known)
        return self._together([self.attention.turn(q, k, v)])

    def turn_back(self, g: Tensor) -> Tensor:
        g_known, q, *keys_values = self._without(self.attention.turn_back(self._apart(g, 1)[0]))
        g_asking = self.query.turn_back(self._together([q]))
        g_normed = self.key_value.turn_back(self._together(keys_values))
        return self._add_up(g_known, g_normed, g_asking)

    def _add_up(self, g_known: Sequence[Tensor | None], g_normed: Tensor, g_asking: Tensor) -> Tensor:
        self.found = [*g_known, *self.query.found, *self.key_value.found]
        read = g_normed.view(self.shape)[:, :, self.read]
        read += g_asking.view(read.shape)
        return g_normed

    def _with(self, own: Sequence[Tensor], known: Sequence[Tensor]) -> Sequence[Tensor]:
        """Queries, keys and values of all places, `[G · R · H, L, D]` each."""
        if not known:
            return own
        return [
            torch.cat([a, b.reshape(len(a), -1, a.shape[2])], dim=1) for a, b in zip(own, known, strict=True)
        ]

    def _without(self, found: Sequence[Tensor]) -> tuple[Sequence[Tensor | None], Tensor, Tensor, Tensor]:
        """Of the gradients at all places those of known ones, and those of the others."""
        places, (q, k, v) = self.shape[2], found
        if not self.known:
            return [], q, k, v
        known = [None] * 3 if q.shape[1] == places else [one[:, places:] for one in found]
        return known, q[:, :places], k[:, :places], v[:, :places]

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

    Then keys and values are not made for every place. With W the rows of a head, the scores are
    (W_q a) · (W_k x) = (W_kᵀ W_q a) · x, and the mixture is Σ αᵢ W_v xᵢ = W_v Σ αᵢ xᵢ. The bias of the keys
    adds the same to all scores of a place, and so nothing.

    Attributes:
        found: What weight and bias of query and key_value get.
    """

    found: list[Tensor | None]
    shape: torch.Size

    def __init__(self, weights: Sequence[Tensor], heads: int, place: int) -> None:
        self.heads, self.place = heads, place
        self.query = Affine(*weights[:2])
        keys, values = self._by_head(weights[2])
        self.to_places = Affine(keys.mT)
        self.to_values = Affine(values, self._by_head(weights[3].mT)[1].mT)
        self.attention = Attention((weights[0].shape[-1] // heads) ** -0.5)

    def forward(self, normed: Tensor, bias: Tensor | None) -> Tensor:
        """From all places `[G, R, L, d]` to what the asking one takes, `[G, R, d]`."""
        self.shape, seen = normed.shape, normed.flatten(0, 1)
        asking = self._heads_first(self.query.forward(normed[:, :, self.place]))
        mixed = self.attention.forward(self._rows_first(self.to_places.forward(asking)), seen, seen, bias)
        return self._join(self.to_values.forward(self._back_to_heads(mixed)))

    def back(self, g: Tensor, ask: Ask) -> Tensor:
        g_mixed = self._rows_first(self.to_values.back(self._heads_first(g), ask))
        g_asked, keys, values = self.attention.back(g_mixed, ALL, ask)
        g_asking = self.to_places.back(self._back_to_heads(g_asked), ask)
        g_query = self.query.back(self._join(g_asking), ask)
        self._find()
        return self._all(keys, values, g_query)

    def turn(self, normed: Tensor, rates: Sequence[Tensor | None]) -> Tensor:
        seen = normed.flatten(0, 1)
        keys = values = bias = None
        if rates[2] is not None:
            keys, values = self._by_head(rates[2])
        if rates[3] is not None:
            bias = self._by_head(rates[3].mT)[1].mT
        asking = self._heads_first(self.query.turn(normed[:, :, self.place], *rates[:2]))
        asked = self._rows_first(self.to_places.turn(asking, None if keys is None else keys.mT))
        mixed = self._back_to_heads(self.attention.turn(asked, seen, seen))
        return self._join(self.to_values.turn(mixed, values, bias))

    def turn_back(self, g: Tensor) -> Tensor:
        g_mixed = self._rows_first(self.to_values.turn_back(self._heads_first(g)))
        g_asked, keys, values = self.attention.turn_back(g_mixed)
        g_asking = self.to_places.turn_back(self._back_to_heads(g_asked))
        g_query = self.query.turn_back(self._join(g_asking))
        self._find()
        return self._all(keys, values, g_query)

    def _find(self) -> None:
        keys, values, bias = self.to_places.found[0], *self.to_values.found
        self.found = [*self.query.found, None, None]
        if keys is not None and values is not None and bias is not None:
            groups = self.shape[0]
            weights = [part.reshape(groups, -1, self.shape[3]) for part in (keys.mT, values)]
            bias = bias.view(groups, 1, -1)
            biases = [torch.zeros_like(bias), bias]
            self.found[2:] = [torch.cat(weights, dim=1), torch.cat(biases, dim=2)]

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
