"""`Learner` and `load`: fit, adapt, predict, evaluate, save and load a model."""

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tam.config.config import Config
from tam.errors import UserError
from tam.evaluation.protocol import KShotScore, score
from tam.io import exists, path_of
from tam.learner.adapting import Examples, Trained
from tam.learner.answering import Answering, Inputs, Rules
from tam.learner.fitting import fit_in, unwritable
from tam.learner.hub import PREFIX, pull, push, short_card
from tam.learner.inputs import Checked, Intake
from tam.learner.onnx import write_onnx
from tam.learner.task_embedding import TaskEmbedding
from tam.methods import Method, make_method
from tam.pretrained import resolve
from tam.tasks.task import Label, Task
from tam.tasks.taskset import TaskSet
from tam.tasks.vocabulary import Token, listed
from tam.training.folder import Log
from tam.training.preflight import real_device
from tam.training.saved import Saved
from tam.training.tracking import TrackerName, make_tracker


class Learner:
    """Trains one network on many tasks; it then learns a new task from a few examples.

    Args:
        method: How θ is trained and how a new task is learned.
        preset: smoke, quick, paper or best. If it has special settings for a benchmark, `fit` uses them on
            that benchmark's tasks, as `tam train` does.
        **values: Any field of the config by name, such as `steps=20`, `seed=1`, `device="cuda"`. By default
            the device is a GPU if there is one.

    Examples:
        ```python
        learner = tam.Learner(preset="quick").fit(tam.benchmark("classification"))
        rule = learner.adapt([([3, 1, 4, 1, 5], 2), ([2, 7, 1, 8, 2], 0)])
        learner.predict(rule, [[1, 6, 1, 8, 0]])
        ```
    """

    def __init__(self, method: str = "tam", preset: str = "quick", **values: Any) -> None:
        if "benchmark" in values:
            raise UserError("there is no setting 'benchmark': pass the tasks to fit")
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

        Ctrl-C ends training after the current step, with a warning; the learner keeps the model so far.

        Args:
            tasks: A benchmark, or tasks of your own.
            folder: Folder for checkpoints and metrics. A stopped run there is resumed; a finished run or a
                saved model there is an error.
            log: Called with a record of the losses at intervals, and of every validation. By default progress
                is shown on standard error.
            track: Also send losses and scores to tensorboard, trackio or wandb; each needs the extra of its
                name. TensorBoard's files go to the folder.
            minutes: Choose the network, batch, steps and validations so that training takes this many minutes
                on this machine; settings given to the learner are kept.
        """
        if not isinstance(tasks, TaskSet) or not (tasks.train and tasks.valid and tasks.test):
            raise UserError(
                "tasks must be a task set with train, valid and test tasks, such as tam.read_tasks returns: "
                f"got {tasks!r}"
            )
        started = time.monotonic()
        tracker = None if track is None else make_tracker(track)
        if track == "tensorboard" and folder is None:
            raise UserError("TensorBoard needs a folder for its files: pass folder to fit")
        start = self._start if self.config == self._made else None  # None: the user has set a config
        if start is not None:
            self.config = self._made = start(benchmark=tasks.options.get("name", "own tasks"))
        with tempfile.TemporaryDirectory() as temporary:
            saved = fit_in(
                path_of(temporary if folder is None else folder),
                self.config,
                tasks,
                asked=None if start is None else self._given,
                minutes=minutes,
                started=started,
                log=log,
                tracker=tracker,
            )
        self._take(saved)
        if start is not None:
            self._made = self.config
        return self

    @classmethod
    def of(cls, saved: Saved) -> "Learner":
        """Make a learner from a trained model."""
        learner = cls.__new__(cls)
        learner._start, learner._made = None, saved.config
        learner._take(saved)
        return learner

    def _take(self, saved: Saved) -> None:
        self._trained = trained = Trained(saved)
        self._answering = Answering(trained)
        self.config, self.method = saved.config, trained.method
        self.model_, self.vocabulary_ = saved.model, saved.vocabulary
        self.primitives_, self.text_ = saved.primitives, saved.text
        self.choices_ = {k: choice for k, (_, choice) in saved.at_each_k.items()}
        self.identity_ = trained.identities[saved.model]
        self.identities_ = {k: trained.identities[model] for k, (model, _) in saved.at_each_k.items()}

    @property
    def intake(self) -> Intake:
        """Checks and converts what users give the model."""
        return self._used.intake

    @property
    def _used(self) -> Trained:
        if not hasattr(self, "model_"):
            raise UserError("the learner is not trained: call fit first, or tam.load")
        return self._trained

    def adapt(
        self, examples: Examples, primitives: Iterable[str] | None = None, searches: int | None = None
    ) -> TaskEmbedding:
        """Learn a task from examples: fit its embedding, with the network frozen.

        Args:
            examples: Pairs of an input and its answer, in your own tokens and labels. Text is split as in
                training.
            primitives: For a compositional model, the task's primitives; one must be unknown to the model.
            searches: If the model learns by several searches, use at most this many (at least 2), to save
                time.
        """
        return self.adapt_many([examples], None if primitives is None else [primitives], searches)[0]

    def adapt_many(
        self,
        tasks: Iterable[Examples],
        primitives: Iterable[Iterable[str]] | None = None,
        searches: int | None = None,
    ) -> list[TaskEmbedding]:
        """Learn many tasks together.

        Args:
            tasks: The examples of each task.
            primitives: For a compositional model, the primitives of each task.
            searches: As for `adapt`.
        """
        return self._used.adapt_many(tasks, primitives, searches)

    def predict(self, rules: Rules, inputs: Inputs, beams: int = 1) -> list[Label] | list[list[Token]]:
        """Answer inputs.

        Args:
            rules: The task embedding, or one for each input.
            inputs: In your own tokens, or as text.
            beams: For sequences, the number of beams; 1 decodes greedily. Classification ignores it.
        """
        if self._used.spec.kind == "transduction":
            return [tokens[0] for tokens, _ in self._answering.tokens(rules, inputs, beams)]
        rows = self._answering.label_probabilities(rules, inputs)
        return [max(row, key=lambda label: row[label]) for row in rows]

    def predict_proba(self, rules: Rules, inputs: Inputs | Checked, beams: int = 1) -> list[dict[Any, float]]:
        """The probabilities of each input's labels, or of its most likely sequences, best first.

        There are as many sequences as beams, or all possible ones if these are fewer. Inputs may also be
        `Checked` ones from the model's `intake`.
        """
        if self._used.spec.kind == "classification":
            return self._answering.label_probabilities(rules, inputs)
        return [
            {tuple(tokens): float(np.exp(value)) for tokens, value in zip(sequences, log_probs, strict=True)}
            for sequences, log_probs in self._answering.tokens(rules, inputs, beams)
        ]

    def unknown_tokens(self, inputs: Inputs) -> list[Token]:
        """List the tokens of these inputs that the model does not know, with repeats."""
        rows = self.intake.inputs(inputs).tokens
        return [token for row in rows for token in row if token not in self.vocabulary_]

    def evaluate(self, tasks: Sequence[Task], shots: Iterable[int] | None = None) -> list[KShotScore]:
        """Score tasks at each k, adapting with the steps and rate that `fit` chose on the validation tasks.

        Args:
            tasks: Tasks of the model's kind, with tokens that it knows, such as `tasks.test`.
            shots: The values of k; by default those of the config.
        """
        own, saved = self.intake.tasks(tasks), self._used.saved
        config = self.config if shots is None else self.config.override(shots=listed(shots) or shots)
        used = ((k, *saved.at(k)) for k in config.protocol.shots)
        return [
            score(self.method, model, own, k, choice, config.protocol, self.primitives_)
            for k, model, choice in used
        ]

    def save(self, folder: str | Path) -> None:
        """Write the model and what is needed to use it: JSON and safetensors; not over a run."""
        saved = self._used.saved
        if exists(path_of(folder) / "config.json"):
            raise UserError(f"{folder}: there is a run here, which no model replaces: give another folder")
        try:
            saved.write(path_of(folder))
        except (OSError, UnicodeEncodeError) as error:
            raise unwritable(folder, error) from None

    def push_to_hub(
        self, repo: str, *, private: bool = False, card: str | None = None, token: str | None = None
    ) -> str:
        """Upload the model to a repository on the Hugging Face hub, which is created if needed.

        `tam.load("hf://OWNER/NAME")` reads it. Needs the extra `hub`.

        Args:
            repo: `OWNER/NAME`.
            private: Whether a new repository is private.
            card: The model card, in Markdown; by default a short one.
            token: An access token; by default the one stored by `hf auth login`, or `HF_TOKEN`.

        Returns:
            The URL of the commit.
        """
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            return push(
                Path(folder), repo, card or short_card(repr(self), repo), private=private, token=token
            )

    def export_onnx(self, path: str | Path, shots: int | None = None) -> None:
        """Export prediction with this model as an ONNX file, with the task embedding as an input.

        See `tam.learner.onnx` for its inputs and outputs. Needs the extra `onnx`.

        Args:
            path: The file to write.
            shots: If the model has several sets of weights, export the set for k = `shots`; by default the
                last weights. A task embedding belongs to one set only.
        """
        saved = self._used.saved
        model = saved.model if shots is None else saved.at(shots)[0]
        write_onnx(path_of(path), self.method, model, self.vocabulary_, self._used.identities[model])


def load(name: str | Path, device: str = "auto") -> Learner:
    """Load a learner; nothing in its files is executed.

    Args:
        name: A folder written by `Learner.save` or `tam train`; else the name of a pretrained model, such as
            `"classification"` (`tam models` lists them); or `"hf://OWNER/NAME"`, a model on the Hugging Face
            hub, optionally followed by `@REVISION`.
        device: auto (cuda if there is a GPU, else cpu), cpu or cuda.
    """
    if isinstance(name, str) and name.startswith(PREFIX):
        return Learner.of(Saved.read(pull(name), real_device(device)))
    path_of(name)
    return Learner.of(Saved.read(resolve(name), real_device(device)))
