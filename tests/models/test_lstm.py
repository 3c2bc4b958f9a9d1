"""The LSTM against PyTorch's own, packed."""

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from tam.models import LSTM, ModelSpec, build_model
from tam.models.lstm import LAYERS, LstmLayer, matching_hidden

DEFAULT = ModelSpec(kind="classification", vocabulary=12, classes=4, max_x=5)
WIDTH, HIDDEN = 5, 4


def reference(ours: LSTM) -> nn.LSTM:
    """PyTorch's LSTM with the same weights."""
    theirs = nn.LSTM(WIDTH, HIDDEN, LAYERS, batch_first=True, bidirectional=True).double()
    weights: dict[str, Tensor] = {}
    for index, layer in enumerate(ours.layers):
        assert isinstance(layer, LstmLayer)
        for direction, suffix in enumerate(("", "_reverse")):
            name = f"l{index}{suffix}"
            weights[f"weight_ih_{name}"] = layer.input.weight.chunk(2)[direction]
            weights[f"bias_ih_{name}"] = layer.input.bias.chunk(2)[direction]
            weights[f"weight_hh_{name}"] = layer.recurrent[direction].T
            weights[f"bias_hh_{name}"] = torch.zeros(4 * HIDDEN)
    theirs.load_state_dict(weights)
    return theirs


def test_it_equals_pytorchs_packed_lstm() -> None:
    generator = torch.Generator().manual_seed(0)
    ours = LSTM(WIDTH, HIDDEN, generator).double()
    sequence = torch.randn(6, 7, WIDTH, dtype=torch.float64, generator=generator)
    length = torch.tensor([7, 1, 4, 2, 7, 5])
    packed = pack_padded_sequence(sequence, length, batch_first=True, enforce_sorted=False)
    _, (states, _) = reference(ours)(packed)
    expected = torch.cat([states[-2], states[-1]], dim=-1)
    torch.testing.assert_close(ours(sequence, torch.arange(7) < length[:, None]), expected)


def test_it_starts_by_remembering() -> None:
    layer = LSTM(WIDTH, HIDDEN, torch.Generator().manual_seed(0)).layers[0]
    assert isinstance(layer, LstmLayer)
    gates = layer.input.bias.detach().view(2, 4, HIDDEN)
    assert gates[:, 1].eq(1).all()
    assert gates[:, [0, 2, 3]].eq(0).all()


def test_models_of_either_backbone_have_the_same_number_of_parameters() -> None:
    for width, layers, classes, tolerance in ((128, 4, 4, 0.01), (64, 3, 4, 0.02), (8, 1, 40, 0.1)):
        spec = replace(DEFAULT, width=width, layers=layers, classes=classes)
        transformer, lstm = (
            sum(p.numel() for p in build_model(s, torch.Generator()).parameters())
            for s in (spec, replace(spec, backbone="lstm"))
        )
        assert abs(lstm / transformer - 1) < tolerance


def test_the_default_hidden_width() -> None:
    assert matching_hidden(DEFAULT) == 142
