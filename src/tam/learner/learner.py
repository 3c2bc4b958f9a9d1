"""What users import: fit, adapt, predict, evaluate, save, load."""

import hashlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray

from tam.config.config import Config
from tam.errors import InterruptedRunError, UserError, shown
from tam.evaluation.decoding import Decoded, decode
from tam.evaluation.protocol import Choice, KShotScore, chunks, rows_at_once, rows_of_length, score
from tam.io import path_of
from tam.learner.hub import PREFIX, pull, push, short_card
from tam.learner.inputs import Checked, Intake
from tam.learner.onnx import write_onnx
from tam.learner.task_embedding import EmbeddingError, TaskEmbedding
from tam.methods import Method, make_method
from tam.methods.losses import task_losses
from tam.models import Batch, Model
from tam.models.batch import collate, collate_inputs
from tam.models.hints import Hints
from tam.models.support_state import check_packed
from tam.pretrained import resolve
from tam.tasks.task import Classes, Example, Label, Sequences, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, listed, plain
from tam.training.checkpoint import read_tensors
from tam.training.defaults import Followed
from tam.training.folder import Log, check_free, checkpoint_file
from tam.training.log import TrainingLog
from tam.training.loop import train
from tam.training.minutes import settle
from tam.training.preflight import Setup, prepare, real_device
from tam.training.saved import Saved
from tam.training.tracking import TrackerName, make_tracker, tracked
from tam.training.trainer import Trainer

_ROWS_AT_ONCE = 4096

T = TypeVar("T")

Examples = Iterable[tuple[Sequence[Token], Label | Sequence[Token]]]
"""Examples of one task: pairs of an input and its answer."""

Rules = TaskEmbedding | Iterable[TaskEmbedding]
"""The task embedding of all inputs, or one for each."""

Inputs = Iterable[Sequence[Token]]
"""Inputs, each a sequence of tokens."""


