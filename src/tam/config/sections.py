"""The parts of a config that every method has: the network, its training, and the k-shot protocol.

This file imports nothing heavy: the command line is built from it.
"""

from dataclasses import dataclass
from typing import Literal

from tam.config.validate import check_at_least, check_types
from tam.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Network:
    """The sizes and choices of the model that do not follow from the tasks."""

    backbone: Literal["transformer", "lstm"] = "transformer"
    """The network; the LSTM is for classification."""
    conditioning: Literal["token", "adapter", "norm"] = "token"
    """Where the task embedding enters."""
    layers: int = 4
    """Blocks of the transformer; the LSTM has as many parameters as that transformer."""
    width: int = 128
    """The size of an embedding."""
    heads: int = 4
    """Attention heads."""
    bottleneck: int | None = None
    """The width inside an adapter; for conditioning by adapters only."""
    task_tokens: int = 1
    """Tokens that one task embedding takes, each as wide as the network; conditioning by tokens only."""
    task_first: bool = False
    """Whether a decoder also has the task embedding in front of x: [z, x…, z, y…], not [x…, z, y…]."""
    x_mask: Literal["causal", "full"] = "causal"
    """Whether a decoder's places of x see only those before them, or all places up to the end of x."""
    use_primitives: bool | None = None
    """Whether the model is given the tasks' primitives; None: if the tasks have any."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "layers", "width", "heads", "bottleneck", "task_tokens")


@dataclass(frozen=True, kw_only=True)
class Training:
    """How θ is trained."""

    steps: int = 20_000
    """Outer steps; 0 keeps the weights as they are drawn."""
    tasks: int = 16
    """Tasks in one outer step, B."""
    rows: int = 300
    """Examples of each of them, N."""
    rate: float = 1e-3
    """The rate of Adam on θ after the warm-up; it then falls to 0 along a cosine."""
    warmup: int = 50
    """Outer steps over which the rate rises from 0."""
    clip: float = 1.0
    """The largest norm of θ's gradient; a larger gradient is scaled down to it."""
    validate_every: int = 500
    """Outer steps between two validations."""
    checkpoint_every: int = 100
    """Outer steps between two checkpoints."""
    stop_after: int | None = None
    """Stop when validation has not improved at any k for this many outer steps; None: never early."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """The precision of matrix products; weights and optimiser states are always float32."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "tasks", "rows", "validate_every", "checkpoint_every", "stop_after")
        check_at_least(self, 0, "steps", "rate", "warmup")
        if not self.clip > 0:
            raise SettingError(f"clip must be above 0: got {self.clip!r}")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The k-shot protocol: see `tam.evaluation.protocol`."""

    shots: tuple[int, ...] = (1, 5, 10, 20)
    """The values of k: examples per task, for classification per class."""
    supports: int = 4
    """How many support sets are drawn for each task."""
    queries: int = 100
    """The most queries that each of them is scored on."""
    adapt_steps: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 18, 25, 50, 100, 200)
    """The numbers of inner steps to choose from."""
    adapt_rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1)
    """The rates of these steps to choose from."""
    support_seed: int = 0
    """Supports and queries follow from it."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "shots", "supports", "queries")
        check_at_least(self, 0, "adapt_steps", "adapt_rates")
        for name in ("shots", "adapt_steps", "adapt_rates"):
            if not getattr(self, name):
                raise SettingError(f"{name} must have one value or more: got ()")
