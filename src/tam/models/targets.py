"""Log-probabilities of target tokens."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.batch import Batch
from tam.models.layers import within


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities, in at least float32 even if the network computes in bfloat16."""
    return F.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))


def target_log_prob(outcomes: Tensor, batch: Batch) -> Tensor:
    """Select the log-probabilities of y and its end token: `[B, N, Y + 1]`, 0 in the padding."""
    target, scored = token_targets(batch, end=outcomes.shape[-1] - 1)
    return outcomes.gather(-1, target.unsqueeze(-1)).squeeze(-1).masked_fill(~scored, 0.0)


def token_targets(batch: Batch, end: int) -> tuple[Tensor, Tensor]:
    """The tokens of y followed by the end token, and the mask of scored places: `[B, N, Y + 1]` each."""
    assert batch.y_length is not None
    width = batch.y.shape[-1]
    # Places after the end token are not scored, so they may hold the end token too.
    target = F.pad(batch.y, (0, 1)).masked_fill(~within(batch.y_length, width + 1), end)
    return target, within(batch.y_length + 1, width + 1)
