"""Estimate how much memory a training step takes, and how much is free."""

import os

import torch

from tam.config.config import Config
from tam.models import ModelSpec

_PER_PLACE = 21
"""Numbers that a block keeps for the backward pass per place and unit of width; measured on a CPU."""
_PER_PAIR = 1.5
"""Numbers that a head keeps per pair of places; measured on a CPU."""
_PER_OUTCOME = 4
"""Numbers kept per token that could be the answer."""


def step_bytes(config: Config, spec: ModelSpec) -> int:
    """Approximate bytes that a training step keeps for a backward pass, on a CPU or without our kernels."""
    training = config.training
    places = spec.task_places * (2 if spec.task_first else 1) + spec.x_places + spec.max_y
    block = places * (_PER_PLACE * spec.width + _PER_PAIR * spec.heads * places)
    answers = _PER_OUTCOME * (spec.max_y + 1) * spec.outputs
    return int(4 * training.tasks * training.rows * (spec.layers * block + answers))


def free_bytes(device: str) -> int | None:
    """The number of free bytes on a device; None if the system does not report it."""
    if device != "cpu":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None


def in_words(size: int) -> str:
    """A number of bytes, rounded for people.

    >>> in_words(3_500_000_000)
    '3.5 GB'
    """
    return f"{size / 1e9:.1f} GB" if size >= 5e8 else f"{size / 1e6:.0f} MB"
