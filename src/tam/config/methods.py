"""The settings of each method.

This file imports nothing heavy: the command line is built from it.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, cast

from tam.config.sections import MOST_STEPS
from tam.config.validate import check_at_least, check_at_most, check_types
from tam.errors import SettingError, UserError


class SmallSupports(NamedTuple):
    """How z follows small supports in some tasks of a step."""

    share: float
    after: int
    sizes: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class MethodSettings:
    """The settings of a method; this one has none.

    Attributes:
        trained: Whether there is a network to train.
        per_shots: Whether a model is for one k, which it is trained for.
        by_steps: Whether a new task is learned in steps, whose number and rate are chosen.
        takes_primitives: Whether a network is given the primitives of tasks that have some.
    """

    trained: ClassVar[bool] = True
    per_shots: ClassVar[bool] = False
    by_steps: ClassVar[bool] = True
    takes_primitives: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True, kw_only=True)
class TamSettings(MethodSettings):
    """The settings of TAM."""

    inner_steps: int = 25
    """Most updates of z in one outer step, T."""
    inner_rate: float = 0.03
    """The rate of Adam on z."""
    patience: int | None = 1
    """In training, a task stops when its loss has not improved for so many updates; None: never."""
    theta_update: Literal["accumulated", "interleaved"] = "accumulated"
    """θ moves once an outer step, by the gradients met on the way (the paper), or after every update of z."""
    warm_share: float = 0.0
    """The share of a step's tasks whose z starts where their last visit ended; the others start at 0."""
    learn_blank: bool = False
    """Whether θ also learns from the pass before the first update of z, which the paper has for z alone."""
    proposer: bool = False
    """Whether an encoder of the support, trained along, proposes where z starts; not with primitives."""
    starts: int = 1
    """How many searches learn a new task: one from a blank z (the paper), or others too, from the embeddings
    of training tasks or primitives that fit its examples best; they answer together."""
    support: Literal["all", "mixed"] = "all"
    """z follows all rows (the paper), or in some tasks a random small support, while θ follows all rows."""
    small_share: float | None = None
    """With mixed supports: the share of tasks with a small one, 0.5 if not given."""
    small_after: int | None = None
    """With mixed supports: how many outer steps all rows come first, 400 if not given."""
    small_sizes: tuple[int, int] | None = None
    """With mixed supports: the smallest and largest small support, log-uniform, 4 and 64 if not given."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "inner_steps", "patience", "starts")
        check_at_least(self, 0, "inner_rate", "small_share", "small_after", "warm_share")
        check_at_most(self, 1, "small_share", "warm_share")
        check_at_most(self, MOST_STEPS, "inner_steps")
        if self.small_sizes is not None and not 1 <= self.small_sizes[0] <= self.small_sizes[1]:
            raise SettingError(f"small_sizes are at least 1, the smaller first, not {self.small_sizes!r}")
        for name in ("small_share", "small_after", "small_sizes"):
            if self.support == "all" and getattr(self, name) is not None:
                raise SettingError(f"{name} has no effect unless support is 'mixed'")
        if self.proposer and not self.learn_blank:
            raise SettingError("proposer must go with learn_blank: it learns from the pass at the start of z")
        if self.small_share == 0:
            raise SettingError("small_share is above 0: with none, support 'mixed' has no effect; give 'all'")

    @property
    def small(self) -> SmallSupports | None:
        """The small supports, with what is not given filled in; None where there are none."""
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
    """What learns a new task: all weights and its embedding, or its embedding alone."""
    unknown_share: float | None = None
    """With primitives: in what share of the tasks of a step one of them plays unknown, 0.5 if not given."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 0, "unknown_share")
        check_at_most(self, 1, "unknown_share")


@dataclass(frozen=True, kw_only=True)
class MamlSettings(MethodSettings):
    """The settings of MAML."""

    inner_steps: int = 5
    """Steps of gradient descent in one outer step."""
    inner_rate: float = 0.1
    """The rate of those steps."""
    order: Literal["second", "first"] = "second"
    """Whether θ's gradient goes through the inner steps, or takes what they lead to as given."""
    support_sizes: tuple[int, int] = (4, 64)
    """The smallest and largest support, log-uniform; the other rows are the query."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "inner_steps")
        check_at_most(self, MOST_STEPS, "inner_steps")
        check_at_least(self, 0, "inner_rate")
        if not 1 <= self.support_sizes[0] <= self.support_sizes[1]:
            raise SettingError(f"support_sizes are at least 1, the smaller first, not {self.support_sizes!r}")


@dataclass(frozen=True, kw_only=True)
class CaviaSettings(MamlSettings):
    """The settings of CAVIA."""

    inner_steps: int = 10
    """Steps of gradient descent on z in one outer step."""
    inner_rate: float = 1.0
    """The rate of those steps."""
    support_sizes: tuple[int, int] = (64, 64)
    """The smallest and largest support, log-uniform; the other rows are the query."""


@dataclass(frozen=True, kw_only=True)
class SnailSettings(MethodSettings):
    """The settings of SNAIL."""

    per_shots: ClassVar[bool] = True
    by_steps: ClassVar[bool] = False

    episode_queries: int | None = None
    """Queries of each task in one outer step; None: all rows that are not in the support."""

    def __post_init__(self) -> None:
        check_types(self)
        check_at_least(self, 1, "episode_queries")


@dataclass(frozen=True, kw_only=True)
class MatchingSettings(SnailSettings):
    """The settings of matching networks, which compare each query with each example of the support."""

    episode_queries: int | None = 32


@dataclass(frozen=True, kw_only=True)
class NearestSettings(MethodSettings):
    """The settings of the nearest neighbour."""

    trained: ClassVar[bool] = False
    by_steps: ClassVar[bool] = False
    takes_primitives: ClassVar[bool] = False

    smoothing: float = 0.5
    """The probability that is spread over all answers."""

    def __post_init__(self) -> None:
        check_types(self)
        if not 0 < self.smoothing <= 1:
            raise SettingError(f"smoothing is above 0 and at most 1, not {self.smoothing!r}")


SETTINGS: dict[str, type[MethodSettings]] = {
    "tam": TamSettings,
    "agnostic": AgnosticSettings,
    "multitask": MultitaskSettings,
    "maml": MamlSettings,
    "cavia": CaviaSettings,
    "snail": SnailSettings,
    "matching": MatchingSettings,
    "nearest": NearestSettings,
}
"""The settings of the methods that have them here, where reading them needs nothing heavy."""


def settings_of(method: str) -> type[MethodSettings]:
    """The class of a method's settings; where it is not listed above, the method's own."""
    if method in list(SETTINGS):
        return SETTINGS[method]
    from tam.methods import METHODS

    if method not in list(METHODS):
        raise UserError(f"there is no method {method!r}: it is one of {list(METHODS)}")
    return cast(type[MethodSettings], METHODS[method])
