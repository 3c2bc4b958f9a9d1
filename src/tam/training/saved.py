"""A trained model on disk, with everything needed to use it.

`model.safetensors` has the last weights, `best-K.safetensors` those that validated best at k = K, with their
choice of steps and rate; `learner.json` has the rest. The best weights are used where there are any.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tam.config.config import Config
from tam.errors import UserError
from tam.evaluation.protocol import Choice
from tam.io import MALFORMED, exists, finite, infinite_if_none, read_json, unreadable
from tam.models import Model, ModelSpec, build_model, place_model
from tam.tasks.text import TOKENIZER, tokenizer_named
from tam.tasks.vocabulary import Vocabulary, plain_token
from tam.training.checkpoint import (
    checksum,
    load_weights,
    read_tensors,
    write_json,
    write_tensors,
    write_text,
)
from tam.training.folder import best_file
from tam.training.preflight import check_device

_FORMAT = 2
_NEXT = "learner.json.next"
_PLAIN_TEXT = (None, "characters", "words")


@dataclass(frozen=True)
class Best:
    """The best validation at one k so far."""

    step: int
    quality: tuple[float, float]
    choice: Choice

    def to_json(self) -> list[Any]:
        """As plain values."""
        return [self.step, list(map(finite, self.quality)), list(self.choice)]

    @classmethod
    def from_json(cls, values: Any) -> "Best":
        """From plain values; raises one of `MALFORMED` if they do not describe a validation."""
        step, (first, second), (steps, rate) = values
        quality = (float(infinite_if_none(first)), float(infinite_if_none(second)))
        return cls(int(step), quality, Choice(int(steps), float(rate)))

    @classmethod
    def of_file(cls, header: Mapping[str, Any], path: Path) -> "Best":
        """From the header of a weights file."""
        try:
            return cls.from_json(header["best"])
        except MALFORMED as error:
            raise UserError(f"{path}: not the weights of a validation, or damaged ({error!r})") from None


@dataclass(frozen=True)
class Saved:
    """A trained model and what it is used with.

    Attributes:
        config: Its settings.
        model: The network with its last weights.
        vocabulary: Its tokens.
        primitives: The ids of the primitives that it knows; None if it uses none.
        choices: At each k, the steps and rate with which the last weights learn a task.
        best: At each k, the best validation and the network with its weights.
        text: How text is split, as in `text_splitter`; None: into words.
    """

    config: Config
    model: Model
    vocabulary: Vocabulary
    primitives: dict[str, int] | None
    choices: dict[int, Choice]
    best: dict[int, tuple[Best, Model]] = field(default_factory=dict)
    text: str | None = None

    @property
    def at_each_k(self) -> dict[int, tuple[Model, Choice]]:
        """The network to use at each k, and its steps and rate there."""
        last = {k: (self.model, choice) for k, choice in self.choices.items()}
        return last | {k: (model, best.choice) for k, (best, model) in self.best.items()}

    def at(self, k: int) -> tuple[Model, Choice]:
        """The network to use at any k, with its steps and rate: that of the nearest validated k."""
        known = self.at_each_k
        return known[min(known, key=lambda other: abs(math.log(other / k)))]

    def write(self, folder: Path, *, half: bool = False) -> None:
        """Write all files. If this is interrupted, `read` finds this model or the previous one.

        With `half`, weights are rounded to float16; they are still read as float32.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for k, (best, model) in self.best.items():
            write_tensors(best_file(folder, k), _weights_of(model, half=half), {"best": best.to_json()})
        self.write_last(folder, half=half)
        for k in self.config.protocol.shots:
            if k not in self.best:
                best_file(folder, k).unlink(missing_ok=True)

    def write_last(self, folder: Path, *, half: bool = False) -> None:
        """Write all but the best weights, which training writes as it validates.

        The description has a temporary name until the weights are in place.
        """
        weights = _weights_of(self.model, half=half)
        if (tokenizer := tokenizer_named(self.text)) is not None:
            write_text(folder / TOKENIZER, Path(tokenizer).read_text(encoding="utf-8"))
        description = {
            "format": _FORMAT,
            "config": self.config.to_json(),
            "spec": asdict(self.model.spec),
            "vocabulary": list(self.vocabulary.tokens),
            "text": self.text if self.text in _PLAIN_TEXT else TOKENIZER,
            "primitives": self.primitives,
            "choices": {str(k): list(choice) for k, choice in self.choices.items()},
            "weights": checksum(weights),
            "best": {str(k): checksum(_weights_of(model, half=half)) for k, (_, model) in self.best.items()},
        }
        write_json(folder / _NEXT, description)
        write_tensors(folder / "model.safetensors", weights, {})
        os.replace(folder / _NEXT, folder / "learner.json")

    @classmethod
    def read(cls, folder: Path, device: str) -> "Saved":
        """Read all files; nothing in them is executed."""
        file = folder / "learner.json"
        if not exists(file) and not exists(folder / _NEXT):
            raise UserError(f"{folder}: no trained model here (no learner.json): is the run finished?")
        weights = read_tensors(folder / "model.safetensors")[0]
        values = _description_of(weights, folder)
        try:
            return cls._from_values(values, weights, folder, device)
        except UserError:
            raise
        except MALFORMED as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise UserError(f"{file}: not the description of a trained model ({reason})") from None

    @classmethod
    def _from_values(
        cls, values: Mapping[str, Any], weights: Mapping[str, Tensor], folder: Path, device: str
    ) -> "Saved":
        if values["format"] != _FORMAT:
            raise UserError(f"{folder}: format must be {_FORMAT} for this version: got {values['format']}")
        config = replace(Config.from_json(values["config"]), device=device)
        check_device(device)
        spec = ModelSpec.from_json(values["spec"])
        _check_sizes(spec, weights)
        return cls(
            config,
            _model_of(config, spec, weights, folder / "model.safetensors"),
            _vocabulary(values, spec),
            _primitives(values),
            _choices(values["choices"]),
            read_best(folder, config, spec, values.get("best")),
            _text(values, folder),
        )


