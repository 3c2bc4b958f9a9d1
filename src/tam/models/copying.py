"""A pointer to x: answers can have the tokens of x, those that the model does not know included.

Each place that predicts a token points at the places of x (attention), and a gate mixes that with the
vocabulary's softmax: p(v) = (1 − g) · softmax(v) + g · Σ of the attention to the places of x that hold v.
See, Liu, Manning: Get To The Point: Summarization with Pointer-Generator Networks, 2017.

A token that the model does not know has the id V + its first place in x (see `TokenIds`), so that with X
places there are V + X tokens that can be answered, and then the end.

Shapes: R rows, Q places that predict, X places of x, d width, V token ids.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import Linear
from tam.models.rotary import Rotation

_NEVER = -1e9  # stands for log 0: −∞ would give NaN in second derivatives
_TINY = 1e-38
START = -2.0  # of the gate: the vocabulary comes first


class Mixed(NamedTuple):
    """Log-probabilities before they are mixed."""

    known: Tensor  # of the vocabulary and the end, times 1 − g, `[R, Q, V + 1]`
    places: Tensor  # of the places of x, times g, `[R, Q, X]`; −1e9 in the padding


class Copier(nn.Module):
    """The pointer and its gate."""

    def __init__(self, width: int, generator: torch.Generator):
        super().__init__()
        self.query = Linear(width, width, generator)
        self.key = Linear(width, width, generator)
        self.gate = Linear(width, 1, generator, std=0.02)
        with torch.no_grad():
            self.gate.bias.fill_(START)

    def forward(
        self,
        log_prob: Tensor,
        hidden: Tensor,
        x_hidden: Tensor,
        in_x: Tensor,
        rotations: tuple[Rotation, Rotation] | None = None,
    ) -> Mixed:
        """The parts of the mixture.

        Args:
            log_prob: Of the vocabulary and the end, `[R, Q, V + 1]`.
            hidden: The hidden states that predict, `[R, Q, d]`.
            x_hidden: Those of x, `[R, X, d]`.
            in_x: Which places of x hold a token, `[R, X]`.
            rotations: Of the places that predict and of those of x, if positions are rotary: hidden states
                do not tell where they are then.
        """
        if x_hidden.shape[1] == 0:
            return Mixed(log_prob, log_prob[..., :0])
        queries, keys = self.query(hidden), self.key(x_hidden)
        if rotations is not None:
            queries, keys = rotations[0](queries), rotations[1](keys)
        scores = (queries * hidden.shape[-1] ** -0.5) @ keys.transpose(-2, -1)
        inside, some = in_x.unsqueeze(1), in_x.any(1)[:, None, None]
        scores = scores.to(log_prob.dtype).masked_fill(~inside, _NEVER)
        gate = self.gate(hidden).to(log_prob.dtype)
        copied = scores.log_softmax(-1) + F.logsigmoid(gate)
        # With an empty x there is nothing to copy.
        known = log_prob + torch.where(some, F.logsigmoid(-gate), 0.0)
        return Mixed(known, torch.where(inside, copied, _NEVER))


def copied_outcomes(mixed: Mixed, x: Tensor, in_x: Tensor) -> Tensor:
    """Log-probabilities of all tokens and the end, `[R, Q, V + X + 1]`, given x in ids `[R, X]`.

    An id that stands for no token of x has −∞.
    """
    known, places = mixed
    end, width = known.shape[-1] - 1, x.shape[-1]
    wide = torch.cat(
        [known[..., :end], known.new_full((*known.shape[:2], width), _NEVER), known[..., end:]], -1
    )
    if width == 0:
        return wide
    x = x.masked_fill(~in_x, -1)
    same = x.unsqueeze(2) == x.unsqueeze(1)  # [R, X, X]
    first = same.int().argmax(-1) == torch.arange(width, device=x.device)
    chosen = (first & in_x).unsqueeze(1)  # one place for each token, so that the order of sums is fixed
    total = (places.exp() @ (same & in_x.unsqueeze(2)).to(places.dtype)).clamp(min=_TINY).log()
    # The others go to a place of their own, which is cut off.
    index = torch.where(chosen, x.unsqueeze(1), wide.shape[-1]).expand_as(total)
    copied = wide.new_full((*wide.shape[:2], wide.shape[-1] + 1), _NEVER).scatter(2, index, total)
    both = torch.stack([wide, copied[..., :-1]], dim=-1).logsumexp(-1)
    return both.masked_fill(both < _NEVER / 2, -torch.inf)


def of_targets(mixed: Mixed, x: Tensor, in_x: Tensor, target: Tensor, end: int) -> Tensor:
    """Log-probabilities of the target tokens `[R, Q]` alone; the id of the end is `end`."""
    known, places = mixed
    is_end, size = target == end, known.shape[-1] - 1
    named = is_end | (target < size)
    index = torch.where(is_end, size, target.clamp(max=size - 1)).unsqueeze(-1)
    of_known = known.gather(-1, index).squeeze(-1).masked_fill(~named, _NEVER)
    match = (x.unsqueeze(1) == target.unsqueeze(2)) & (in_x.unsqueeze(1) & ~is_end.unsqueeze(2))
    of_places = places.masked_fill(~match, _NEVER)
    return torch.cat([of_known.unsqueeze(-1), of_places], dim=-1).logsumexp(-1)
