"""How it is learned: one file a method, behind one protocol."""

from dataclasses import asdict

from tam.config import Config
from tam.methods.agnostic import Agnostic
from tam.methods.cavia import CAVIA
from tam.methods.maml import MAML
from tam.methods.method import Losses, Method, TaskStates, Update
from tam.methods.multitask import Multitask
from tam.methods.tam import TAM

METHODS: dict[str, type[Method]] = {
    "tam": TAM,
    "agnostic": Agnostic,
    "multitask": Multitask,
    "maml": MAML,
    "cavia": CAVIA,
}


def make_method(config: Config) -> Method:
    """The method of a config, with its settings."""
    return METHODS[config.method](**asdict(config.settings))


__all__ = [
    "CAVIA",
    "MAML",
    "METHODS",
    "TAM",
    "Agnostic",
    "Losses",
    "Method",
    "Multitask",
    "TaskStates",
    "Update",
    "make_method",
]
