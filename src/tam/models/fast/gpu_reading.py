"""From hidden states to the log-probabilities of answers with one kernel, and a few for the gradients.

Shapes: B tasks, R sequences, Q places read of each, P rows, d width, C outcomes.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from tam.models.fast.context import check_first_derivative, wants_weight_gradients
from tam.models.fast.gpu_device import launch
from tam.models.fast.gpu_packing import room_for

MOST_OUTCOMES = 256
_SPAN = 64  # rows of a program
_PROGRAMS = 128  # that sum weight gradients
_PART = 64  # outcomes at a time in the backward pass
_COLUMNS = 16  # of the weights per program of `finish_weights`


class Weights(NamedTuple):
    """Weights of a LayerNorm and a linear layer."""

    scale: Tensor
    shift: Tensor
    weight: Tensor
    bias: Tensor


class ScoredAnswers(NamedTuple):
    """The answers to score, and where the rows are in their sequences."""

    y: Tensor  # tokens [R, Q − 1], or classes [R]
    y_lengths: Tensor | None  # [R], if answers are sequences
    classes: Tensor | None  # [B], number of classes of each task; None for all
    source: Tensor | None  # [P], the place that each row holds; None if rows are all places in order
    number: Tensor | int  # of rows; a tensor if only the GPU knows it
    length: int  # rows of a sequence, before packing
    first: int  # of these that is read
    places: int  # Q

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return len(self.y)


class Reading:
    """Launches of the kernels, with the arguments that they share."""

    def __init__(self, hidden: Tensor, weights: Weights, answers: ScoredAnswers, matrix: Tensor) -> None:
        """`matrix` is the linear layer's weight in the dtype of matrix products, bfloat16 or float32."""
        import triton.language as tl

        given = (hidden, *weights)
        assert all(tensor.dtype == torch.float32 and tensor.is_contiguous() for tensor in given)
        self._hidden, self._weights, self._answers, self._matrix = hidden, weights, answers, matrix
        y, lengths, classes, source = answers[:4]
        self._given = [weights.bias, y, *(y if t is None else t for t in (lengths, classes, source))]
        tasks = 1 if classes is None else len(classes)
        self._sizes = [
            answers.number,
            answers.length,
            answers.first,
            answers.places,
            len(weights.bias),
            answers.sequences // tasks,
        ]
        self._outcomes = room_for(len(weights.bias))
        self._part = min(self._outcomes, _PART)
        self._constants: dict[str, Any] = {
            "span": _SPAN,
            "D": hidden.shape[1],
            "packed": source is not None,
            "is_sequence": lengths is not None,
            "limited": classes is not None,
            "dtype": tl.bfloat16 if matrix.dtype == torch.bfloat16 else tl.float32,
        }

    def forward(self) -> tuple[Tensor, Tensor]:
        """The log-probabilities of the answers `[R, Q]`, and each row's logsumexp over outcomes."""
        answers = self._answers
        log_prob = self._hidden.new_zeros(answers.sequences, answers.places)
        totals = self._hidden.new_empty(len(self._hidden))
        launch(
            "read_forward", self._grid, *self._operands(self._outcomes), log_prob, totals,
            *self._sizes, outcomes=self._outcomes, num_warps=8 if self._outcomes > 64 else 4,
            **self._constants,
        )  # fmt: skip
        return log_prob, totals

    def backward(self, totals: Tensor, g: Tensor) -> Tensor:
        """The gradient of the hidden states."""
        g_hidden = torch.empty_like(self._hidden)
        launch(
            "read_backward", self._grid, *self._operands(self._part), totals, g, g_hidden,
            *self._sizes, len(self._hidden), outcomes=self._outcomes, part=self._part, num_warps=4,
            **self._constants,
        )  # fmt: skip
        return g_hidden

    def of_weights(self, totals: Tensor, g: Tensor) -> Weights:
        """The gradients of the weights."""
        part, width = self._part, self._hidden.shape[1]
        shares = min(self._grid[0], _PROGRAMS // (self._outcomes // part))
        parts = g.new_empty(shares, self._outcomes * (width + 1))
        grid = (shares, self._outcomes // part)
        launch(
            "read_weights", grid, *self._operands(part), totals, g, parts, *self._sizes, part=part,
            num_warps=8, **self._constants,
        )  # fmt: skip
        gradients = Weights(*(torch.empty_like(tensor) for tensor in self._weights))
        launch(
            "finish_weights", (width // _COLUMNS,), parts.sum(0), self._weights.weight,
            self._weights.scale, self._weights.shift, *gradients, len(self._weights.bias),
            part=_COLUMNS, D=width, outcomes=self._outcomes,
        )  # fmt: skip
        return gradients

    def _operands(self, outcomes: int) -> list[Any]:
        """The arguments of all kernels, which read this number of outcomes (rows of the matrix) at a time."""
        from triton.tools.tensor_descriptor import TensorDescriptor

        matrix = TensorDescriptor.from_tensor(self._matrix, [outcomes, self._hidden.shape[1]])
        return [self._hidden, self._weights.scale, self._weights.shift, matrix, *self._given]

    @property
    def _grid(self) -> tuple[int]:
        return (-(-len(self._hidden) // _SPAN),)


def read(hidden: Tensor, weights: Weights, answers: ScoredAnswers) -> Tensor:
    """Log-probabilities of the parts of the answers, `[R, Q]`, 0 in their padding.

    Matrix products are in bfloat16 under autocast, else in float32.
    """
    half = torch.is_autocast_enabled(hidden.device.type)
    return _Read.apply(answers, half, hidden, *weights)


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, answers: ScoredAnswers, half: bool, hidden: Tensor, *weights: Tensor) -> Tensor:
        given = Weights(*weights)
        matrix = given.weight.to(torch.bfloat16 if half else torch.float32)
        log_prob, totals = Reading(hidden, given, answers, matrix).forward()
        ctx.answers = answers
        ctx.save_for_backward(totals, matrix, hidden, *weights)
        return log_prob

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        check_first_derivative()
        totals, matrix, hidden, *weights = ctx.saved_tensors
        g = gradients[0].contiguous()
        reading = Reading(hidden, Weights(*weights), ctx.answers, matrix)
        wanted = wants_weight_gradients()
        weight_grads = reading.of_weights(totals, g) if wanted else [None] * len(weights)
        return None, None, reading.backward(totals, g), *weight_grads
