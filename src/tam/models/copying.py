"""A pointer to x: answers can have the tokens of x, those that the model does not know included.

Each place that predicts a token points at the places of x (attention), and a gate mixes that with the
vocabulary's softmax: p(v) = (1 − g) · softmax(v) + g · Σ of the attention to the places of x that hold v.
See, Liu, Manning: Get To The Point: Summarization with Pointer-Generator Networks, 2017.

A token that the model does not know has the id V + its first place in x (see `TokenIds`), so that with X
places there are V + X tokens that can be answered, and then the end.

With hints, x begins with the answer of a simple rule (see `tam.models.hints`). The pointer then prefers the
place of x with the same number as that of y, and to point at the separator behind that answer is to end: the
first predictions are those of the rule, and training improves on them.

Shapes: R rows, Q places that predict, X places of x, d width, V token ids.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import Linear, constant

_NEVER = -1e9  # stands for log 0: −∞ would give NaN in second derivatives
_TINY = 1e-38
START = -2.0  # of the gate: the vocabulary comes first
HINTED_START = 2.0  # of the gate with hints: the answer of the rule comes first
SAME_PLACE = 8.0  # what the score of the same place has more at first


class Mixed(NamedTuple):
    """Log-probabilities before they are mixed."""

    known: Tensor  # of the vocabulary and the end, times 1 − g, `[R, Q, V + 1]`
    places: Tensor  # of the places of x, times g, `[R, Q, X]`; −1e9 in the padding


class Copier(nn.Module):
    """The pointer and its gate."""

    def __init__(self, width: int, generator: torch.Generator, *, hinted: bool = False):
        super().__init__()
        self.query = Linear(width, width, generator)
        self.key = Linear(width, width, generator)
        self.gate = Linear(width, 1, generator, std=0.02)
        with torch.no_grad():
            self.gate.bias.fill_(HINTED_START if hinted else START)
        self.same_place = constant(generator, 1, value=SAME_PLACE) if hinted else None

    def forward(self, log_prob: Tensor, hidden: Tensor, x_hidden: Tensor, in_x: Tensor) -> Mixed:
        """The parts of the mixture.

        Args:
            log_prob: Of the vocabulary and the end, `[R, Q, V + 1]`.
            hidden: The hidden states that predict, `[R, Q, d]`.
            x_hidden: Those of x, `[R, X, d]`.
            in_x: Which places of x hold a token, `[R, X]`.
        """
        if x_hidden.shape[1] == 0:
            return Mixed(log_prob, log_prob[..., :0])
        scores = (self.query(hidden) * hidden.shape[-1] ** -0.5) @ self.key(x_hidden).transpose(-2, -1)
        if self.same_place is not None:
            same = torch.eye(*scores.shape[1:], dtype=scores.dtype, device=scores.device)
            scores = scores + self.same_place * same
        inside, some = in_x.unsqueeze(1), in_x.any(1)[:, None, None]
        scores = scores.to(log_prob.dtype).masked_fill(~inside, _NEVER)
        gate = self.gate(hidden).to(log_prob.dtype)
        copied = scores.log_softmax(-1) + F.logsigmoid(gate)
        # With an empty x there is nothing to copy.
        known = log_prob + torch.where(some, F.logsigmoid(-gate), 0.0)
        return Mixed(known, torch.where(inside, copied, _NEVER))


def copied_outcomes(mixed: Mixed, x: Tensor, in_x: Tensor, separator: int | None = None) -> Tensor:
    """Log-probabilities of all tokens and the end, `[R, Q, V + X + 1]`, given x in ids `[R, X]`.

    An id that stands for no token of x has −∞. To copy the separator, if there is one, is to end.
    """
    known, places = mixed
    end, width = known.shape[-1] - 1, x.shape[-1]
    wide = torch.cat(
        [known[..., :end], known.new_full((*known.shape[:2], width), _NEVER), known[..., end:]], -1
    )
    if width == 0:
        return wide
    x = x.masked_fill(~in_x, -1)
    if separator is not None:
        x = x.masked_fill(x == separator, wide.shape[-1] - 1)
    same = x.unsqueeze(2) == x.unsqueeze(1)  # [R, X, X]
    first = same.int().argmax(-1) == torch.arange(width, device=x.device)
    chosen = (first & in_x).unsqueeze(1)  # one place for each token, so that the order of sums is fixed
    total = (places.exp() @ (same & in_x.unsqueeze(2)).to(places.dtype)).clamp(min=_TINY).log()
    # The others go to a place of their own, which is cut off.
    index = torch.where(chosen, x.unsqueeze(1), wide.shape[-1]).expand_as(total)
    copied = wide.new_full((*wide.shape[:2], wide.shape[-1] + 1), _NEVER).scatter(2, index, total)
    both = torch.stack([wide, copied[..., :-1]], dim=-1).logsumexp(-1)
    return both.masked_fill(both < _NEVER / 2, -torch.inf)


def of_targets(
    mixed: Mixed, x: Tensor, in_x: Tensor, target: Tensor, end: int, separator: int | None = None
) -> Tensor:
    """Log-probabilities of the target tokens `[R, Q]` alone; the id of the end is `end`."""
    known, places = mixed
    is_end, size = target == end, known.shape[-1] - 1
    named = is_end | (target < size)
    index = torch.where(is_end, size, target.clamp(max=size - 1)).unsqueeze(-1)
    of_known = known.gather(-1, index).squeeze(-1).masked_fill(~named, _NEVER)
    if separator is not None:
        x = x.masked_fill(x == separator, end)
    match = (x.unsqueeze(1) == target.unsqueeze(2)) & in_x.unsqueeze(1)
    of_places = places.masked_fill(~match, _NEVER)
    return torch.cat([of_known.unsqueeze(-1), of_places], dim=-1).logsumexp(-1)