class Learner:
    """Teaches one network a family of tasks; a new task is then learned from a few examples.

    Args:
        method: How θ is trained and how a new task is learned.
        preset: smoke, quick, paper or best. Where it has settings of its own for a benchmark, `fit` takes
            those if the tasks are that benchmark's, as `tam train` does.
        **values: Any field of the config by name, such as `steps=20`, `seed=1`, `device="cuda"`. The device
            is a GPU if there is one, unless it is given.

    Examples:
        ```python
        learner = tam.Learner(preset="quick").fit(tam.benchmark("classification"))
        rule = learner.adapt([([3, 1, 4, 1, 5], 2), ([2, 7, 1, 8, 2], 0)])
        learner.predict(rule, [[1, 6, 1, 8, 0]])
        ```
    """

    def __init__(self, method: str = "tam", preset: str = "quick", **values: Any) -> None:
        if "benchmark" in values:
            raise UserError("there is no setting 'benchmark': give the tasks to fit")
        values["device"] = real_device(values.get("device", "auto"))
        self._start: Callable[..., Config] | None = partial(Config.from_preset, preset, method, **values)
        self._given = {"preset": preset, "given": tuple(values)}
        self.config = self._made = self._start()
        self.method: Method = make_method(self.config)

    def __repr__(self) -> str:
        if not hasattr(self, "model_"):
            return f"Learner({self.config.method}, not trained)"
        spec = self.model_.spec
        weights = sum(weight.numel() for weight in self.model_.parameters())
        answers = f"up to {spec.classes} labels" if spec.classes else f"answers of up to {spec.longest_y}"
        takes = f"{spec.vocabulary} tokens, inputs of up to {spec.longest_x}, {answers}"
        shots = ", ".join(map(str, self.choices_))
        return (
            f"Learner({self.config.method}, trained for {spec.kind}: {takes}; {weights:,} weights; "
            f"validated at k = {shots})"
        )

    def fit(
        self,
        tasks: TaskSet,
        folder: str | Path | None = None,
        log: Log | None = None,
        track: TrackerName | None = None,
        minutes: float | None = None,
    ) -> "Learner":
        """Train on the training tasks, and choose how to adapt on the validation tasks.

        Ctrl-C ends training after its step, with a warning: the learner then has the model so far.

        Args:
            tasks: A benchmark, or tasks of your own.
            folder: Where checkpoints and metrics go. A run that was stopped there is resumed; a folder with a
                finished run or a saved model is an error.
            log: Gets a record for every look at the losses and every validation. Without one, progress is
                shown on standard error.
            track: Also send losses and scores to tensorboard, trackio or wandb; each needs the extra of its
                name. TensorBoard's files go to the folder.
            minutes: Fit the network, the batch, the steps and the validations to this many minutes on this
                machine; settings that the learner was given stay as they are.
        """
        if not isinstance(tasks, TaskSet):
            raise UserError(f"tasks must come from tam.benchmark or tam.read_tasks: got {tasks!r}")
        started = time.monotonic()
        tracker = None if track is None else make_tracker(track)
        if track == "tensorboard" and folder is None:
            raise UserError("track must have a folder for TensorBoard's files: give fit one")
        start = self._start
        if start is not None and self.config != self._made:  # the user has set a config
            start = None
        if start is not None:
            self.config = self._made = start(benchmark=tasks.options.get("name", "own tasks"))
        with tempfile.TemporaryDirectory() as temporary:
            place = path_of(temporary if folder is None else folder)
            _make_run_folder(place)
            settled = Followed(self.config)
            if start is not None or minutes is not None:
                asked = self._given if start is not None else {"preset": "", "given": ()}
                stored = _stored_config(place)
                settled = settle(
                    self.config,
                    tasks,
                    place,
                    **asked,
                    minutes=minutes,
                    stored=stored,
                    since=started,
                    with_test=False,
                )
            setup = prepare(settled.config, tasks, with_test=False)
            setup = replace(setup, notes=(*settled.notes, *setup.notes))
            training = setup.config.training
            try:
                with (
                    TrainingLog(training.steps, training.max_seconds) as shown,
                    tracked(tracker, place, setup.config.to_json(), log or shown) as sent,
                ):
                    trainer = train(setup, place, sent)
            except InterruptedRunError as stop:
                trainer = _stopped(setup, place, stop)
            self._take(trainer.saved())
            if start is not None:
                self._made = self.config
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
        self.primitives_ = saved.primitives
        self.choices_ = {k: choice for k, (_, choice) in saved.at_each_k.items()}
        self._saved = saved
        models = (saved.model, *(model for _, model in saved.best.values()))
        self._identities = {model: _identity(model) for model in models}
        self.identity_ = self._identities[saved.model]
        self.identities_ = {k: self._identities[model] for k, (model, _) in saved.at_each_k.items()}
        self._intake = Intake(saved.model.spec, saved.vocabulary, saved.primitives)
        self._size: int | None = None

    def adapt(self, examples: Examples, primitives: Iterable[str] | None = None) -> TaskEmbedding:
        """Learn a task from examples: fit its embedding, with the network frozen.

        Args:
            examples: Pairs of an input and its answer, in your own tokens and labels.
            primitives: For a compositional model, the task's primitives; the model must not know one of them.
        """
        return self.adapt_many([examples], None if primitives is None else [primitives])[0]

    def adapt_many(
        self, tasks: Iterable[Examples], primitives: Iterable[Iterable[str]] | None = None
    ) -> list[TaskEmbedding]:
        """Learn many tasks together.

        Args:
            tasks: The examples of each task.
            primitives: For a compositional model, the primitives of each task.
        """
        intake, given = self._fitted._intake, listed(tasks)
        if given is None:
            raise UserError(f"tasks must be a list with the examples of each task: got {shown(tasks)}")
        each = [()] * len(given) if primitives is None else listed(primitives)
        if each is None or len(each) != len(given):
            raise UserError(f"primitives must be one list per task: got {shown(primitives)}")
        given = [listed(examples) or examples for examples in given]
        made = [
            intake.task(f"task {number}", examples, names)
            for number, (examples, names) in enumerate(zip(given, each, strict=True))
        ]
        found: dict[int, TaskEmbedding] = {}
        by_choice: dict[tuple[Model, Choice], list[int]] = {}
        for number, task in enumerate(made):
            by_choice.setdefault(self._saved.at(_shots_of(task)), []).append(number)
        rows = rows_at_once(made, torch.device(self.config.device), self.model_.spec)
        most = self.method.at_once(self.model_)
        for (model, choice), members in by_choice.items():
            sizes = [self.method.searches * len(made[number]) for number in members]
            for places in chunks(sizes, rows, most):
                some = [members[place] for place in places]
                fitted = self._fit_embeddings([made[number] for number in some], model, choice)
                if model.spec.hints:
                    told = (_plain_examples(given[number]) for number in some)
                    fitted = [replace(rule, examples=own) for rule, own in zip(fitted, told, strict=True)]
                found |= zip(some, fitted, strict=True)
        return [found[number] for number in range(len(made))]

    def _fit_embeddings(self, tasks: Sequence[Task], model: Model, choice: Choice) -> list[TaskEmbedding]:
        everything, given = [np.arange(len(task)) for task in tasks], tasks
        if (hints := Hints.of_model(model)) is not None:
            given = [hints.add(task, rows, rows) for task, rows in zip(tasks, everything, strict=True)]
        support = collate(given, everything, self._fitted.primitives_).to(self.config.device)
        (states,) = self.method.adapt(model, support, (choice.steps,), choice.rate)
        with torch.no_grad():
            losses = task_losses(self.method.outcomes(model, states, support), support).tolist()
        vectors = list(states.cpu().numpy())
        if self.method.keeps_support:  # states are as long as the largest support needs
            rows = [vector.reshape(support.rows, -1) for vector in vectors]
            vectors = [row[: len(task)].flatten() for row, task in zip(rows, tasks, strict=True)]
        return [
            TaskEmbedding(
                vector,
                task.y.labels if isinstance(task.y, Classes) else (),
                self._identities[model],
                loss,
                task.primitives,
                self.method.keeps_support,
                self.method.searches,
            )
            for vector, task, loss in zip(vectors, tasks, losses, strict=True)
        ]

    def predict(self, rules: Rules, inputs: Inputs, beams: int = 1) -> list[Label] | list[list[Token]]:
        """Answer inputs.

        Args:
            rules: The task embedding, or one for each input.
            inputs: In your own tokens.
            beams: For sequences, the number of beams; 1 decodes greedily. Classification ignores it.
        """
        if self._fitted.model_.spec.kind == "transduction":
            return [tokens[0] for tokens, _ in self._answer_tokens(rules, inputs, beams)]
        return [max(row, key=lambda label: row[label]) for row in self._label_probabilities(rules, inputs)]

    def predict_proba(self, rules: Rules, inputs: Inputs | Checked, beams: int = 1) -> list[dict[Any, float]]:
        """For each input the probabilities of its labels, or of the most likely sequences, best first.

        There are as many sequences as beams, or all possible ones if these are fewer. Inputs may also be
        those that the model's `Intake` has checked already.
        """
        if self._fitted.model_.spec.kind == "classification":
            return self._label_probabilities(rules, inputs)
        return [
            {tuple(tokens): float(np.exp(value)) for tokens, value in zip(sequences, log_probs, strict=True)}
            for sequences, log_probs in self._answer_tokens(rules, inputs, beams)
        ]

    def unknown_tokens(self, inputs: Inputs) -> list[Token]:
        """The tokens of these inputs that the model does not know, each as often as it occurs."""
        rows = self._fitted._intake.inputs(inputs).tokens
        return [token for row in rows for token in row if token not in self.vocabulary_]

    def evaluate(self, tasks: Sequence[Task], shots: Iterable[int] | None = None) -> list[KShotScore]:
        """Score tasks at each k, adapting as chosen on the validation tasks when fitting.

        Args:
            tasks: Tasks of the kind and with the tokens that the model knows, such as `tasks.test`.
            shots: The values of k; those of the config if not given.
        """
        own = self._fitted._intake.tasks(tasks)
        config = self.config if shots is None else self.config.override(shots=listed(shots) or shots)
        used = ((k, *self._saved.at(k)) for k in config.protocol.shots)
        return [
            score(self.method, model, own, k, choice, config.protocol, self.primitives_)
            for k, model, choice in used
        ]

    def save(self, folder: str | Path) -> None:
        """Write the model and what is needed to use it: JSON and safetensors."""
        saved = self._fitted._saved
        try:
            saved.write(path_of(folder))
        except (OSError, UnicodeEncodeError) as error:
            raise _unwritable(folder, error) from None

    def push_to_hub(
        self, repo: str, *, private: bool = False, card: str | None = None, token: str | None = None
    ) -> str:
        """Write the model to a repository of the Hugging Face hub, made if it is not there.

        `tam.load("hf://OWNER/NAME")` reads it. Needs the extra `hub`.

        Args:
            repo: `OWNER/NAME`.
            private: Whether a new repository is private.
            card: The model card, Markdown; a short one if not given.
            token: An access token; by default the one that `hf auth login` keeps, or `HF_TOKEN`.

        Returns:
            The address of the commit.
        """
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            return push(
                Path(folder), repo, card or short_card(repr(self), repo), private=private, token=token
            )

    def export_onnx(self, path: str | Path, shots: int | None = None) -> None:
        """Write the prediction of this model as an ONNX file, with the task embedding as an input.

        See `tam.learner.onnx` for its inputs and outputs. Needs the extra `onnx`.

        Args:
            path: The file.
            shots: If the model has several sets of weights, those that learn from k = `shots` examples; by
                default the last weights. A task embedding fits one set only.
        """
        saved = self._fitted._saved
        model = saved.model if shots is None else saved.at(shots)[0]
        write_onnx(path_of(path), self.method, model, self.vocabulary_, self._identities[model])

    @property
    def _fitted(self) -> "Learner":
        if not hasattr(self, "model_"):
            raise UserError("the learner is not trained: call fit first, or tam.load")
        return self

    def _answers(
        self,
        rules: Rules,
        inputs: Inputs | Checked,
        answer: Callable[[Model, list[TaskEmbedding], torch.Tensor, Batch], Iterable[T]],
    ) -> list[T]:
        """Answer rows of possibly different tasks, in batches with one row per task.

        `answer` is given the model, the embeddings of a batch, their states, and the batch.
        """
        x = self._fitted._intake.inputs(inputs).ids
        each = self._each_rule(rules, len(x))
        if (hints := Hints.of_model(self.model_)) is not None:
            placed = [hints.placed(row)[0] for row in self._with_hints(x, each)]
            x = Sequences.from_lists(placed, self._intake.ids.size)
        most = self.method.at_once(self.model_) or _ROWS_AT_ONCE
        most = min(most, rows_of_length(x.ids.shape[1], torch.device(self.config.device)))
        found: list[T | None] = [None] * len(each)
        for model in {name: model for model, name in self._identities.items()}.values():
            own = [place for place, rule in enumerate(each) if rule.model == self._identities[model]]
            for places in (own[start : start + most] for start in range(0, len(own), most)):
                some = [each[place] for place in places]
                batch = self._asked(Sequences(x.ids[places], x.lengths[places]), some)
                states = torch.from_numpy(_stacked([rule.vector for rule in some])).to(self.config.device)
                for place, one in zip(places, answer(model, some, states, batch), strict=True):
                    found[place] = one
        return cast("list[T]", found)

    def _with_hints(self, x: Sequences, rules: Sequence[TaskEmbedding]) -> list[list[int]]:
        """Inputs with the hints that the examples of their rules give, if the model reads any."""
        if (hints := Hints.of_model(self.model_)) is None:
            return [x.row(place).tolist() for place in range(len(x))]
        places: dict[int, list[int]] = {}
        for place, rule in enumerate(rules):
            places.setdefault(id(rule), []).append(place)
        rows: list[list[int]] = [[]] * len(rules)
        for some in places.values():
            rule = rules[some[0]]
            task = self._intake.task("its task", rule.examples, rule.primitives)
            for place, row in zip(
                some, hints.ask(task, Sequences(x.ids[some], x.lengths[some])), strict=True
            ):
                rows[place] = row
        return rows

    def _asked(self, x: Sequences, rules: Sequence[TaskEmbedding]) -> Batch:
        """Inputs, each as the one row of its own task, with no answer yet."""
        classes = [len(rule.labels) for rule in rules] if self.model_.spec.kind == "classification" else None
        composed = [rule.primitives for rule in rules]
        return collate_inputs(x, classes, composed, self.primitives_).to(self.config.device)

    def _each_rule(self, rules: Rules, inputs: int) -> list[TaskEmbedding]:
        """The task embedding of every input."""
        if isinstance(rules, TaskEmbedding):
            self._check_rule(rules)
            return [rules] * inputs
        each = listed(rules)
        if each is None or not all(isinstance(rule, TaskEmbedding) for rule in each):
            raise UserError(f"rules must be a task embedding or a list of them: got {shown(rules)}")
        if len(each) != inputs:
            raise UserError(f"rules must be one, or one per input: got {len(each)} for {inputs} inputs")
        for number, rule in {id(rule): (number, rule) for number, rule in enumerate(each)}.values():
            try:
                self._check_rule(rule)
            except EmbeddingError as error:
                raise EmbeddingError(f"task embedding {number}: {error}") from None
        return each

    def _check_rule(self, rule: TaskEmbedding) -> None:
        """Raise an error unless this model could have made it."""
        spec, method = self.model_.spec, self.method
        if rule.model not in self._identities.values():
            raise EmbeddingError("the task embedding belongs to another model")
        least, most = min(1, spec.classes), spec.classes
        if not least <= len(rule.labels) <= most:
            raise EmbeddingError(f"a task must have {least} to {most} labels: got {len(rule.labels)}")
        if rule.is_support != method.keeps_support:
            raise EmbeddingError(f"is_support must be {method.keeps_support} for this model")
        if (rule.searches > 1) != (method.searches > 1):
            raise EmbeddingError(f"searches must be {method.searches} for this model: got {rule.searches}")
        try:
            self._intake.task_primitives("its task", rule.primitives)
            if spec.hints:
                self._intake.task("its examples", rule.examples, rule.primitives)
            if rule.is_support:
                check_packed(rule.vector, spec, len(rule.labels))
            elif len(rule.vector) != (size := self._state_size(rule)):
                raise UserError(f"the vector has {len(rule.vector)} numbers, and must have {size}")
        except UserError as error:
            raise EmbeddingError(str(error)) from None

    def _state_size(self, rule: TaskEmbedding) -> int:
        """The length of a task's state, from that of a task with one empty example."""
        if self._size is None:
            _, choice = self._saved.at(1)
            blank = self._asked(self._intake.inputs([[]]).ids, [rule])
            (states,) = self.method.adapt(self.model_, blank, (min(choice.steps, 1),), choice.rate)
            self._size = states.shape[1]
        return self._size // self.method.searches * rule.searches

    def _label_probabilities(self, rules: Rules, inputs: Inputs | Checked) -> list[dict[Label, float]]:
        @torch.no_grad()
        def answer(
            model: Model, some: list[TaskEmbedding], states: torch.Tensor, batch: Batch
        ) -> list[dict[Label, float]]:
            rows = self.method.outcomes(model, states, batch).exp()[:, 0].tolist()
            return [dict(zip(rule.labels, row, strict=False)) for rule, row in zip(some, rows, strict=True)]

        return self._answers(rules, inputs, answer)

    def _answer_tokens(
        self, rules: Rules, inputs: Inputs | Checked, beams: int
    ) -> list[tuple[list[list[Token]], list[float]]]:
        """The likeliest answers to every input, in the user's tokens, with their log-probabilities."""
        given, ids = self._fitted._intake.inputs(inputs), self._intake.ids
        found = self._decoded(rules, given, beams)
        read = given.tokens
        if self.model_.spec.codes is not None:
            each = self._each_rule(rules, len(read))
            rows = self._with_hints(given.ids, each)
            read = [
                ids.tokens_of(row, (*x, *_answer_tokens(rule.examples)))
                for row, x, rule in zip(rows, read, each, strict=True)
            ]
        return [
            ([ids.decode(sequence, x) for sequence in one.sequences], one.log_probs)
            for x, one in zip(read, found, strict=True)
        ]

    def _decoded(self, rules: Rules, inputs: Inputs | Checked, beams: int) -> list[Decoded]:
        if not isinstance(count := plain(beams), int) or count < 1:
            raise UserError(f"beams must be an integer of at least 1: got {shown(beams)}")
        return self._answers(
            rules,
            inputs,
            lambda model, _, states, batch: decode(self.method, model, states, batch, count),
        )


