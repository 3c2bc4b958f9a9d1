"""Answer inputs with a trained model; each may belong to a different task."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tam.errors import UserError, shown
from tam.evaluation.decoding import decode
from tam.evaluation.protocol import rows_of_length
from tam.learner.adapting import Trained
from tam.learner.inputs import Checked
from tam.learner.task_embedding import EmbeddingError, TaskEmbedding
from tam.models import Batch, Model
from tam.models.batch import collate_inputs
from tam.models.hints import Hints
from tam.models.support_state import check_packed
from tam.tasks.task import Example, Label, Sequences
from tam.tasks.vocabulary import Token, listed, plain_token

_ROWS_AT_ONCE = 4096

T = TypeVar("T")

Rules = TaskEmbedding | Iterable[TaskEmbedding]
"""One task embedding for all inputs, or one for each."""

Inputs = Iterable[Sequence[Token] | str]
"""Inputs, each a sequence of tokens."""


class Answering:
    """Answers inputs with a trained model."""

    def __init__(self, trained: Trained) -> None:
        self._trained, self._method = trained, trained.method
        self._spec, self._intake = trained.spec, trained.intake
        self._hints = Hints.of_model(trained.saved.model)
        self._size: int | None = None

    def label_probabilities(self, rules: Rules, inputs: Inputs | Checked) -> list[dict[Label, float]]:
        """The probabilities of its task's labels, for each input."""

        @torch.no_grad()
        def answer(
            model: Model, chunk: list[TaskEmbedding], states: Tensor, batch: Batch
        ) -> list[dict[Label, float]]:
            rows = self._method.outcomes(model, states, batch).exp()[:, 0].tolist()
            return [dict(zip(rule.labels, row, strict=False)) for rule, row in zip(chunk, rows, strict=True)]

        x = self._intake.inputs(inputs).ids
        each = self._each_rule(rules, len(x))
        return self._answers(each, self._with_hints(x, each), answer)

    def tokens(
        self, rules: Rules, inputs: Inputs | Checked, beams: int
    ) -> list[tuple[list[list[Token]], list[float]]]:
        """The most likely answers to every input, in the user's tokens, and their log-probabilities."""
        if not isinstance(count := plain_token(beams), int) or count < 1:
            raise UserError(f"beams must be an integer of at least 1: got {shown(beams)}")
        (read, x), ids = self._intake.inputs(inputs), self._intake.ids
        each = self._each_rule(rules, len(x))
        x = self._with_hints(x, each)
        decoded = self._answers(
            each, x, lambda model, _, states, batch: decode(self._method, model, states, batch, count)
        )
        if self._spec.codes is not None:
            read = [
                ids.tokens_of(x.row(place).tolist(), (*tokens, *_answer_tokens(rule.examples)))
                for place, (tokens, rule) in enumerate(zip(read, each, strict=True))
            ]
        return [
            ([ids.decode(sequence, tokens) for sequence in one.sequences], one.log_probs)
            for tokens, one in zip(read, decoded, strict=True)
        ]

    def _answers(
        self,
        each: Sequence[TaskEmbedding],
        x: Sequences,
        answer: Callable[[Model, list[TaskEmbedding], Tensor, Batch], Iterable[T]],
    ) -> list[T]:
        """Answer inputs, each with its own task embedding, in batches with one row per task.

        `answer` receives the model, the embeddings of a batch, their states, and the batch.
        """
        device = self._trained.device
        if self._hints is not None:
            placed = [self._hints.placed(x.row(place).tolist())[0] for place in range(len(x))]
            x = Sequences.from_lists(placed, self._intake.ids.size)
        most = self._method.at_once(self._trained.saved.model) or _ROWS_AT_ONCE
        most = min(most, rows_of_length(x.ids.shape[1], device))
        answers: list[T | None] = [None] * len(each)
        for name, model in {name: model for model, name in self._trained.identities.items()}.items():
            own = [place for place, rule in enumerate(each) if rule.model == name]
            for places in (own[start : start + most] for start in range(0, len(own), most)):
                chunk = [each[place] for place in places]
                batch = self._query_batch(Sequences(x.ids[places], x.lengths[places]), chunk)
                states = torch.from_numpy(_stack([rule.vector for rule in chunk])).to(device)
                for place, one in zip(places, answer(model, chunk, states, batch), strict=True):
                    answers[place] = one
        return cast("list[T]", answers)

    def _with_hints(self, x: Sequences, rules: Sequence[TaskEmbedding]) -> Sequences:
        """Add to inputs the hints from the examples of their rules, if the model reads any."""
        if self._hints is None:
            return x
        places: dict[int, list[int]] = {}
        for place, rule in enumerate(rules):
            places.setdefault(id(rule), []).append(place)
        rows: list[list[int]] = [[]] * len(rules)
        for chunk in places.values():
            rule = rules[chunk[0]]
            task = self._intake.task("its task", rule.examples, rule.primitives)
            hinted = self._hints.ask(task, Sequences(x.ids[chunk], x.lengths[chunk]))
            for place, row in zip(chunk, hinted, strict=True):
                rows[place] = row
        return Sequences.from_lists(rows, self._intake.ids.size)

    def _query_batch(self, x: Sequences, rules: Sequence[TaskEmbedding]) -> Batch:
        """A batch in which each input is the only row of its task, without answers."""
        classes = [len(rule.labels) for rule in rules] if self._spec.kind == "classification" else None
        composed = [rule.primitives for rule in rules]
        return collate_inputs(x, classes, composed, self._intake.primitives).to(self._trained.device)

    def _each_rule(self, rules: Rules, inputs: int) -> list[TaskEmbedding]:
        """The task embedding of every input, checked."""
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
        """Raise an error unless this model could have made the embedding."""
        spec, method = self._spec, self._method
        if rule.model not in self._trained.identities.values():
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
                raise UserError(f"the vector must have {size} numbers: got {len(rule.vector)}")
        except UserError as error:
            raise EmbeddingError(str(error)) from None

    def _state_size(self, rule: TaskEmbedding) -> int:
        """The length of a task's state, as measured on a task with one empty example."""
        if self._size is None:
            _, choice = self._trained.saved.at(1)
            blank = self._query_batch(self._intake.inputs([[]]).ids, [rule])
            steps = (min(choice.steps, 1),)
            (states,) = self._method.adapt(self._trained.saved.model, blank, steps, choice.rate)
            self._size = states.shape[1]
        return self._size // self._method.searches * rule.searches


def _stack(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Stack the vectors of task embeddings as rows, padded with zeros.

    Vectors that hold a support vary in length; padding adds no examples to it.
    """
    longest = max(map(len, vectors))
    if all(len(vector) == longest for vector in vectors):
        return np.stack(vectors)
    return np.stack([np.pad(vector, (0, longest - len(vector))) for vector in vectors])


def _answer_tokens(examples: Iterable[Example]) -> Iterator[Token]:
    """The tokens of answers that are sequences."""
    return (token for _, y in examples if isinstance(y, list) for token in y)
