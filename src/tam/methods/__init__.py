"""How it is learned: one file a method, behind one protocol."""

from tam.methods.method import Losses, Method, TaskStates, Update
from tam.methods.tam import TAM

METHODS: dict[str, type[Method]] = {"tam": TAM}

__all__ = ["METHODS", "TAM", "Losses", "Method", "TaskStates", "Update"]
