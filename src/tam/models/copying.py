"""A pointer network: answers can copy tokens of x, including unknown ones.

Each place that predicts a token attends to the places of x, and a gate g mixes this with the softmax over the
vocabulary: p(v) = (1 − g) · softmax(v) + g · Σ of the attention to the places of x that hold v.
See, Liu, Manning: Get To The Point: Summarization with Pointer-Generator Networks, 2017.

An unknown token has the id V + its first place in x (see `TokenIds`), so with X places an answer can contain
V + X tokens; the id after those is the end.

With hints, x begins with answers by a simple rule (see `tam.models.hints`). While y matches the beginning of
such an answer, the answer's next token is another component of the mixture, with its own weight; the
separator after the answer is the end. The first answer starts with most of the weight: training improves on
the rule.

Shapes: R rows, Q places that predict, X places of x, d width, V token ids.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.layers import Linear
from tam.models.rotary import Rotation

_NEVER = -1e9  # log 0; −∞ would make second derivatives NaN
_TINY = 1e-38
START = -2.0  # initial bias of the gate, in favour of the vocabulary
TRUST = (4.0, 1.0)  # initial bias of the weights of the rule's first answer, and of its other answers


class Mixed(NamedTuple):
    """The components of the mixture as weighted log-probabilities."""

    known: Tensor  # log (1 − g) · p of the vocabulary and the end, `[R, Q, V + 1]`
    places: Tensor  # log g · p of the places of x, `[R, Q, X]`; −1e9 in the padding


class Copier(nn.Module):
    """The pointer and its gate."""

    def __init__(self, width: int, generator: torch.Generator, hints: int = 0):
        super().__init__()
        self.query = Linear(width, width, generator)
        self.key = Linear(width, width, generator)
        self.gate = Linear(width, 1, generator, std=0.02)
        with torch.no_grad():
            self.gate.bias.fill_(START)
        self.trust = Linear(width, hints, generator, std=0.02) if hints else None
        if self.trust is not None:
            with torch.no_grad():
                self.trust.bias.fill_(TRUST[1])[0] = TRUST[0]

    def forward(
        self,
        log_prob: Tensor,
        hidden: Tensor,
        x_hidden: Tensor,
        in_x: Tensor,
        rotations: tuple[Rotation, Rotation] | None = None,
        followed: "Followed | None" = None,
    ) -> Mixed:
        """Compute the components of the mixture.

        Args:
            log_prob: Log-probabilities of the vocabulary and the end, `[R, Q, V + 1]`.
            hidden: The hidden states that predict, `[R, Q, d]`.
            x_hidden: The hidden states of x, `[R, X, d]`.
            in_x: Mask of the places of x that hold a token, `[R, X]`.
            rotations: Rotations of queries and keys, needed with rotary positions because hidden states then
                do not encode their position.
            followed: The next tokens of the rule's answers, if x contains any.
        """
        if x_hidden.shape[1] == 0:
            return Mixed(log_prob, log_prob[..., :0])
        queries, keys = self.query(hidden), self.key(x_hidden)
        if rotations is not None:
            queries, keys = rotations[0](queries), rotations[1](keys)
        scores = (queries * hidden.shape[-1] ** -0.5) @ keys.transpose(-2, -1)
        inside, nonempty = in_x.unsqueeze(1), in_x.any(1)[:, None, None]
        scores = scores.to(log_prob.dtype).masked_fill(~inside, _NEVER)
        gate = self.gate(hidden).to(log_prob.dtype)
        if self.trust is not None and followed is not None:
            return self._with_hints(log_prob, scores, gate, self.trust(hidden).to(gate.dtype), followed)
        copied = scores.log_softmax(-1) + F.logsigmoid(gate)
        known = log_prob + torch.where(nonempty, F.logsigmoid(-gate), 0.0)
        return Mixed(known, torch.where(inside, copied, _NEVER))

    def _with_hints(
        self, log_prob: Tensor, scores: Tensor, gate: Tensor, trust: Tensor, followed: "Followed"
    ) -> Mixed:
        """The components, including the next tokens of the rule's answers that y has followed so far."""
        trust = trust.masked_fill(~followed.active, _NEVER)
        weights = torch.cat([torch.zeros_like(gate), gate, trust], dim=-1).log_softmax(-1)
        of_known, of_copy, *of_hints = weights.split(1, -1)
        parts = [(scores.log_softmax(-1) + of_copy).clamp(min=_NEVER)]
        numbers = torch.arange(scores.shape[-1], device=scores.device)
        for place, active, weight in zip(
            followed.place.split(1, -1), followed.active.split(1, -1), of_hints, strict=True
        ):
            parts.append(torch.where((numbers == place) & active, weight, _NEVER))
        return Mixed(log_prob + of_known, torch.stack(parts, dim=-1).logsumexp(-1))


class Followed(NamedTuple):
    """For each of the rule's answers in x, whether y follows it so far, and the place of its next token."""

    place: Tensor  # the place in x of the answer's next token, `[R, Q, hints]`
    active: Tensor  # whether y so far is a prefix of the answer, `[R, Q, hints]`


def follow(x: Tensor, in_x: Tensor, y: Tensor, hints: int, separator: int) -> Followed:
    """Match each prefix of y `[R, Y]` with the answers in x, `answer₁ | answer₂ | … | input`.

    An empty answer means that there is none.
    """
    ends = (x == separator) & in_x  # [R, X]
    number = ends.cumsum(1) - ends.long()  # of each place's answer, which includes its separator
    steps = torch.arange(y.shape[1] + 1, device=x.device)
    places: list[Tensor] = []
    active: list[Tensor] = []
    for hint in range(hints):
        length = ((number == hint) & in_x).sum(1, keepdim=True) - 1  # [R, 1]
        start = ((number < hint) & in_x).sum(1, keepdim=True)
        place = (start + steps).clamp(max=x.shape[1] - 1)  # [R, Y + 1]
        same = (x.gather(1, place[:, :-1]) == y) & (steps[:-1] < length)
        is_prefix = F.pad(same.long().cumprod(1), (1, 0), value=1) > 0
        places.append(place)
        active.append(is_prefix & (steps <= length) & (length > 0))
    return Followed(torch.stack(places, -1), torch.stack(active, -1))


def copied_outcomes(mixed: Mixed, x: Tensor, in_x: Tensor, separator: int | None = None) -> Tensor:
    """Mix into log-probabilities of all tokens and the end, `[R, Q, V + X + 1]`, for x as ids `[R, X]`.

    Ids from V on that stand for no token of x get −∞. Copying a separator ends the answer.
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
    chosen = (first & in_x).unsqueeze(1)  # one place per token, so that the order of sums is fixed
    total = (places.exp() @ (same & in_x.unsqueeze(2)).to(places.dtype)).clamp(min=_TINY).log()
    # All other places go to an extra column, which is cut off.
    index = torch.where(chosen, x.unsqueeze(1), wide.shape[-1]).expand_as(total)
    copied = wide.new_full((*wide.shape[:2], wide.shape[-1] + 1), _NEVER).scatter(2, index, total)
    both = torch.stack([wide, copied[..., :-1]], dim=-1).logsumexp(-1)
    return both.masked_fill(both < _NEVER / 2, -torch.inf)


def of_targets(
    mixed: Mixed, x: Tensor, in_x: Tensor, target: Tensor, end: int, separator: int | None = None
) -> Tensor:
    """Log-probabilities of the target tokens `[R, Q]`, where the end token has the id `end`."""
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
