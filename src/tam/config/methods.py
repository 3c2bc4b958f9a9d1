"""The settings of each method.

This file imports nothing heavy: the command line is built from it.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from tam.config.validate import check_numbers, check_sizes, check_types
from tam.errors import SettingError, UserError


class SmallSupports(NamedTuple):
    """Small supports: the share of a step's tasks with one, the outer steps before any, and their sizes."""

    share: float
    after: int
    sizes: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """Base class of all method settings.

    Attributes:
        trained: Whether there is a network to train.
        per_shots: Whether a separate model is trained for each k.
        by_steps: Whether a new task is learned in steps, whose number and learning rate validation chooses.
        takes_primitives: Whether the network reads the primitives of tasks that have any.
        takes_hints: Whether the network may read hints; not if it reads the support itself.
    """

    trained: ClassVar[bool] = True
    per_shots: ClassVar[bool] = False
    by_steps: ClassVar[bool] = True
    takes_primitives: ClassVar[bool] = True
    takes_hints: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, kw_only=True)
class TamSettings(MethodSettings):
    """The settings of TAM."""

    inner_steps: int = 25
    """Maximum updates of z per outer step, T."""
    inner_rate: float = 0.03
    """Learning rate of Adam on z."""
    patience: int | None = 1
    """In training, stop a task once its loss has not improved for this many updates; None: never."""
    theta_update: Literal["accumulated", "interleaved"] = "accumulated"
    """Update θ once per outer step, by the accumulated gradients (the paper), or after every update of z."""
    warm_share: float = 0.0
    """Share of a step's tasks whose z starts where their last search ended; the others start at 0."""
    learn_blank: bool = False
    """Also train θ on the pass before the first update of z, which the paper uses for z alone."""
    proposer: bool = False
    """Also train an encoder that proposes a starting z from the support; needs learn_blank, no primitives."""
    starts: int = 1
    """Number of searches for a new task's z: the first starts at 0 (the paper), the others at the embeddings
    of training tasks or primitives that fit its examples best. Their answers are averaged."""
    search_rates: tuple[float, ...] = (1.0,)
    """With several starts: multiples of the learning rate. Every starting point is searched at each of them;
    `starts` counts all searches."""
    support: Literal["all", "mixed"] = "all"
    """Fit z to all rows (the paper), or in some tasks to a small random support; θ always learns from all."""
    small_share: float | None = None
    """With mixed supports: share of tasks with a small support; None: 0.5."""
    small_after: int | None = None
    """With mixed supports: outer steps before the first small ones; None: 400."""
    small_sizes: tuple[int, int] | None = None
    """With mixed supports: smallest and largest size, drawn log-uniformly; None: 4 and 64."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "inner_steps", "patience", "starts")
        check_numbers(self, "at least", 0, "inner_rate", "small_share", "small_after", "warm_share")
        check_numbers(self, "at most", 1, "small_share", "warm_share")
        check_numbers(self, "above", 0, "search_rates")
        if not self.search_rates:
            raise SettingError("search_rates must have one value or more: got ()")
        if self.small_sizes is not None:
            check_sizes(self, "small_sizes")
        if self.proposer and not self.learn_blank:
            raise SettingError(
                "proposer needs learn_blank: it learns from the pass before the first update of z"
            )

    @property
    def small(self) -> SmallSupports | None:
        """The small supports, with defaults filled in; None where there are none."""
        if self.support == "all":
            return None
        return SmallSupports(
            0.5 if self.small_share is None else self.small_share,
            400 if self.small_after is None else self.small_after,
            self.small_sizes or (4, 64),
        )


@dataclass(frozen=True, kw_only=True)
class AgnosticSettings(MethodSettings):
    """The settings of the task-agnostic transformer: none."""

    takes_primitives: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class MultitaskSettings(MethodSettings):
    """The settings of the multitask transformer."""

    finetune: Literal["all", "embedding"] = "all"
    """Fit all weights and the embedding to a new task, or the embedding alone."""
    unknown_share: float | None = None
    """With primitives: share of a step's tasks with one primitive treated as unknown; None: 0.5."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 0, "unknown_share")
        check_numbers(self, "at most", 1, "unknown_share")


@dataclass(frozen=True, kw_only=True)
class MamlSettings(MethodSettings):
    """The settings of MAML."""

    inner_steps: int = 5
    """Gradient-descent steps per outer step."""
    inner_rate: float = 0.1
    """Learning rate of the inner steps."""
    order: Literal["second", "first"] = "second"
    """Differentiate through the inner steps (second), or treat their result as a constant (first)."""
    support_sizes: tuple[int, int] = (4, 64)
    """Smallest and largest support, drawn log-uniformly; the other rows are queries."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "inner_steps")
        check_numbers(self, "at least", 0, "inner_rate")
        check_sizes(self, "support_sizes")


@dataclass(frozen=True, kw_only=True)
class CaviaSettings(MamlSettings):
    """The settings of CAVIA."""

    inner_steps: int = 10
    """Gradient-descent steps on z per outer step."""
    inner_rate: float = 1.0
    """Learning rate of the inner steps."""
    support_sizes: tuple[int, int] = (64, 64)
    """Smallest and largest support, drawn log-uniformly; the other rows are queries."""


@dataclass(frozen=True, kw_only=True)
class SnailSettings(MethodSettings):
    """The settings of SNAIL."""

    per_shots: ClassVar[bool] = True
    by_steps: ClassVar[bool] = False
    takes_hints: ClassVar[bool] = False

    episode_queries: int | None = None
    """Queries per task in an outer step; None: all rows outside the support."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "episode_queries")


@dataclass(frozen=True, kw_only=True)
class MatchingSettings(SnailSettings):
    """The settings of matching networks, which compare each query with each example of the support."""

    episode_queries: int | None = 32


@dataclass(frozen=True, kw_only=True)
class PrototypicalSettings(MethodSettings):
    """The settings of prototypical networks."""

    by_steps: ClassVar[bool] = False

    most_shots: int = 20
    """Largest support in training, in examples per class; sizes are drawn log-uniformly from 1."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "most_shots")


@dataclass(frozen=True, kw_only=True)
class NearestSettings(MethodSettings):
    """The settings of the nearest neighbour."""

    trained: ClassVar[bool] = False
    by_steps: ClassVar[bool] = False
    takes_primitives: ClassVar[bool] = False

    smoothing: float = 0.5
    """Probability that is spread evenly over all answers."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "above", 0, "smoothing")
        check_numbers(self, "at most", 1, "smoothing")


SETTINGS: dict[str, type[MethodSettings]] = {
    "tam": TamSettings,
    "agnostic": AgnosticSettings,
    "multitask": MultitaskSettings,
    "maml": MamlSettings,
    "cavia": CaviaSettings,
    "snail": SnailSettings,
    "matching": MatchingSettings,
    "prototypical": PrototypicalSettings,
    "nearest": NearestSettings,
}
"""The settings class of each method, in the order of the command line."""


def settings_of(method: str) -> type[MethodSettings]:
    """The settings class of a method; for a method registered by a user, the method's own class."""
    if method not in list(SETTINGS):
        raise UserError(f"there is no method {method!r}: it must be one of {list(SETTINGS)}")
    return SETTINGS[method]