def _description_of(weights: Mapping[str, Tensor], folder: Path) -> dict[str, Any]:
    """The description that was written with these weights; earlier versions did not record which."""
    files = [folder / name for name in ("learner.json", _NEXT) if (folder / name).exists()]
    own = checksum(weights)
    for file in files:
        values = read_json(file)
        if values.get("weights", own) == own:
            return values
    raise UserError(f"{files[0]}: does not describe the weights of model.safetensors")


def _weights_of(model: Model, *, half: bool = False) -> dict[str, Tensor]:
    kept = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    if not half:
        return kept
    return {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in kept.items()}


def _model_of(config: Config, spec: ModelSpec, weights: Mapping[str, Tensor], file: Path) -> Model:
    model = build_model(spec, torch.Generator().manual_seed(0))
    load_weights(model, weights, file)
    return place_model(model, config.device, config.training.precision)


def read_best(
    folder: Path, config: Config, spec: ModelSpec, checksums: Mapping[str, str] | None = None
) -> dict[int, tuple[Best, Model]]:
    """Read the best validation at each k from a folder, with the network that has its weights.

    Weights whose checksum is not the one given for their k belong to another model, and are left out.
    """
    best: dict[int, tuple[Best, Model]] = {}
    for k in config.protocol.shots:
        if exists(file := best_file(folder, k)):
            weights, header = read_tensors(file)
            if checksums is not None and checksums.get(str(k)) != checksum(weights):
                continue
            best[k] = Best.of_file(header, file), _model_of(config, spec, weights, file)
    return best


def validated(folder: Path, step: int) -> dict[int, Choice]:
    """The steps and rate chosen at each k after an outer step, from the metrics of the run in a folder."""
    choices: dict[int, Choice] = {}
    file = folder / "metrics.jsonl"
    try:
        with file.open(encoding="utf-8") as opened:
            lines = list(opened)
    except OSError as error:
        raise unreadable(file, error) from None
    try:
        for record in map(json.loads, lines):
            if record["step"] == step and "valid" in record:
                scores = record["valid"].items()
                choices |= {int(k): Choice(int(one["steps"]), float(one["rate"])) for k, one in scores}
    except MALFORMED as error:
        raise UserError(f"{file}: not the metrics of a run ({error!r})") from None
    return choices


def _check_sizes(spec: ModelSpec, weights: Mapping[str, Tensor]) -> None:
    """Raise an error, before a network is built, if it would be larger than these weights."""
    sizes = ["vocabulary", "primitives", "tasks", "kept", "memory", "width", "bottleneck", "outputs"]
    if spec.positions == "table" and spec.encoder is None:
        sizes += ["x_places", "max_y"]
    largest = max((size for tensor in weights.values() for size in tensor.shape), default=0)
    for name in (*sizes, "task_places"):
        if (size := getattr(spec, name) or 0) > largest:
            raise ValueError(f"{name} is {size}, and no dimension of the weights is above {largest}")
    if spec.layers > len(weights):
        raise ValueError(f"{spec.layers} layers, and {len(weights)} tensors of weights")


def _vocabulary(values: Mapping[str, Any], spec: ModelSpec) -> Vocabulary:
    tokens, size = values["vocabulary"], spec.named
    if not isinstance(tokens, list) or len(tokens) != size or None in map(plain_token, tokens):
        raise ValueError(f"vocabulary must be a list of {size} integers and strings")
    return Vocabulary(tokens)


def _text(values: Mapping[str, Any], folder: Path) -> str | None:
    """How text is split; earlier versions recorded it in a run's config, beside a copy of the tokenizer."""
    if "text" in values or exists(folder / TOKENIZER):
        text = values.get("text", TOKENIZER)
    else:
        config = folder / "config.json"
        text = read_json(config).get("tasks", {}).get("text") if exists(config) else None
    if text not in (*_PLAIN_TEXT, TOKENIZER):
        raise ValueError(f"text must be null, 'characters', 'words' or {TOKENIZER!r}: got {text!r}")
    return str(folder / TOKENIZER) if text == TOKENIZER else text


def _primitives(values: Mapping[str, Any]) -> dict[str, int] | None:
    primitives = values["primitives"]
    if primitives is not None and sorted(primitives.values()) != list(range(len(primitives))):
        raise ValueError("primitives must be null, or an id for each")
    return primitives


def _choices(values: Mapping[str, Any]) -> dict[int, Choice]:
    choices = {int(k): Choice(int(steps), float(rate)) for k, (steps, rate) in values.items()}
    if not choices or not all(k >= 1 and c.steps >= 0 and math.isfinite(c.rate) for k, c in choices.items()):
        raise ValueError("choices must be a number of steps and a rate for each k")
    return choices
