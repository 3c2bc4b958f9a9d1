"""Everything that determines a run up to its tasks, as frozen dataclasses that are checked when made.

Its sections are those of `tam.config.sections`, and the settings of its method, of `tam.config.methods`.
These files import nothing heavy: the command line is built from them.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

from tam.config.methods import MethodSettings, TamSettings, settings_of
from tam.config.presets import PRESETS, PRESETS_BY_BENCHMARK, PRESETS_BY_METHOD, Preset
from tam.config.sections import NO_STEPS, NOT_TRAINED, Network, Protocol, Training
from tam.config.validate import check_at_least, check_types
from tam.errors import SettingError, UserError

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
        check_types(self)
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
        check_at_least(self, 0, "seed")
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
            changes.setdefault(section, {})[name] = _plain(value)
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
        changes = differing(written, self.to_json())
        return [f"{name} was {before!r} and is {now!r}" for name, (before, now) in changes.items()]

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


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """The settings whose values differ between two configs that are plain values; None: it is not there."""
    first, second = (_flat(json.loads(json.dumps(values))) for values in (one, other))
    names = [name for name in second | first if first.get(name) != second.get(name)]
    return {name: (first.get(name), second.get(name)) for name in names}


def _plain(value: Any) -> Any:
    """A number or an array of numpy's as Python's own; a list or a range as a tuple."""
    if callable(own := getattr(value, "tolist", None)):
        value = own()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple | range) else value


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, whichever section they are in."""
    top = {name: value for name, value in values.items() if name not in _SECTIONS}
    return top | {name: value for section in _SECTIONS for name, value in values.get(section, {}).items()}


def _changed(settings: object, default: object) -> str | None:
    """The name of a setting that is not as by default, if there is one."""
    before, now = vars(default), vars(settings)
    return next((name for name in now if now[name] != before[name]), None)
