"""Weights and states on disk: safetensors with a JSON header, written atomically, with nothing executable."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from tam.errors import UserError
from tam.io import exists, json_text, replacing, unreadable

_PART = re.compile(r"\..+\.([0-9a-f]{16}|\d+)\.part")
"""The temporary files of `replacing`; older versions used the process id instead of 16 digits."""


def remove_leftovers(folder: Path) -> None:
    """Remove files that earlier processes were writing when they were killed."""
    for path in folder.glob(".*.part"):
        if _PART.fullmatch(path.name):
            path.unlink(missing_ok=True)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], header: Mapping[str, Any]) -> None:
    """Write a file atomically, with a checksum of its tensors."""
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        try:
            save_file(plain, temporary, {"tam": json_text({"checksum": checksum(plain), **header})})
        except SafetensorError as error:
            raise OSError(str(error)) from None


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON atomically."""
    write_text(path, json_text(value, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and the header of a file from `write_tensors`; raise an error if it is damaged."""
    if not exists(path):
        raise UserError(f"{path}: there is no such file")
    try:
        open(path, "rb").close()  # safetensors does not say why a file cannot be opened
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {})["tam"])
            if not isinstance(header, dict):
                raise KeyError("its header is not an object")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            # Files of earlier versions have no checksum.
            if header.pop("checksum", wanted := checksum(tensors)) != wanted:
                raise KeyError("its checksum is wrong")
            return tensors, header
    except OSError as error:
        raise unreadable(path, error) from None
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not a tam file, or damaged ({error})") from None


def checksum(tensors: Mapping[str, Tensor]) -> str:
    """A hash of the names, types, shapes and values of tensors on the CPU."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {list(tensor.shape)};".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()[:32]


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    """Copy weights, perhaps rounded to float16, into a model of the same shapes."""
    own: dict[str, Tensor] = model.state_dict()
    if set(own) != set(weights) or any(
        own[name].shape != weights[name].shape or weights[name].dtype not in (own[name].dtype, torch.float16)
        for name in own
    ):
        raise UserError(f"{source}: these weights belong to another model")
    if bad := [name for name, weight in weights.items() if not weight.isfinite().all()]:
        raise UserError(f"{source}: {bad[0]} has values that are not finite")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(weights[name])
