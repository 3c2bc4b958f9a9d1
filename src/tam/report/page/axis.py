"""Axes of a chart: map values to pixels, and place ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_STEPS = (1, 2, 2.5, 5, 10)
_INTERVALS = 6  # between ticks, at most


@dataclass(frozen=True)
class Axis:
    """The label, scale and ticks of an axis."""

    label: str
    log: bool = False
    ticks: Sequence[float] = ()
    """Values with a tick; by default chosen from the range."""


class Scale:
    """Maps the values of an axis to pixels."""

    def __init__(self, axis: Axis, values: Sequence[float], start: float, end: float) -> None:
        low, high = min(values), max(values)
        if low == high:
            low, high = (low / 1.1, high * 1.1) if axis.log else (low - 1, high + 1)
        self._log, self._start, self._end = axis.log, start, end
        self.low, self.high = low, high
        self.ticks = list(axis.ticks) or (_log_ticks(low, high) if axis.log else linear_ticks(low, high))
        self.ticks = [tick for tick in self.ticks if low * 0.999 <= tick <= high * 1.001]

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        low, high, at = (math.log(v) if self._log else v for v in (self.low, self.high, value))
        return self._start + (at - low) / (high - low) * (self._end - self._start)


def linear_ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high.

    >>> linear_ticks(32, 100)
    [40.0, 60.0, 80.0, 100.0]
    """
    power = 10.0 ** math.floor(math.log10((high - low) / _INTERVALS))
    step = next(step * power for step in _STEPS if (high - low) / (step * power) <= _INTERVALS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    """Round numbers, well spaced on a logarithmic axis."""
    ratio = high / low
    if ratio < 3:
        return linear_ticks(low, high)
    mantissas = (1, 1.5, 2, 3, 5, 7) if ratio < 8 else (1, 2, 5) if ratio < 300 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [mantissa * 10.0**power for power in powers for mantissa in mantissas]
