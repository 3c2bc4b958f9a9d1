"""A bidirectional LSTM over sequences of different lengths.

Written out, because torch's LSTM has no second derivative on a GPU, and skips padding only by reading the
lengths back to the host. Each step computes both directions together.

Shapes: R rows, L places, d width of the input, h hidden width of one direction.
"""

import torch
from torch import Tensor, nn

from tam.models.layers import Linear, normal
from tam.models.spec import ModelSpec
from tam.models.transformer import transformer_parameters

LAYERS = 2


def lstm_parameters(width: int, hidden: int) -> int:
    """Number of parameters of the LSTM."""
    inputs = [width] + [2 * hidden] * (LAYERS - 1)
    return sum(8 * hidden * (size + hidden + 1) for size in inputs)


def matching_hidden(spec: ModelSpec) -> int:
    """The hidden width h at which the LSTM's parameter count is closest to the transformer's.

    The embeddings are the same in both; their heads read `2 · h` and `width` features.
    """
    target = transformer_parameters(spec.layers, spec.width) + spec.width * spec.outputs

    def distance(hidden: int) -> int:
        return abs(lstm_parameters(spec.width, hidden) + 2 * hidden * spec.outputs - target)

    # The count grows with h, so the first minimum is the only one.
    hidden = 1
    while distance(hidden + 1) < distance(hidden):
        hidden += 1
    return hidden


class LstmLayer(nn.Module):
    """One layer, in both directions."""

    def __init__(self, inputs: int, hidden: int, generator: torch.Generator):
        super().__init__()
        self.input = Linear(inputs, 8 * hidden, generator)
        self.recurrent = normal(generator, 2, hidden, 4 * hidden, std=hidden**-0.5)
        with torch.no_grad():  # bias of the forget gate: z, the first token, must be remembered until the end
            self.input.bias.unflatten(0, (2, 4, hidden))[:, 1] = 1.0

    def forward(self, sequence: Tensor, keep: Tensor) -> tuple[Tensor, Tensor]:
        """Read `[R, L, ·]`; return the states at all places, `[R, L, 2h]`, and the final ones, `[R, 2h]`."""
        gates = both_ways(*self.input(sequence).chunk(2, dim=-1))  # [2, R, L, 4h]
        # In the dtype of the input: the gates have less precision under autocast.
        state = memory = sequence.new_zeros(2, sequence.shape[0], self.recurrent.shape[1])  # [2, R, h]
        states: list[Tensor] = []
        for step_gates, step_keep in zip(gates.unbind(2), keep.unbind(2), strict=True):
            new_state, new_memory = self._step(step_gates, state, memory)
            # Padding, after a row or before a reversed row, leaves the state unchanged.
            state = torch.where(step_keep, new_state, state)
            memory = torch.where(step_keep, new_memory, memory)
            states.append(state)
        ahead, back = torch.stack(states, dim=2)
        return torch.cat([ahead, back.flip(1)], dim=-1), torch.cat(state.unbind(0), dim=-1)

    def _step(self, gates: Tensor, state: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        enter, stay, new, leave = (gates + state @ self.recurrent).chunk(4, dim=-1)
        memory = stay.sigmoid() * memory + enter.sigmoid() * new.tanh()
        return leave.sigmoid() * memory.tanh(), memory


class LSTM(nn.Module):
    """Two bidirectional layers, read at their final states."""

    def __init__(self, width: int, hidden: int, generator: torch.Generator):
        super().__init__()
        inputs = [width] + [2 * hidden] * (LAYERS - 1)
        self.layers = nn.ModuleList(LstmLayer(size, hidden, generator) for size in inputs)

    def forward(self, sequence: Tensor, valid: Tensor) -> Tensor:
        """Read `[R, L, d]` at the places that are `valid`, `[R, L]`.

        Returns:
            The last layer's final forward and backward states, `[R, 2h]`.
        """
        keep = both_ways(valid, valid).unsqueeze(-1)
        final = sequence
        for layer in self.layers:
            sequence, final = layer(sequence, keep)
        return final


def both_ways(ahead: Tensor, back: Tensor) -> Tensor:
    """Stack a forward and a reversed backward sequence: `[2, R, L, ...]`."""
    return torch.stack([ahead, back.flip(1)])
