"""A trained model on disk, with all that is needed to use it: `learner.json` and `model.safetensors`."""

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tam.config.config import Config
from tam.errors import UserError
from tam.evaluation.protocol import Choice
from tam.io import read_json
from tam.models import Model, ModelSpec, build_model, place_model
from tam.tasks.vocabulary import Vocabulary, plain
from tam.training.checkpoint import checksum, load_weights, read_tensors, write_json, write_tensors
from tam.training.checks import check_device

FORMAT = 2
_NEXT = "learner.json.next"


@dataclass(frozen=True)
class Saved:
    """A trained model with what is needed to use it."""

    config: Config
    model: Model
    vocabulary: Vocabulary
    primitives: dict[str, int] | None
    choices: dict[int, Choice]

    def write(self, folder: Path) -> None:
        """Write both files. Stopped at any moment, `read` finds either this model or the previous one.

        The description has another name until the weights are in place.
        """
        folder.mkdir(parents=True, exist_ok=True)
        weights = {name: tensor.cpu() for name, tensor in self.model.state_dict().items()}
        description = {
            "format": FORMAT,
            "config": self.config.to_json(),
            "spec": asdict(self.model.spec),
            "vocabulary": list(self.vocabulary.tokens),
            "primitives": self.primitives,
            "choices": {str(k): list(choice) for k, choice in self.choices.items()},
            "weights": checksum(weights),
        }
        write_json(folder / _NEXT, description)
        write_tensors(folder / "model.safetensors", weights, {})
        os.replace(folder / _NEXT, folder / "learner.json")

    @classmethod
    def read(cls, folder: Path, device: str) -> "Saved":
        """Read both files; nothing in them is executed."""
        file = folder / "learner.json"
        if not os.path.isfile(file) and not os.path.isfile(folder / _NEXT):
            raise UserError(f"{folder}: there is no trained model here (no learner.json)")
        weights = read_tensors(folder / "model.safetensors")[0]
        values = _description_of(weights, folder)
        try:
            return cls._from_values(values, weights, folder, device)
        except UserError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise UserError(f"{file}: not the description of a trained model ({reason})") from None

    @classmethod
    def _from_values(
        cls, values: Mapping[str, Any], weights: Mapping[str, Tensor], folder: Path, device: str
    ) -> "Saved":
        if values["format"] != FORMAT:
            raise UserError(f"{folder}: format must be {FORMAT} for this version: got {values['format']}")
        config = replace(Config.from_json(values["config"]), device=device)
        check_device(device)
        spec, file = ModelSpec(**values["spec"]), folder / "model.safetensors"
        if spec.layers > len(weights):
            raise ValueError(f"{spec.layers} layers of {len(weights)} tensors")
        model = build_model(spec, torch.Generator().manual_seed(0))
        load_weights(model, weights, file)
        return cls(
            config,
            place_model(model, device, config.training.precision),
            _vocabulary(values, spec),
            _primitives(values),
            _choices(values["choices"]),
        )


def _description_of(weights: Mapping[str, Tensor], folder: Path) -> dict[str, Any]:
    """The description that was written with these weights; earlier versions did not say which."""
    files = [folder / name for name in ("learner.json", _NEXT) if (folder / name).exists()]
    own = checksum(weights)
    for file in files:
        values = read_json(file)
        if values.get("weights", own) == own:
            return values
    raise UserError(f"{files[0]}: describes other weights than those of model.safetensors")


def _vocabulary(values: Mapping[str, Any], spec: ModelSpec) -> Vocabulary:
    tokens = values["vocabulary"]
    if not isinstance(tokens, list) or len(tokens) != spec.vocabulary or None in map(plain, tokens):
        raise ValueError(f"vocabulary must be a list of {spec.vocabulary} integers and strings")
    return Vocabulary(tokens)


def _primitives(values: Mapping[str, Any]) -> dict[str, int] | None:
    found = values["primitives"]
    if found is not None and sorted(found.values()) != list(range(len(found))):
        raise ValueError("primitives must be null, or an id for each")
    return found


def _choices(values: Mapping[str, Any]) -> dict[int, Choice]:
    found = {int(k): Choice(int(steps), float(rate)) for k, (steps, rate) in values.items()}
    if not found or not all(k >= 1 and c.steps >= 0 and math.isfinite(c.rate) for k, c in found.items()):
        raise ValueError("choices must be a number of steps and a rate for each k")
    return found
