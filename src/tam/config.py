"""Everything that determines a run, as frozen dataclasses that are checked when made.

This file imports nothing heavy: the command line is built from it.
"""

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, Literal, NamedTuple, cast, get_args, get_origin, get_type_hints

from tam.errors import SettingError, UserError
from tam.presets import PRESETS, PRESETS_BY_BENCHMARK, PRESETS_BY_METHOD, Preset


def _check_types(settings: object) -> None:
    for name, expected in get_type_hints(type(settings)).items():
        value = getattr(settings, name)
        if get_origin(expected) is Literal:
            _one_of(settings, name, get_args(expected))
        elif get_origin(expected) is not ClassVar and not _fits(value, expected):
            shown = expected.__name__ if isinstance(expected, type) and not get_args(expected) else expected
            raise SettingError(f"{name} is of type {shown}, not {value!r}")
        numbers = value if isinstance(value, tuple) else (value,)
        if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
            raise SettingError(f"{name} is finite, not {value!r}")


def _fits(value: object, expected: Any) -> bool:
    """Whether a value is of a type, as far as types occur here; an integer is a number, a truth value not."""
    if get_origin(expected) is UnionType:
        return any(_fits(value, part) for part in get_args(expected))
    if get_origin(expected) is tuple:
        parts = get_args(expected)
        if not isinstance(value, tuple) or (Ellipsis not in parts and len(value) != len(parts)):
            return False
        return all(_fits(item, parts[0]) for item in value)
    if expected in (int, float):
        return isinstance(value, (int, expected)) and not isinstance(value, bool)
    return isinstance(value, expected)


def _at_least(settings: object, least: float, *names: str) -> None:
    for name in names:
        value = getattr(settings, name)
        if value is not None and not value >= least:
            raise SettingError(f"{name} is at least {least}, not {value!r}")


def _one_of(settings: object, name: str, choices: tuple[Any, ...]) -> None:
    if getattr(settings, name) not in choices:
        raise SettingError(f"{name} is one of {list(choices)}, not {getattr(settings, name)!r}")


