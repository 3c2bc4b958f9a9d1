"""All task embeddings as points in memory, for exact nearest neighbours and a map.

Similarity is the cosine of the angle between two points. Embeddings learned with different weights lie in
different spaces, so each set of weights has its own matrix.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
_Ids = NDArray[np.int64]


class Points:
    """Points of one space by id, scaled to length 1."""

    def __init__(self, size: int) -> None:
        self._ids: _Ids = np.empty(0, np.int64)
        self._units: Vector = np.empty((0, size), np.float32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> _Ids:
        """The ids in the order of `units`."""
        return self._ids[: self._count]

    @property
    def units(self) -> Vector:
        """The points, one per row."""
        return self._units[: self._count]

    def add(self, ids: Sequence[int], points: Sequence[Vector]) -> None:
        """Append points; the capacity grows by doubling."""
        needed = self._count + len(ids)
        if needed > len(self._ids):
            capacity, size = max(needed, 2 * len(self._ids)), self._units.shape[1]
            larger_ids, larger_units = np.empty(capacity, np.int64), np.empty((capacity, size), np.float32)
            larger_ids[: self._count], larger_units[: self._count] = self.ids, self.units
            self._ids, self._units = larger_ids, larger_units
        self._ids[self._count : needed] = ids
        self._units[self._count : needed] = _units(np.stack(points))
        self._count = needed

    def keep(self, ids: _Ids) -> None:
        """Drop all points but those with these ids."""
        kept = np.isin(self.ids, ids)
        self._ids, self._units = self.ids[kept], self.units[kept]
        self._count = len(self._ids)

    def nearest(self, point: Vector, count: int, but: int | None) -> list[tuple[int, float]]:
        """Find the most similar points except `but`: their ids and similarities, best first."""
        similarities = self.units @ _units(point[None])[0]
        if but is not None:
            similarities[self.ids == but] = -np.inf
        count = min(count, len(self))
        best = np.argpartition(similarities, -count)[-count:] if count else []
        found = sorted(
            ((int(self.ids[i]), float(similarities[i])) for i in best), key=lambda one: (-one[1], one[0])
        )
        return [one for one in found if one[1] > -np.inf]


def _units(points: Vector) -> Vector:
    """Scale rows to length 1; rows of zeros stay zero."""
    lengths = np.linalg.norm(points, axis=1, keepdims=True)
    return points / np.where(lengths > 0, lengths, 1).astype(np.float32)


class Index:
    """The points of a store, grouped by the weights that learned them."""

    def __init__(self) -> None:
        self._spaces: dict[tuple[str, int], Points] = {}
        self.last = 0
        """The largest id seen."""

    def __len__(self) -> int:
        return sum(map(len, self._spaces.values()))

    def add(self, rows: Iterable[tuple[int, str, Vector]]) -> None:
        """Add rows of id, weights and point; ids must be ascending and above `last`."""
        by_space: dict[tuple[str, int], list[tuple[int, Vector]]] = {}
        for number, weights, point in rows:
            by_space.setdefault((weights, len(point)), []).append((number, point))
            self.last = number
        for space, members in by_space.items():
            ids, points = zip(*members, strict=True)
            self._spaces.setdefault(space, Points(space[1])).add(ids, points)

    def keep(self, ids: _Ids) -> None:
        """Drop all points but those with these ids."""
        for points in self._spaces.values():
            points.keep(ids)

    def nearest(
        self, weights: str, point: Vector, count: int, but: int | None = None
    ) -> list[tuple[int, float]]:
        """See `Points.nearest`."""
        points = self._spaces.get((weights, len(point)))
        return [] if points is None else points.nearest(point, count, but)

    @property
    def spaces(self) -> dict[str, Points]:
        """The points of each set of weights that has any."""
        return {weights: points for (weights, _), points in self._spaces.items() if len(points)}


def principal_components(points: NDArray[Any]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Project points `[n, d]` onto their first two principal components; also return the variance shares.

    The weight of largest magnitude in each component is positive, which fixes its sign.
    """
    points = points.astype(np.float64)
    centred = points - points.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * np.sign(np.take_along_axis(axes, np.abs(axes).argmax(1)[:, None], axis=1))[:2]
    variances = sizes**2
    shares = [*(variances[:2] / max(float(variances.sum()), 1e-300)).tolist(), 0.0, 0.0]
    projected = np.zeros((len(points), 2))
    projected[:, : len(axes)] = centred @ axes.T
    return projected, (shares[0], shares[1])
