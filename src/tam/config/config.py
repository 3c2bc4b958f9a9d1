"""The config: everything that determines a run except its tasks, as frozen, validated dataclasses.

The sections are defined in `tam.config.sections`, the settings of each method in `tam.config.methods`.
These files import nothing heavy: the command line is built from them.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

from tam.config.methods import MethodSettings, TamSettings, settings_of
from tam.config.presets import (
    BENCHMARKS,
    OWN_TASKS,
    PRESETS,
    PRESETS_BY_BENCHMARK,
    PRESETS_BY_METHOD,
    Preset,
)
from tam.config.sections import Network, Protocol, Training
from tam.config.validate import check_numbers, check_types
from tam.errors import SettingError, UserError

_SECTIONS = ("network", "settings", "training", "protocol")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Everything that determines a run except its tasks: the same config and tasks give the same result.

    Settings that the method does not use are reset to fixed values, so that equal runs have equal configs.
    """

    method: str = "tam"
    """How θ is trained and how a new task is learned."""
    seed: int = 0
    """Seed of the initialisation and of every random draw in training."""
    device: str = "cpu"
    """cpu, cuda, or one of several GPUs, such as cuda:1."""
    network: Network = field(default_factory=Network)
    settings: MethodSettings = field(default_factory=TamSettings)
    training: Training = field(default_factory=Training)
    protocol: Protocol = field(default_factory=Protocol)

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 0, "seed")
        if self.device != "cpu" and self.device.partition(":")[0] != "cuda":
            raise SettingError(f"device must be cpu or cuda: got {self.device!r}")
        if not isinstance(self.settings, settings_of(self.method)):
            raise UserError(f"{type(self.settings).__name__} are not the settings of {self.method!r}")
        if self.settings.per_shots and len(self.protocol.shots) != 1:
            raise SettingError(
                f"shots must be one value for {self.method}, which trains one model per k: got "
                f"{list(self.protocol.shots)}"
            )
        if not self.settings.by_steps:
            without_steps = replace(self.protocol, adapt_steps=(0,), adapt_rates=(0.0,))
            object.__setattr__(self, "protocol", without_steps)
        reads_hints = self.settings.takes_hints and self.network.encoder is None
        if self.network.hints and not reads_hints:
            object.__setattr__(self, "network", replace(self.network, hints=0))
        if not self.settings.trained:
            object.__setattr__(self, "network", Network(mask_tokens=self.network.mask_tokens))
            object.__setattr__(self, "training", Training(steps=0))

    @classmethod
    def of(cls, method: str) -> "Config":
        """The default config of a method."""
        settings = settings_of(method)()
        protocol = Protocol(shots=(5,)) if settings.per_shots else Protocol()
        return cls(method=method, settings=settings, protocol=protocol)

    @classmethod
    def from_preset(
        cls, preset: str, method: str = "tam", benchmark: str | None = None, **values: Any
    ) -> "Config":
        """The config of a preset, with fields replaced by name.

        Args:
            preset: smoke, quick, paper or best.
            method: How θ is trained and how a new task is learned.
            benchmark: Use the preset's settings for this benchmark, if it has any; any other name means the
                user's own tasks.
            **values: Any field of any section.

        >>> Config.from_preset("quick", steps=20).training.steps
        20
        """
        if preset not in get_args(Preset):
            raise UserError(f"there is no preset {preset!r}: it must be one of {list(get_args(Preset))}")
        base = cls.of(method)
        common = PRESETS[preset]
        if base.settings.per_shots:
            common = {name: value for name, value in common.items() if name != "shots"}
        own = PRESETS_BY_METHOD.get((preset, method), {})
        if preset != "paper" and benchmark is not None and benchmark not in BENCHMARKS:
            common = common | OWN_TASKS
        own = own | PRESETS_BY_BENCHMARK.get((preset, method, benchmark or ""), {})
        return base.override(**common | own | values)

    def override(self, /, **values: Any) -> "Config":
        """Return a copy with fields of any section replaced by name."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            changes.setdefault(self._section_of(name), {})[name] = _plain(value)
        top = changes.pop("", {})
        parts = {section: replace(getattr(self, section), **change) for section, change in changes.items()}
        return replace(self, **top, **parts)

    def _section_of(self, name: str) -> str:
        known = {f.name: section for section in _SECTIONS for f in fields(getattr(self, section))}
        known |= dict.fromkeys(("method", "seed", "device"), "")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"there is no setting {name!r} of method {self.method!r}{hint}")
        return known[name]

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Config":
        """Convert from plain values; missing fields get their defaults, unknown ones are an error."""
        for section in _SECTIONS:
            if not isinstance(given := values.get(section, {}), dict):
                raise UserError(f"{section} must be an object: got {given!r}")
        flat = _flat(values)
        return cls.of(flat.pop("method", "tam")).override(**flat)

    def differences(self, written: Mapping[str, Any]) -> list[str]:
        """Describe how this config differs from one written as plain values."""
        changes = differing(written, self.to_json())
        return [f"{name} was {before!r} and is {now!r}" for name, (before, now) in changes.items()]


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings that differ between two configs, both as plain values.

    A missing setting counts as its default, or as None if it has none.
    """
    first, second = (_filled(_flat(json.loads(json.dumps(values)))) for values in (one, other))
    names = [name for name in second | first if first.get(name) != second.get(name)]
    return {name: (first.get(name), second.get(name)) for name in names}


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    """Add defaults for missing settings that all methods share: old files may lack newer ones."""
    defaults = {f.name: f.default for section in (Network, Training, Protocol) for f in fields(section)}
    return values | {name: value for name, value in defaults.items() if name not in values}


def _plain(value: Any) -> Any:
    """Convert numpy numbers and arrays to Python's, and lists and ranges to tuples."""
    if callable(own := getattr(value, "tolist", None)):
        value = own()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple | range) else value


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the sections into one mapping of settings by name."""
    top = {name: value for name, value in values.items() if name not in _SECTIONS}
    return top | {name: value for section in _SECTIONS for name, value in values.get(section, {}).items()}