def _changed(settings: object, default: object) -> str | None:
    """The name of a setting that is not as by default, if there is one."""
    before, now = vars(default), vars(settings)
    return next((name for name in now if now[name] != before[name]), None)


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
    use_primitives: bool | None = None
    """Whether the model is given the tasks' primitives; if not said, whether they have some."""

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least(self, 1, "layers", "width", "heads", "bottleneck")
        if self.width % self.heads:
            raise SettingError(f"width is a multiple of heads; {self.width} is not one of {self.heads}")
        if self.bottleneck is not None and self.conditioning != "adapter":
            raise SettingError("bottleneck has no effect unless conditioning is 'adapter'")
        if self.backbone == "lstm" and self.conditioning != "token":
            raise SettingError(f"conditioning of the LSTM is 'token', not {self.conditioning!r}")
        if self.backbone == "lstm" and self.heads != Network.heads:
            raise SettingError(f"heads has no effect on the LSTM; leave it out, at {Network.heads}")


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
    """

    trained: ClassVar[bool] = True
    per_shots: ClassVar[bool] = False
    by_steps: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_types(self)


@dataclass(frozen=True, kw_only=True)
class TamSettings(MethodSettings):
    """The settings of TAM."""

    inner_steps: int = 25
    """Most updates of z in one outer step, T."""
    inner_rate: float = 0.03
    """The rate of Adam on z."""
    patience: int | None = 1
    """A task stops when its loss has not improved for so many updates; None: never."""
    theta_update: Literal["accumulated", "interleaved"] = "accumulated"
    """θ moves once an outer step, by the gradients met on the way (the paper), or after every update of z."""
    support: Literal["all", "mixed"] = "all"
    """z follows all rows (the paper), or in some tasks a random small support, while θ follows all rows."""
    small_share: float | None = None
    """With mixed supports: the share of tasks with a small one, 0.5 if not given."""
    small_after: int | None = None
    """With mixed supports: how many outer steps all rows come first, 400 if not given."""
    small_sizes: tuple[int, int] | None = None
    """With mixed supports: the smallest and largest small support, log-uniform, 4 and 64 if not given."""

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least(self, 1, "inner_steps", "patience")
        _at_least(self, 0, "inner_rate", "small_share", "small_after")
        if self.small_share is not None and self.small_share > 1:
            raise SettingError(f"small_share is at most 1, not {self.small_share!r}")
        if self.small_sizes is not None and not 1 <= self.small_sizes[0] <= self.small_sizes[1]:
            raise SettingError(f"small_sizes are at least 1, the smaller first, not {self.small_sizes!r}")
        for name in ("small_share", "small_after", "small_sizes"):
            if self.support == "all" and getattr(self, name) is not None:
                raise SettingError(f"{name} has no effect unless support is 'mixed'")

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


@dataclass(frozen=True, kw_only=True)
class MultitaskSettings(MethodSettings):
    """The settings of the multitask transformer."""

    finetune: Literal["all", "embedding"] = "all"
    """What learns a new task: all weights and its embedding, or its embedding alone."""
    unknown_share: float | None = None
    """With primitives: in what share of the tasks of a step one of them plays unknown, 0.5 if not given."""

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least(self, 0, "unknown_share")
        if self.unknown_share is not None and self.unknown_share > 1:
            raise SettingError(f"unknown_share is at most 1, not {self.unknown_share!r}")


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
        _check_types(self)
        _at_least(self, 1, "inner_steps")
        _at_least(self, 0, "inner_rate")
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
        _check_types(self)
        _at_least(self, 1, "episode_queries")


@dataclass(frozen=True, kw_only=True)
class MatchingSettings(SnailSettings):
    """The settings of matching networks, which compare each query with each example of the support."""

    episode_queries: int | None = 32


@dataclass(frozen=True, kw_only=True)
class NearestSettings(MethodSettings):
    """The settings of the nearest neighbour."""

    trained: ClassVar[bool] = False
    by_steps: ClassVar[bool] = False

    smoothing: float = 0.5
    """The probability that is spread over all answers."""

    def __post_init__(self) -> None:
        _check_types(self)
        if not 0 < self.smoothing <= 1:
            raise SettingError(f"smoothing is above 0 and at most 1, not {self.smoothing!r}")


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
    precision: Literal["float32", "bfloat16"] = "float32"
    """What matrix products are computed in; weights and optimiser states are always float32."""

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least(self, 1, "tasks", "rows", "validate_every", "checkpoint_every")
        _at_least(self, 0, "steps", "rate", "warmup")
        if not self.clip > 0:
            raise SettingError(f"clip is above 0, not {self.clip!r}")


NOT_TRAINED = Training(steps=0)
"""Of a method that is not trained."""

NO_STEPS: tuple[tuple[int], tuple[float]] = ((0,), (0.0,))
"""What is chosen from where a method takes no steps."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The k-shot protocol: see `tam.evaluation`."""

    shots: tuple[int, ...] = (1, 5, 10, 20)
    """The values of k: examples a task, for classification examples a class."""
    supports: int = 4
    """How many support sets are drawn for each task."""
    queries: int = 100
    """How many queries each of them is scored on, at most."""
    adapt_steps: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 18, 25, 50, 100)
    """The numbers of inner steps to choose from; 0 alone for a method that takes none."""
    adapt_rates: tuple[float, ...] = (0.01, 0.03, 0.1)
    """The rates to choose from; 0 alone for a method that takes no steps."""
    support_seed: int = 0
    """Supports and queries follow from it."""

    def __post_init__(self) -> None:
        for name in ("shots", "adapt_steps", "adapt_rates"):
            if isinstance(value := getattr(self, name), list):
                object.__setattr__(self, name, tuple(value))
        _check_types(self)
        none = {"adapt_steps": NO_STEPS[0], "adapt_rates": NO_STEPS[1]}
        for name in ("shots", "adapt_steps", "adapt_rates"):
            value = getattr(self, name)
            if not value or (min(value) <= 0 and value != none.get(name)):
                raise SettingError(f"{name} has one value or more, all above 0, not {value!r}")
            if len(set(value)) < len(value):
                raise SettingError(f"{name} has every value once, not {value!r}")
        _at_least(self, 1, "supports", "queries")


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


_SECTIONS = ("network", "settings", "training", "protocol")


