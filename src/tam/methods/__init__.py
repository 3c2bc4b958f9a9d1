"""How it is learned: one file a method, behind one protocol."""

from dataclasses import asdict

from tam.config import Config
from tam.methods.matching import Matching
from tam.methods.method import Losses, Method, TaskStates, Update
from tam.methods.nearest import Nearest
from tam.methods.prototypical import Prototypical
from tam.methods.snail import Snail
from tam.methods.tam import TAM

METHODS: dict[str, type[Method]] = {
    "tam": TAM,
    "snail": Snail,
    "matching": Matching,
    "prototypical": Prototypical,
    "nearest": Nearest,
}


def make_method(config: Config) -> Method:
    """The method of a config, with its settings, and its k if it is for one."""
    values = asdict(config.settings)
    if config.settings.per_shots:
        (values["shots"],) = config.protocol.shots
    return METHODS[config.method](**values)


__all__ = [
    "METHODS",
    "TAM",
    "Losses",
    "Matching",
    "Method",
    "Nearest",
    "Prototypical",
    "Snail",
    "TaskStates",
    "Update",
    "make_method",
]
