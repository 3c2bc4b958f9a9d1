"""From hidden states to the log-probabilities of answers, by one kernel, with gradients by a few.

Shapes: R sequences, Q places read of each, P rows, d width.
"""

from typing import Any

import torch
from torch import Tensor

from tam.models.fast.cpu_block import of_weights
from tam.models.fast.gpu_reading import Answers, Reading, Weights


def read(hidden: Tensor, weights: Weights, answers: Answers) -> Tensor:
    """Log-probabilities of what the answers are made of, `[R, Q]`, 0 in their padding.

    Matrix products are in bfloat16 under autocast, else in float32.
    """
    half = torch.is_autocast_enabled(hidden.device.type)
    return _Read.apply(answers, half, hidden, *weights)


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, answers: Answers, half: bool, hidden: Tensor, *weights: Tensor) -> Tensor:
        given = Weights(*weights)
        matrix = given.weight.to(torch.bfloat16 if half else torch.float32)
        log_prob, totals = Reading(hidden, given, answers, matrix).forward()
        ctx.answers = answers
        ctx.save_for_backward(totals, matrix, hidden, *weights)
        return log_prob

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        totals, matrix, hidden, *weights = ctx.saved_tensors
        g = gradients[0].contiguous()
        reading = Reading(hidden, Weights(*weights), ctx.answers, matrix)
        found = reading.of_weights(totals, g) if of_weights() else [None] * len(weights)
        return None, None, reading.backward(totals, g), *found