@dataclass(frozen=True, kw_only=True)
class Config:
    """A run up to its tasks: config and seed give the same result again."""

    method: str = "tam"
    """How θ is trained and how a new task is learned."""
    seed: int = 0
    """Initialisation and every draw of training follow from it."""
    device: str = "cpu"
    """cpu, or cuda."""
    network: Network = field(default_factory=Network)
    settings: MethodSettings = field(default_factory=TamSettings)
    training: Training = field(default_factory=Training)
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        _check_types(self)
        if not isinstance(self.settings, settings_of(self.method)):
            raise UserError(f"{type(self.settings).__name__} are not the settings of {self.method!r}")
        if self.settings.per_shots and len(self.protocol.shots) != 1:
            raise SettingError(
                f"{self.method} has one model per k: give one value of shots and train a model for each, "
                f"not {list(self.protocol.shots)}"
            )
        given = (self.protocol.adapt_steps, self.protocol.adapt_rates)
        if not self.settings.by_steps and given != NO_STEPS:
            raise SettingError(
                f"adapt_steps and adapt_rates have no effect on {self.method}, which learns a task without "
                "steps; leave them out"
            )
        if not self.settings.trained:
            for section, default in (("network", Network()), ("training", NOT_TRAINED)):
                if changed := _changed(getattr(self, section), default):
                    raise SettingError(f"{changed} has no effect on {self.method}, which is not trained")
        _at_least(self, 0, "seed")
        if self.seed >= 2**63:
            raise SettingError(f"seed is below 2^63, not {self.seed}")
        if self.device != "cpu" and self.device.partition(":")[0] != "cuda":
            raise SettingError(f"device is cpu or cuda, not {self.device!r}")

    @classmethod
    def of(cls, method: str) -> "Config":
        """The defaults of a method."""
        settings = settings_of(method)()
        protocol = Protocol()
        if settings.per_shots:
            protocol = replace(protocol, shots=(5,))
        if not settings.by_steps:
            protocol = replace(protocol, adapt_steps=NO_STEPS[0], adapt_rates=NO_STEPS[1])
        training = Training() if settings.trained else NOT_TRAINED
        return cls(method=method, settings=settings, training=training, protocol=protocol)

    @classmethod
    def from_preset(
        cls, preset: str, method: str = "tam", benchmark: str | None = None, **values: Any
    ) -> "Config":
        """A preset, with single fields replaced by name.

        Args:
            preset: smoke, quick, paper or best.
            method: How θ is trained and how a new task is learned.
            benchmark: Where a preset has settings of its own for a benchmark, take those.
            **values: Any field of any section.

        >>> Config.from_preset("quick", steps=20).training.steps
        20
        """
        if preset not in get_args(Preset):
            raise UserError(f"there is no preset {preset!r}: it is one of {list(get_args(Preset))}")
        base = cls.of(method)
        unused = {"shots"} if base.settings.per_shots else set[str]()
        unused |= set[str]() if base.settings.by_steps else {"adapt_steps", "adapt_rates"}
        if not base.settings.trained:
            unused |= {f.name for part in (base.network, base.training) for f in fields(part)}
        chosen = (
            {name: value for name, value in PRESETS[preset].items() if name not in unused}
            | PRESETS_BY_METHOD.get((preset, method), {})
            | PRESETS_BY_BENCHMARK.get((preset, method, benchmark or ""), {})
        )
        return base.override(**chosen | values)

    def override(self, **values: Any) -> "Config":
        """The same with fields replaced by name, whichever section they are in."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            section = self._section_of(name)
            changes.setdefault(section, {})[name] = tuple(value) if isinstance(value, list) else value
        top = changes.pop("", {})
        parts = {section: replace(getattr(self, section), **change) for section, change in changes.items()}
        return replace(self, **top, **parts)

    def _section_of(self, name: str) -> str:
        known = {
            f.name: section for section in _SECTIONS for f in fields(getattr(self, section))
        } | dict.fromkeys(("method", "seed", "device"), "")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"there is no setting {name!r} of method {self.method!r}{hint}")
        return known[name]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def differences(self, written: Mapping[str, Any]) -> list[str]:
        """In what this config differs from one that was written as plain values, in words."""
        before, now = (_flat(json.loads(json.dumps(values))) for values in (written, self.to_json()))
        names = [name for name in now | before if before.get(name) != now.get(name)]
        return [f"{name} was {before.get(name)!r} and is {now.get(name)!r}" for name in names]

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Config":
        """From plain values; what is missing has its default, what is unknown is an error."""
        known = {f.name for f in fields(cls)}
        if unknown := [name for name in values if name not in known]:
            raise UserError(f"a config has {sorted(known)}, not {unknown[0]!r}")
        method = values.get("method", "tam")
        base = cls.of(method)
        flat = {name: values[name] for name in ("seed", "device") if name in values}
        for section in _SECTIONS:
            given = values.get(section, {})
            if not isinstance(given, dict):
                raise UserError(f"{section} is an object, not {given!r}")
            names = {f.name for f in fields(getattr(base, section))}
            if unknown := [name for name in given if name not in names]:
                raise UserError(f"{section} has {sorted(names)}, not {unknown[0]!r}")
            flat |= given
        return base.override(**flat)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, whichever section they are in."""
    top = {name: value for name, value in values.items() if name not in _SECTIONS}
    return top | {name: value for section in _SECTIONS for name, value in values.get(section, {}).items()}


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # no JSON, no text, a number too long, lists too deep
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{path}{line}: not JSON, or not of ours: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}: expected an object")
    return value
