"""The parts of a config that every method has: the network, its training, and the k-shot protocol.

This file imports nothing heavy: the command line is built from it.
"""

from dataclasses import dataclass
from typing import Literal

from tam.config.validate import check_at_least, check_at_most, check_types
from tam.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Network:
    """The model: the sizes and choices that do not follow from the tasks."""

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
    """Whether a decoder has the task embedding in front of x too: [z, x…, z, y…], not [x…, z, y…]."""
    x_mask: Literal["causal", "full"] = "causal"
    """In a decoder, whether places of x see only those before them, or all places up to the end of x."""
    use_primitives: bool | None = None
    """Whether the model is given the tasks' primitives; if not said, whether they have some."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "layers", "width", "heads", "bottleneck", "task_tokens")
        if self.width % self.heads:
            raise SettingError(f"width is a multiple of heads; {self.width} is not one of {self.heads}")
        if self.bottleneck is not None and self.conditioning != "adapter":
            raise SettingError("bottleneck has no effect unless conditioning is 'adapter'")
        if self.backbone == "lstm" and self.conditioning != "token":
            raise SettingError(f"conditioning of the LSTM is 'token', not {self.conditioning!r}")
        if self.backbone == "lstm" and self.heads != Network.heads:
            raise SettingError(f"heads has no effect on the LSTM; leave it out, at {Network.heads}")


@dataclass(frozen=True, kw_only=True)
class Training:
    """How θ is trained."""

    steps: int = 20_000
    """Outer steps; 0 for a model as it is drawn."""
    tasks: int = 16
    """Tasks folded into one outer step, B."""
    rows: int = 300
    """Examples of each of them, N."""
    rate: float = 1e-3
    """The rate of Adam on θ, after the warm-up; it then falls to 0 along a cosine."""
    warmup: int = 50
    """Outer steps over which the rate rises from 0."""
    clip: float = 1.0
    """The longest gradient of θ; a longer one is shortened to this."""
    validate_every: int = 500
    """Outer steps between two validations."""
    checkpoint_every: int = 100
    """Outer steps between two checkpoints."""
    stop_after: int | None = None
    """Stop when validation has improved at no k for so many outer steps; None: never before the last."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """What matrix products are computed in; weights and optimiser states are always float32."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "tasks", "rows", "validate_every", "checkpoint_every", "stop_after")
        check_at_least(self, 0, "steps", "rate", "warmup")
        if not self.clip > 0:
            raise SettingError(f"clip is above 0, not {self.clip!r}")


NOT_TRAINED = Training(steps=0)
"""Of a method that is not trained."""

NO_STEPS: tuple[tuple[int], tuple[float]] = ((0,), (0.0,))
"""What is chosen from where a method takes no steps."""


MOST_STEPS = 10_000
"""To learn a task in: more take hours or, where a gradient goes through them, all memory."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The k-shot protocol: see `tam.evaluation.protocol`."""

    shots: tuple[int, ...] = (1, 5, 10, 20)
    """The values of k: examples a task, for classification examples a class."""
    supports: int = 4
    """How many support sets are drawn for each task, up to 1000."""
    queries: int = 100
    """How many queries each of them is scored on, at most."""
    adapt_steps: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 18, 25, 50, 100, 200)
    """The numbers of inner steps to choose from, 0 to 10,000; 0 alone for a method that takes none."""
    adapt_rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1)
    """The rates to choose from; 0 alone for a method that takes no steps."""
    support_seed: int = 0
    """Supports and queries follow from it."""

    def __post_init__(self) -> None:
        for name in ("shots", "adapt_steps", "adapt_rates"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
        check_types(self)
        none = {"adapt_steps": NO_STEPS[0], "adapt_rates": NO_STEPS[1]}
        for name in ("shots", "adapt_steps", "adapt_rates"):
            value = getattr(self, name)
            least = 0 if name == "adapt_steps" else 1 if name == "shots" else 1e-12
            if not value or (min(value) < least and value != none.get(name)):
                above = "at least 0" if name == "adapt_steps" else "above 0"
                raise SettingError(f"{name} must have one value or more, all {above}, not {value!r}")
            if len(set(value)) < len(value):
                raise SettingError(f"{name} has every value once, not {value!r}")
        check_at_least(self, 1, "supports", "queries")
        check_at_most(self, 1000, "supports")
        check_at_most(self, MOST_STEPS, "adapt_steps")
