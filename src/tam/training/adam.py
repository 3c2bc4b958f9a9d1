"""Adam on θ, with gradient clipping, a linear warm-up and a cosine.

Rows of embedding tables that a step does not use keep their values and their momentum. Torch's Adam changes
every row of a table at every step.
"""

import math
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tam.models.fast.engine import has_kernels
from tam.models.fast.gpu_adam import Pieces, Vectors, move_weights

_BETAS = (0.9, 0.98)
_EPSILON = 1e-8
_MATRICES = ("weight", "down", "up", "recurrent")
"""Names of the layers' matrices, which weight decay is for: no biases, scales or embeddings."""


def rate_at(step: float, *, peak: float, warmup: int, steps: int) -> float:
    """The learning rate of outer step `step`: a linear warm-up, then a cosine down to 0."""
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(steps - warmup, 1)))


class Adam:
    """Updates parameters by their `.grad`, and clears it.

    All parameters and all gradients become views of two long vectors, so that an update takes few operations,
    and a sum over processes one message.

    Attributes:
        gradient: All gradients, concatenated.
        rate: The learning rate of the next updates, a tensor.
        norm: The norm of the last gradient before clipping, a tensor.
    """

    def __init__(
        self, model: nn.Module, tables: Collection[str], clip: float, weight_decay: float = 0.0
    ) -> None:
        named = dict(model.named_parameters())
        self.clip, self._weight_decay = clip, weight_decay
        self._matrices = [p for name, p in named.items() if name.rpartition(".")[2] in _MATRICES]
        self._values = torch.cat([p.detach().flatten() for p in named.values()])
        self.gradient, self._mean, self._square = (torch.zeros_like(self._values) for _ in range(3))
        self._used = torch.ones_like(self._values)
        self.rate, self.norm, self._moves = (self._values.new_zeros(()) for _ in range(3))
        self._tables: list[tuple[slice, torch.Size]] = []
        rows = [(p.numel(), p.shape[-1] if name in tables else 0) for name, p in named.items()]
        self._pieces = Pieces(rows, self._values.device) if has_kernels(self._values) else None
        place = 0
        for name, parameter in named.items():
            part = slice(place, place + parameter.numel())
            parameter.data = self._values[part].view_as(parameter)
            parameter.grad = self.gradient[part].view_as(parameter)
            if name in tables:
                self._tables.append((part, parameter.shape))
            place = part.stop

    @torch.no_grad()
    def move(self, count: Tensor) -> None:
        """Update θ by the mean gradient: `.grad` sums over `count` task-steps. If 0, θ does not change."""
        if self._weight_decay:
            kept = 1 - self._weight_decay * self.rate * (count > 0)
            for matrix in self._matrices:  # views of the values
                matrix.mul_(kept)
        if self._pieces is None:
            self._plain_move(count)
            return
        vectors = Vectors(self._values, self.gradient, self._mean, self._square)
        numbers = (count, self.rate, self.norm, self._moves)
        move_weights(vectors, self._pieces, *numbers, clip=self.clip, betas=_BETAS, epsilon=_EPSILON)

    def _plain_move(self, count: Tensor) -> None:
        moves_now = (count > 0).to(self.gradient.dtype)
        self.gradient /= count.clamp(min=1)
        self.norm.copy_(torch.linalg.vector_norm(self.gradient))
        self.gradient *= (self.clip / (self.norm + 1e-6)).clamp(max=1.0)
        for part, shape in self._tables:
            used = self._used[part].view(shape)
            used.copy_((self.gradient[part].view(shape) != 0).any(-1, keepdim=True).expand_as(used))
        self._moves += moves_now
        self._mean += self._used * (moves_now * (1 - _BETAS[0])) * (self.gradient - self._mean)
        self._square += self._used * (moves_now * (1 - _BETAS[1])) * (self.gradient.square() - self._square)
        moves = self._moves.clamp(min=1)
        mean = self._mean / (1 - _BETAS[0] ** moves)
        root = (self._square / (1 - _BETAS[1] ** moves)).sqrt()
        self._values -= self._used * (moves_now * self.rate) * mean / (root + _EPSILON)
        self.gradient.zero_()

    def state(self) -> dict[str, Tensor]:
        """The state that a checkpoint needs."""
        return {"mean": self._mean, "square": self._square, "moves": self._moves}

    @contextmanager
    def unchanged(self) -> Generator[None]:
        """Restore parameters and state at the end of this context."""
        changes = (self._values, self.gradient, self._mean, self._square, self._moves, self.rate, self.norm)
        before = [tensor.clone() for tensor in changes]
        try:
            yield
        finally:
            for tensor, value in zip(changes, before, strict=True):
                tensor.copy_(value)

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Load what `state` returned."""
        self._mean.copy_(state["mean"])
        self._square.copy_(state["square"])
        self._moves.copy_(state["moves"])
