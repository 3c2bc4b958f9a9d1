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

from tam.models import rotary
from tam.models.batch import Batch
from tam.models.layers import Linear
from tam.models.rotary import Rotation
from tam.models.spec import ModelSpec

_NEVER = -1e9  # log 0; −∞ would make second derivatives NaN
_TINY = 1e-38
START = -2.0  # initial bias of the gate, in favour of the vocabulary
TRUST = (4.0, 1.0)  # initial bias of the weights of the rule's first answer, and of its other answers


class Mixed(NamedTuple):
    """The components of the mixture as weighted log-probabilities."""

    known: Tensor  # log (1 − g) · p of the vocabulary and the end, `[R, Q, V + 1]`
    places: Tensor  # log g · p of the places of x, `[R, Q, X]`; −1e9 in the padding
    tokens: (
        Tensor  # what copying each place of x answers, `[R, X]`: a token, V + X for the end, −1 in padding
    )

    def outcomes(self) -> Tensor:
        """Mix into log-probabilities of all tokens and the end, `[R, Q, V + X + 1]`.

        Ids from V on that stand for no token of x get −∞.
        """
        known, places, tokens = self
        end, width = known.shape[-1] - 1, tokens.shape[-1]
        unnamed = known.new_full((*known.shape[:2], width), _NEVER)
        wide = torch.cat([known[..., :end], unnamed, known[..., end:]], dim=-1)
        if width == 0:
            return wide
        same = tokens.unsqueeze(2) == tokens.unsqueeze(1)  # [R, X, X]
        first = same.int().argmax(-1) == torch.arange(width, device=tokens.device)
        in_x = tokens >= 0
        chosen = (first & in_x).unsqueeze(1)  # one place per token, so that the order of sums is fixed
        total = (places.exp() @ (same & in_x.unsqueeze(2)).to(places.dtype)).clamp(min=_TINY).log()
        # All other places go to an extra column, which is cut off.
        index = torch.where(chosen, tokens.unsqueeze(1), wide.shape[-1]).expand_as(total)
        copied = wide.new_full((*wide.shape[:2], wide.shape[-1] + 1), _NEVER).scatter(2, index, total)
        both = torch.stack([wide, copied[..., :-1]], dim=-1).logsumexp(-1)
        return both.masked_fill(both < _NEVER / 2, -torch.inf)

    def of_targets(self, target: Tensor) -> Tensor:
        """Log-probabilities of the target tokens `[R, Q]`, where the end token has the id V + X."""
        known, places, tokens = self
        size = known.shape[-1] - 1
        is_end = target == size + tokens.shape[-1]
        index = torch.where(is_end, size, target.clamp(max=size - 1)).unsqueeze(-1)
        of_known = known.gather(-1, index).squeeze(-1).masked_fill(~is_end & (target >= size), _NEVER)
        of_places = places.masked_fill(tokens.unsqueeze(1) != target.unsqueeze(2), _NEVER)
        return torch.cat([of_known.unsqueeze(-1), of_places], dim=-1).logsumexp(-1)


class Copier(nn.Module):
    """The pointer and its gate."""

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__()
        self.spec = spec
        self.query = Linear(spec.width, spec.width, generator)
        self.key = Linear(spec.width, spec.width, generator)
        self.gate = Linear(spec.width, 1, generator, std=0.02)
        self.trust = Linear(spec.width, spec.hints, generator, std=0.02) if spec.hints else None
        with torch.no_grad():
            self.gate.bias.fill_(START)
            if self.trust is not None:
                self.trust.bias.fill_(TRUST[1])[0] = TRUST[0]

    def forward(self, log_prob: Tensor, hidden: Tensor, x_hidden: Tensor, batch: Batch) -> Mixed:
        """Compute the components of the mixture.

        Args:
            log_prob: Log-probabilities of the vocabulary and the end, `[R, Q, V + 1]`.
            hidden: The hidden states that predict, `[R, Q, d]`.
            x_hidden: The hidden states of x, `[R, X, d]`.
            batch: The inputs, and the answers so far.
        """
        x, in_x = batch.x.flatten(0, 1), batch.in_x.flatten(0, 1)
        tokens = x.masked_fill(~in_x, -1)
        if x.shape[1] == 0:
            return Mixed(log_prob, log_prob[..., :0], tokens)
        queries, keys = self.query(hidden), self.key(x_hidden)
        if self.spec.positions == "rotary":  # y is counted from the task's last place, x from its start
            dtype = torch.promote_types(hidden.dtype, torch.float32)
            counts = torch.arange(hidden.shape[1], device=x.device), rotary.positions([in_x])
            of_queries, of_keys = (Rotation.of(count, self.spec.width, dtype) for count in counts)
            queries, keys = of_queries(queries), of_keys(keys)
        scores = (queries * hidden.shape[-1] ** -0.5) @ keys.transpose(-2, -1)
        scores = scores.to(log_prob.dtype).masked_fill(~in_x.unsqueeze(1), _NEVER)
        copied, gate = scores.log_softmax(-1), self.gate(hidden).to(log_prob.dtype)
        if self.trust is not None and (separator := self.spec.separator) is not None:
            tokens = tokens.masked_fill(tokens == separator, log_prob.shape[-1] - 1 + x.shape[1])
            followed = follow(x, in_x, batch.y.flatten(0, 1), self.spec.hints, separator)
            return _with_hints(log_prob, copied, gate, self.trust(hidden).to(gate.dtype), followed, tokens)
        known = log_prob + torch.where(in_x.any(1)[:, None, None], F.logsigmoid(-gate), 0.0)
        places = torch.where(in_x.unsqueeze(1), copied + F.logsigmoid(gate), _NEVER)
        return Mixed(known, places, tokens)


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


def _with_hints(
    log_prob: Tensor, copied: Tensor, gate: Tensor, trust: Tensor, followed: Followed, tokens: Tensor
) -> Mixed:
    """The components, including the next tokens of the rule's answers that y has followed so far."""
    trust = trust.masked_fill(~followed.active, _NEVER)
    weights = torch.cat([torch.zeros_like(gate), gate, trust], dim=-1).log_softmax(-1)
    of_known, of_copy, of_hints = weights.split([1, 1, trust.shape[-1]], dim=-1)
    numbers = torch.arange(copied.shape[-1], device=copied.device).unsqueeze(1)
    is_next = (numbers == followed.place.unsqueeze(2)) & followed.active.unsqueeze(2)  # [R, Q, X, hints]
    of_places = torch.where(is_next, of_hints.unsqueeze(2), _NEVER)
    copied = (copied + of_copy).clamp(min=_NEVER).unsqueeze(-1)
    return Mixed(log_prob + of_known, torch.cat([copied, of_places], dim=-1).logsumexp(-1), tokens)