def _stacked(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The vectors of task embeddings as rows.

    One that holds the support is as long as that is; zeros at its end are no examples.
    """
    longest = max(map(len, vectors))
    if all(len(vector) == longest for vector in vectors):
        return np.stack(vectors)
    return np.stack([np.pad(vector, (0, longest - len(vector))) for vector in vectors])


def _make_run_folder(folder: Path) -> None:
    """Make the folder of a run; it may have a checkpoint to go on from, but no finished run or model."""
    if os.path.exists(checkpoint_file(folder)):  # training checks that it is of this run
        check_free(folder, ["result.json"])
    else:
        check_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from None


def _stored_config(folder: Path) -> Config | None:
    """The settings of the run that a folder has a checkpoint of."""
    if not os.path.exists(checkpoint_file(folder)):
        return None
    header = read_tensors(checkpoint_file(folder))[1]
    return Config.from_json(header["config"]) if isinstance(header.get("config"), dict) else None


def _stopped(setup: Setup, folder: Path, stop: InterruptedRunError) -> Trainer:
    """The trainer of a run that was stopped, at its last checkpoint; the stop itself if there is none."""
    if not os.path.exists(checkpoint_file(folder)):
        raise stop
    trainer = Trainer(setup, folder)
    trainer.read_checkpoint()
    if not trainer.choices:
        trainer.validate()
    warnings.warn(f"{stop}: the learner keeps the model so far", stacklevel=3)
    return trainer


def _plain_examples(pairs: Iterable[Any]) -> tuple[Example, ...]:
    """Examples that were checked, as plain values."""
    return tuple(
        Example([token for one in x if (token := plain(one)) is not None], _plain_answer(y)) for x, y in pairs
    )


def _plain_answer(y: Any) -> Label | list[Token]:
    if (label := plain(y)) is not None:
        return label
    return [token for one in y if (token := plain(one)) is not None]


def _answer_tokens(examples: Iterable[Example]) -> Iterator[Token]:
    """The tokens of answers that are sequences."""
    return (token for _, y in examples if isinstance(y, list) for token in y)


def _shots_of(task: Task) -> int:
    """The k of a task's examples: how many it has, or how many of each class."""
    classes = len(task.y.labels) if isinstance(task.y, Classes) else 1
    return max(1, round(len(task) / classes))


def _unwritable(folder: str | Path, error: Exception) -> UserError:
    return UserError(f"{folder}: cannot be written: {getattr(error, 'strerror', None) or error}")


def load(name: str | Path, device: str = "auto") -> Learner:
    """Read a learner; nothing in its files is executed.

    Args:
        name: A folder that `Learner.save` or `tam train` wrote; else the name of a pretrained model, such as
            `"classification"` (`tam models` lists them); or `"hf://OWNER/NAME"`, a model on the Hugging Face
            hub, with `@REVISION` at the end for another revision than main.
        device: auto (cuda if there is a GPU, else cpu), cpu or cuda.
    """
    if isinstance(name, str) and name.startswith(PREFIX):
        return Learner.of(Saved.read(pull(name), real_device(device)))
    path_of(name)
    return Learner.of(Saved.read(resolve(name), real_device(device)))


def _identity(model: Model) -> str:
    """A hash of all weights: which model a task embedding belongs to."""
    digest = hashlib.sha256()
    for name, parameter in model.named_parameters():
        digest.update(name.encode())
        digest.update(parameter.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
