"""Learn a new sequence task from a handful of examples by fitting one small vector.

Public names load on first use, so that `import tam` is instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tam.errors import UserError
    from tam.learner.learner import Learner, load
    from tam.learner.task_embedding import TaskEmbedding
    from tam.serve.client import Client
    from tam.store.store import Store
    from tam.tasks.benchmark import benchmark
    from tam.tasks.generate import generate
    from tam.tasks.jsonl import read_tasks
    from tam.tasks.prior import with_prior
    from tam.tasks.sources import tasks_from
    from tam.tasks.task import Example, Task
    from tam.tasks.taskset import TaskSet

__version__ = "0.1.0"
__all__ = [
    "Client",
    "Example",
    "Learner",
    "Store",
    "Task",
    "TaskEmbedding",
    "TaskSet",
    "UserError",
    "benchmark",
    "generate",
    "load",
    "read_tasks",
    "tasks_from",
    "with_prior",
]

_HOME = {
    "Client": "tam.serve.client",
    "Example": "tam.tasks.task",
    "Learner": "tam.learner.learner",
    "Store": "tam.store.store",
    "Task": "tam.tasks.task",
    "TaskEmbedding": "tam.learner.task_embedding",
    "TaskSet": "tam.tasks.taskset",
    "UserError": "tam.errors",
    "benchmark": "tam.tasks.benchmark",
    "generate": "tam.tasks.generate",
    "load": "tam.learner.learner",
    "read_tasks": "tam.tasks.jsonl",
    "tasks_from": "tam.tasks.sources",
    "with_prior": "tam.tasks.prior",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tam' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
