"""Adapt a trained model to new tasks: fit their embeddings, with the network frozen."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import torch

from tam.errors import UserError, shown
from tam.evaluation.protocol import Choice, chunks, rows_at_once
from tam.learner.inputs import Intake
from tam.learner.task_embedding import TaskEmbedding
from tam.methods import TAM, Method, make_method
from tam.methods.losses import task_losses
from tam.models import Model
from tam.models.batch import collate
from tam.models.hints import Hints
from tam.tasks.task import Classes, Label, Task
from tam.tasks.vocabulary import Token, listed
from tam.training.saved import Saved

Examples = Iterable[tuple[Sequence[Token] | str, Label | Sequence[Token]]]
"""Examples of one task: pairs of an input and its answer."""


class Trained:
    """A trained model, ready to learn tasks.

    Attributes:
        saved: The model, with the weights for each k.
        method: The method that learns a task.
        spec: The architecture of its networks.
        intake: Checks and converts what users give it.
        identities: A hash of the weights of each network.
        device: The device it computes on.
    """

    def __init__(self, saved: Saved) -> None:
        self.saved, self.method = saved, make_method(saved.config)
        self.spec, self.device = saved.model.spec, torch.device(saved.config.device)
        self.intake = Intake(self.spec, saved.vocabulary, saved.primitives, saved.text)
        networks = (saved.model, *(model for _, model in saved.best.values()))
        self.identities = {model: identity(model) for model in networks}

    def adapt_many(
        self, tasks: Iterable[Examples], primitives: Iterable[Iterable[str]] | None, searches: int | None
    ) -> list[TaskEmbedding]:
        """See `Learner.adapt_many`."""
        if (supports := listed(tasks)) is None:
            raise UserError(f"tasks must be a list with the examples of each task: got {shown(tasks)}")
        each = [()] * len(supports) if primitives is None else listed(primitives)
        if each is None or len(each) != len(supports):
            raise UserError(f"primitives must be one list per task: got {shown(primitives)}")
        method = self._with(searches)
        plain = [self.intake.plain(f"task {number}", examples) for number, examples in enumerate(supports)]
        made = [
            self.intake.task(f"task {number}", examples, names)
            for number, (examples, names) in enumerate(zip(plain, each, strict=True))
        ]
        fitted: dict[int, TaskEmbedding] = {}
        by_choice: dict[tuple[Model, Choice], list[int]] = {}
        for number, task in enumerate(made):
            by_choice.setdefault(self.saved.at(_shots_of(task)), []).append(number)
        rows, most = rows_at_once(made, self.device, self.spec), method.at_once(self.saved.model)
        for (model, choice), members in by_choice.items():
            sizes = [method.searches * len(made[number]) for number in members]
            for places in chunks(sizes, rows, most):
                chunk = [members[place] for place in places]
                rules = self._fit(method, [made[number] for number in chunk], model, choice)
                if model.spec.hints:
                    rules = [
                        replace(rule, examples=tuple(plain[number]))
                        for rule, number in zip(rules, chunk, strict=True)
                    ]
                fitted |= zip(chunk, rules, strict=True)
        return [fitted[number] for number in range(len(made))]

    def _with(self, searches: int | None) -> Method:
        """The method, limited to this many searches if it uses several."""
        method = self.method
        if searches is None or not isinstance(method, TAM) or method.searches == 1:
            return method
        if not isinstance(searches, int) or searches < 2:
            raise UserError(f"searches must be an integer of at least 2: got {shown(searches)}")
        return replace(method, starts=min(searches, method.starts))

    def _fit(
        self, method: Method, tasks: Sequence[Task], model: Model, choice: Choice
    ) -> list[TaskEmbedding]:
        all_rows, hinted = [np.arange(len(task)) for task in tasks], tasks
        if (hints := Hints.of_model(model)) is not None:
            hinted = [hints.add(task, rows, rows) for task, rows in zip(tasks, all_rows, strict=True)]
        support = collate(hinted, all_rows, self.saved.primitives).to(self.device)
        (states,) = method.adapt(model, support, (choice.steps,), choice.rate)
        with torch.no_grad():
            losses = task_losses(method.outcomes(model, states, support), support).tolist()
        vectors = list(states.cpu().numpy())
        if method.keeps_support:  # states are padded to the largest support
            rows = [vector.reshape(support.rows, -1) for vector in vectors]
            vectors = [row[: len(task)].flatten() for row, task in zip(rows, tasks, strict=True)]
        return [
            TaskEmbedding(
                vector,
                task.y.labels if isinstance(task.y, Classes) else (),
                self.identities[model],
                loss,
                task.primitives,
                method.keeps_support,
                method.searches,
            )
            for vector, task, loss in zip(vectors, tasks, losses, strict=True)
        ]


def identity(model: Model) -> str:
    """A hash of all weights, which tells which model a task embedding belongs to."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def _shots_of(task: Task) -> int:
    """A task's k: its number of examples, or the mean number per class."""
    classes = len(task.y.labels) if isinstance(task.y, Classes) else 1
    return max(1, round(len(task) / classes))
