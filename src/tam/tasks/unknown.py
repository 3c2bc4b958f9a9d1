"""The one primitive of a new task that a model does not know, and learns."""

from collections.abc import Container, Sequence

from tam.errors import UserError


class PrimitivesError(UserError):
    """Primitives of a task that do not go with a model.

    Attributes:
        problem: What is wrong, without the task.
    """

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(f"{where}: {problem}")
        self.problem = problem


def unknown_slot(where: str, primitives: Sequence[str], known: Container[str]) -> int:
    """The place of the one primitive of a task that a model does not know.

    Args:
        where: The task, and perhaps its file, as an error begins.
        primitives: The task's.
        known: Those of the tasks that the model was trained on.

    Raises:
        PrimitivesError: If it knows all of them, or more than one is unknown.

    >>> unknown_slot("task 'a'", ["add 3", "flip"], {"add 3": 0, "add 4": 1})
    1
    """
    places = [place for place, name in enumerate(primitives) if name not in known]
    if len(places) != 1:
        why = "learns a single new one" if places else "where no other is given, there is nothing to learn"
        raise PrimitivesError(
            where,
            f"exactly one of its primitives is unknown to the model, not {len(places)} of "
            f"{list(primitives)}: the model knows those of its training tasks, and {why}",
        )
    return places[0]
