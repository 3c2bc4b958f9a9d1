"""A trained model on disk, with all that is needed to use it: `learner.json` and `model.safetensors`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from tam.config import Config, read_json
from tam.errors import UserError
from tam.evaluation import Choice
from tam.models import Model, ModelSpec, build_model
from tam.tasks.vocabulary import Vocabulary
from tam.training.checkpoint import load_weights, read_tensors, write_json, write_tensors
from tam.training.checks import check_device

FORMAT = 2


@dataclass(frozen=True)
class Saved:
    """What a trained model is used with."""

    config: Config
    model: Model
    vocabulary: Vocabulary
    primitives: dict[str, int] | None
    choices: dict[int, Choice]

    def write(self, folder: Path) -> None:
        """Write both files."""
        folder.mkdir(parents=True, exist_ok=True)
        write_tensors(folder / "model.safetensors", dict(self.model.named_parameters()), {})
        description = {
            "format": FORMAT,
            "config": self.config.to_json(),
            "spec": asdict(self.model.spec),
            "vocabulary": list(self.vocabulary.tokens),
            "primitives": self.primitives,
            "choices": {str(k): list(choice) for k, choice in self.choices.items()},
        }
        write_json(folder / "learner.json", description)

    @classmethod
    def read(cls, folder: Path, device: str) -> "Saved":
        """Read both files; nothing in them is executed."""
        file = folder / "learner.json"
        if not file.is_file():
            raise UserError(f"{folder}: there is no trained model here (no learner.json)")
        values = read_json(file)
        try:
            return cls._from_values(values, folder, device)
        except UserError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{file}: not the description of a trained model ({error!r})") from None

    @classmethod
    def _from_values(cls, values: Mapping[str, Any], folder: Path, device: str) -> "Saved":
        if values["format"] != FORMAT:
            raise UserError(f"{folder}: written in format {values['format']}; this version reads {FORMAT}")
        config = replace(Config.from_json(values["config"]), device=device)
        check_device(device)
        model = build_model(ModelSpec(**values["spec"]), torch.Generator().manual_seed(0))
        weights = folder / "model.safetensors"
        load_weights(model, read_tensors(weights)[0], weights)
        vocabulary = Vocabulary(values["vocabulary"])
        if len(vocabulary) != model.spec.vocabulary:
            raise ValueError(f"{len(vocabulary)} tokens for a model of {model.spec.vocabulary}")
        choices = {int(k): Choice(int(steps), float(rate)) for k, (steps, rate) in values["choices"].items()}
        if not choices or any(k < 1 or steps < 0 or not rate >= 0 for k, (steps, rate) in choices.items()):
            raise ValueError(f"choices of steps and rate for some k are needed, not {values['choices']}")
        return cls(config, model.to(device), vocabulary, values["primitives"], choices)
