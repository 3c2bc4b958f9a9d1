"""What users import: fit, adapt, predict, evaluate, save, load."""

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tam.config import Config
from tam.decoding import Decoded, decode
from tam.embedding import TaskEmbedding
from tam.errors import UserError
from tam.evaluation import Choice, KShotScore, score
from tam.methods import Method, make_method
from tam.methods.losses import task_losses
from tam.models import Batch, Model
from tam.models.collate import collate
from tam.tasks.task import Classes, Label, Sequences, Task, compact
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, sort_key
from tam.training.folder import Log
from tam.training.loop import train
from tam.training.saved import Saved

_ROWS_AT_ONCE = 4096

Examples = Iterable[tuple[Sequence[Token], Label | Sequence[Token]]]
"""Examples of one task: pairs of an input and its answer."""


class Learner:
    """Teaches one network a family of tasks; a new task is then learned from a few examples.

    Args:
        method: How θ is trained and how a new task is learned.
        preset: smoke, quick, paper or best. Where it has settings of its own for a benchmark, `fit` takes
            those if the tasks are that benchmark's, as `tam train` does.
        **values: Any field of the config by name, such as `steps=20`, `seed=1`, `device="cuda"`.

    Examples:
        ```python
        learner = tam.Learner(preset="quick").fit(tam.benchmark("classification"))
        rule = learner.adapt([([3, 1, 4, 1, 5], 2), ([2, 7, 1, 8, 2], 0)])
        learner.predict(rule, [[1, 6, 1, 8, 0]])
        ```
    """

    def __init__(self, method: str = "tam", preset: str = "quick", **values: Any) -> None:
        self._start: Callable[..., Config] | None = partial(Config.from_preset, preset, method, **values)
        self.config = self._made = self._start()
        self.method: Method = make_method(self.config)

    def fit(self, tasks: TaskSet, folder: str | Path | None = None, log: Log | None = None) -> "Learner":
        """Train on the training tasks, and choose how to adapt on the validation tasks.

        Args:
            tasks: A benchmark, or tasks of your own.
            folder: Where checkpoints and metrics go; a run that was stopped there is taken up again.
            log: Is given a record for every look at the losses and every validation.
        """
        if not isinstance(tasks, TaskSet):
            raise UserError(
                f"fit takes tasks: tam.benchmark('classification') or tam.read_tasks(path), not {tasks!r}"
            )
        if self._start is not None and self.config == self._made:  # else it is the user's own
            self.config = self._made = self._start(benchmark=tasks.options.get("name"))
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(folder or temporary)
            place.mkdir(parents=True, exist_ok=True)
            self._take(train(self.config, tasks, place, log or (lambda _: None)).saved())
        return self

    @classmethod
    def of(cls, saved: Saved) -> "Learner":
        """The learner of a trained model."""
        learner = cls.__new__(cls)
        learner._start = None
        learner._take(saved)
        return learner

    def _take(self, saved: Saved) -> None:
        self.config = saved.config
        self.method = make_method(saved.config)
        self.model_, self.vocabulary_ = saved.model, saved.vocabulary
        self.primitives_, self.choices_ = saved.primitives, saved.choices
        self.identity_ = _identity(saved.model)

    def adapt(self, examples: Examples, primitives: Sequence[str] = ()) -> TaskEmbedding:
        """Learn a task from examples: fit its embedding, with the network frozen.

        Args:
            examples: Pairs of an input and its answer, in your own tokens and labels.
            primitives: For a compositional model, the task's primitives; one of them is unknown to it.
        """
        return self.adapt_many([examples], [primitives] if primitives else None)[0]

    def adapt_many(
        self, tasks: Iterable[Examples], primitives: Sequence[Sequence[str]] | None = None
    ) -> list[TaskEmbedding]:
        """Learn many tasks together."""
        made = [
            self._task(f"task {number}", list(examples), () if primitives is None else primitives[number])
            for number, examples in enumerate(tasks)
        ]
        found: dict[int, TaskEmbedding] = {}
        by_choice: dict[Choice, list[int]] = {}
        for number, task in enumerate(made):
            by_choice.setdefault(self._choice(task), []).append(number)
        most = self.method.at_once(self.model_) or len(made)
        for choice, members in by_choice.items():
            for start in range(0, len(members), most):
                some = members[start : start + most]
                found |= zip(some, self._fit_embeddings([made[i] for i in some], choice), strict=True)
        return [found[number] for number in range(len(made))]

    def _fit_embeddings(self, tasks: Sequence[Task], choice: Choice) -> list[TaskEmbedding]:
        support = collate(tasks, [np.arange(len(task)) for task in tasks], self._fitted.primitives_)
        support = support.to(self.config.device)
        (states,) = self.method.adapt(self.model_, support, (choice.steps,), choice.rate)
        with torch.no_grad():
            losses = task_losses(self.method.outcomes(self.model_, states, support), support).tolist()
        vectors = states.cpu().numpy()
        return [
            TaskEmbedding(
                vector,
                task.y.labels if isinstance(task.y, Classes) else (),
                self.identity_,
                loss,
                task.primitives,
                self.method.keeps_support,
            )
            for vector, task, loss in zip(vectors, tasks, losses, strict=True)
        ]

    def predict(
        self,
        rules: TaskEmbedding | Sequence[TaskEmbedding],
        inputs: Sequence[Sequence[Token]],
        beams: int = 1,
    ) -> list[Label] | list[list[Token]]:
        """Answer inputs.

        Args:
            rules: What was learned of the task, or of the task of each input.
            inputs: In your own tokens.
            beams: For sequences, how many beginnings are followed at a time; 1 decodes greedily.
        """
        if self._fitted.model_.spec.kind == "transduction":
            return [self.vocabulary_.decode(d.sequences[0]) for d in self._decoded(rules, inputs, beams)]
        if beams != 1:
            raise UserError("beams has no effect on classification")
        return [max(row, key=lambda label: row[label]) for row in self._label_probabilities(rules, inputs)]

    def predict_proba(
        self,
        rules: TaskEmbedding | Sequence[TaskEmbedding],
        inputs: Sequence[Sequence[Token]],
        beams: int = 1,
    ) -> list[dict[Any, float]]:
        """For each input the probabilities of its labels, or of the likeliest sequences, best first."""
        if self._fitted.model_.spec.kind == "classification":
            return self._label_probabilities(rules, inputs)
        return [
            {
                tuple(self.vocabulary_.decode(sequence)): float(np.exp(value))
                for sequence, value in zip(decoded.sequences, decoded.log_probs, strict=True)
            }
            for decoded in self._decoded(rules, inputs, beams)
        ]

    def evaluate(self, tasks: Sequence[Task], shots: Sequence[int] | None = None) -> list[KShotScore]:
        """Score tasks at each k; how to adapt was chosen on the validation tasks when fitting."""
        protocol = self.config.override(shots=tuple(shots)).protocol if shots else self.config.protocol
        fitted = self._fitted
        return [
            score(fitted.method, fitted.model_, tasks, k, self._choice_at(k), protocol, fitted.primitives_)
            for k in protocol.shots
        ]

    def save(self, folder: str | Path) -> None:
        """Write the model and what is needed to use it: JSON and safetensors."""
        fitted = self._fitted
        saved = Saved(self.config, fitted.model_, fitted.vocabulary_, fitted.primitives_, fitted.choices_)
        saved.write(Path(folder))

    @property
    def _fitted(self) -> "Learner":
        if not hasattr(self, "model_"):
            raise UserError("the learner knows nothing yet: call fit first, or tam.load")
        return self

    def _choice(self, task: Task) -> Choice:
        """How to adapt to so many examples: as at the nearest k that was validated."""
        classes = len(task.y.labels) if isinstance(task.y, Classes) else 1
        return self._choice_at(max(1, round(len(task) / classes)))

    def _choice_at(self, k: int) -> Choice:
        nearest = min(self._fitted.choices_, key=lambda other: abs(np.log(other / k)))
        return self.choices_[nearest]

    def _task(self, name: str, examples: list[tuple[Any, Any]], primitives: Sequence[str]) -> Task:
        """Examples in the user's tokens as a task that fits the model, or an error that says why not."""
        spec, vocabulary = self._fitted.model_.spec, self.vocabulary_
        if not examples:
            raise UserError(f"{name}: a task is learned from one example or more, not from none")
        if any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in examples):
            raise UserError(f"{name}: an example is a pair of an input and its answer")
        x = self._encode([x for x, _ in examples], spec.max_x, name, "x")
        if spec.kind == "transduction":
            y: Classes | Sequences = self._encode([y for _, y in examples], spec.max_y, name, "y")
        else:
            given = [y for _, y in examples]
            if any(not isinstance(label, int | str) for label in given):
                raise UserError(f"{name}: an answer is a label, an integer or a string")
            labels = tuple(sorted(set(given), key=sort_key))
            if len(labels) > spec.classes:
                raise UserError(f"{name}: {len(labels)} different labels, but the model knows {spec.classes}")
            ids = np.array([labels.index(label) for label in given])
            y = Classes(compact(ids, len(labels)), labels)
        if bool(primitives) != (self.primitives_ is not None):
            need = "needs the task's primitives" if self.primitives_ is not None else "takes no primitives"
            raise UserError(f"{name}: the model {need}; given: {list(primitives)}")
        return Task(name, vocabulary, x, y, tuple(primitives))

    def _encode(self, rows: Sequence[Any], longest: int, name: str, what: str) -> Sequences:
        """Rows as ids; an error says which row of the task `name`, or which input, is wrong."""
        found: list[list[int]] = []
        for place, row in enumerate(rows):
            where = name if name.startswith("input ") else f"{name}, example {place}, {what}"
            if isinstance(row, str) or not isinstance(row, Iterable):
                raise UserError(f"{where}: expected a list of tokens, not {row!r}")
            tokens = list(row)
            if len(tokens) > longest:
                raise UserError(f"{where}: {len(tokens)} tokens; the model takes up to {longest}")
            try:
                found.append(self.vocabulary_.encode(tokens))
            except UserError as error:
                raise UserError(f"{where}: {error}") from None
        return Sequences.from_lists(found, len(self.vocabulary_))

    def _batches(
        self, rules: TaskEmbedding | Sequence[TaskEmbedding], inputs: Sequence[Sequence[Token]]
    ) -> Iterable[tuple[list[TaskEmbedding], torch.Tensor, Batch]]:
        """Rows of possibly different tasks: their embeddings, states and a batch with one row a task."""
        each = [rules] * len(inputs) if isinstance(rules, TaskEmbedding) else list(rules)
        if len(each) != len(inputs):
            raise UserError(
                f"{len(inputs)} inputs but {len(each)} task embeddings: give one, or one an input"
            )
        if any(rule.model != self.identity_ for rule in each):
            raise UserError(
                "a task embedding belongs to the model that it was fitted with, and this is another"
            )
        blank: Any = [] if self._fitted.model_.spec.kind == "transduction" else 0
        most = self.method.at_once(self.model_) or _ROWS_AT_ONCE
        for start in range(0, len(each), most):
            some = each[start : start + most]
            rows = [
                self._row(f"input {start + number}", x, blank, rule)
                for number, (x, rule) in enumerate(zip(inputs[start : start + most], some, strict=True))
            ]
            batch = collate(rows, [np.arange(1)] * len(rows), self.primitives_).to(self.config.device)
            longest = max(len(rule.vector) for rule in some)
            # A state that holds the support is as long as that is; zeros at its end are no examples.
            vectors = np.stack([np.pad(rule.vector, (0, longest - len(rule.vector))) for rule in some])
            yield some, torch.from_numpy(vectors).to(self.config.device), batch

    def _row(self, name: str, x: Sequence[Token], blank: Any, rule: TaskEmbedding) -> Task:
        task = self._task(name, [(x, blank)], rule.primitives)
        if not isinstance(task.y, Classes):
            return task
        return Task(name, task.vocabulary, task.x, Classes(task.y.ids, rule.labels), task.primitives)

    def _label_probabilities(
        self, rules: TaskEmbedding | Sequence[TaskEmbedding], inputs: Sequence[Sequence[Token]]
    ) -> list[dict[Label, float]]:
        found: list[dict[Label, float]] = []
        for some, states, batch in self._batches(rules, inputs):
            with torch.no_grad():
                rows = self.method.outcomes(self.model_, states, batch).exp()[:, 0].tolist()
            found += [dict(zip(rule.labels, row, strict=False)) for rule, row in zip(some, rows, strict=True)]
        return found

    def _decoded(
        self,
        rules: TaskEmbedding | Sequence[TaskEmbedding],
        inputs: Sequence[Sequence[Token]],
        beams: int,
    ) -> list[Decoded]:
        if beams < 1:
            raise UserError(f"beams is at least 1, not {beams}")
        found: list[Decoded] = []
        for _, states, batch in self._batches(rules, inputs):
            found += decode(self.method, self.model_, states, batch, beams)
        return found


def load(folder: str | Path, device: str = "cpu") -> Learner:
    """Read a learner that `Learner.save` or `tam train` wrote; nothing in the files is executed."""
    return Learner.of(Saved.read(Path(folder), device))


def _identity(model: Model) -> str:
    """A hash of all weights: which model a task embedding belongs to."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
