"""Methods of learning tasks: one file each, behind one protocol."""

from dataclasses import asdict
from typing import cast

from tam.config.config import Config
from tam.config.methods import SETTINGS, MethodSettings
from tam.methods.agnostic import Agnostic
from tam.methods.cavia import CAVIA
from tam.methods.maml import MAML
from tam.methods.matching import Matching
from tam.methods.method import Losses, Method, Rate, TaskStates, Update
from tam.methods.multitask import Multitask
from tam.methods.nearest import Nearest
from tam.methods.prototypical import Prototypical
from tam.methods.snail import Snail
from tam.methods.tam import TAM


class _Methods(dict[str, type[Method]]):
    """Methods by name; adding one also registers it for configs, with its fields as settings."""

    def __setitem__(self, name: str, method: type[Method]) -> None:
        super().__setitem__(name, method)
        SETTINGS[name] = cast(type[MethodSettings], method)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del SETTINGS[name]


METHODS = _Methods(
    {
        "tam": TAM,
        "agnostic": Agnostic,
        "multitask": Multitask,
        "maml": MAML,
        "cavia": CAVIA,
        "snail": Snail,
        "matching": Matching,
        "prototypical": Prototypical,
        "nearest": Nearest,
    }
)


def make_method(config: Config) -> Method:
    """The method of a config, with its settings, and its k if it has one model per k."""
    values = asdict(config.settings)
    if config.settings.per_shots:
        (values["shots"],) = config.protocol.shots
    return METHODS[config.method](**values)


__all__ = [
    "CAVIA",
    "MAML",
    "METHODS",
    "TAM",
    "Agnostic",
    "Losses",
    "Matching",
    "Method",
    "Multitask",
    "Nearest",
    "Prototypical",
    "Rate",
    "Snail",
    "TaskStates",
    "Update",
    "make_method",
]
