"""How it is learned: one file a method, behind one protocol."""

from dataclasses import asdict

from tam.config import Config
from tam.methods.method import Losses, Method, TaskStates, Update
from tam.methods.tam import TAM

METHODS: dict[str, type[Method]] = {"tam": TAM}


def make_method(config: Config) -> Method:
    """The method of a config, with its settings."""
    return METHODS[config.method](**asdict(config.settings))


__all__ = ["METHODS", "TAM", "Losses", "Method", "TaskStates", "Update", "make_method"]
