"""Beam search, against all sequences there are."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from tam.evaluation.decoding import decode
from tam.methods import TAM
from tam.models import Batch, ModelSpec, build_model, target_log_prob

SPEC = ModelSpec(kind="transduction", vocabulary=3, max_x=2, max_y=3, layers=1, width=8, heads=2)
POSSIBLE: list[list[int]] = [list(y) for length in range(4) for y in product(range(3), repeat=length)]


@pytest.mark.parametrize("beams", [1, 3, 40, 41, 200])
def test_no_more_sequences_than_there_are(beams: int) -> None:
    """Where there are as many beams as sequences or more, all are found, once each."""
    model = build_model(SPEC, torch.Generator().manual_seed(0))
    x, length = torch.tensor([[[0, 1]], [[1, 0]]]), torch.tensor([[2], [1]])
    states = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    for row, found in enumerate(decode(TAM(), model, states, Batch(x, length, x, length), beams)):
        assert len(found.sequences) == len(found.log_probs) == min(beams, len(POSSIBLE))
        assert found.log_probs == sorted(found.log_probs, reverse=True)
        for sequence, value in zip(found.sequences, found.log_probs, strict=True):
            assert POSSIBLE.count(sequence) == found.sequences.count(sequence) == 1
            y = torch.tensor([[sequence + [0] * (3 - len(sequence))]])
            alone = Batch(x[row : row + 1], length[row : row + 1], y, torch.tensor([[len(sequence)]]))
            with torch.no_grad():
                outcomes = TAM().outcomes(model, states[row : row + 1], alone)
            assert value == pytest.approx(float(target_log_prob(outcomes, alone).sum()), abs=1e-5)


@pytest.mark.parametrize("beams", [1, 300])
def test_copied_tokens_are_found_and_unknown_ones_never_answered(beams: int) -> None:
    """Of 3 ids the last is the unknown token, so that two are known; the first row has one more to copy."""
    spec = replace(SPEC, unknown_tokens=True, copies=True)
    model = build_model(spec, torch.Generator().manual_seed(0))
    x, length = torch.tensor([[[3, 3]], [[1, 0]]]), torch.tensor([[2], [1]])
    states = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    rows = decode(TAM(), model, states, Batch(x, length, x, length), beams)
    for row, (found, tokens) in enumerate(zip(rows, ([0, 1, 3], [0, 1]), strict=True)):
        possible = [list(y) for size in range(4) for y in product(tokens, repeat=size)]
        assert len(found.sequences) == min(beams, len(possible))
        for sequence, value in zip(found.sequences, found.log_probs, strict=True):
            assert possible.count(sequence) == found.sequences.count(sequence) == 1
            y = torch.tensor([[sequence + [0] * (3 - len(sequence))]])
            alone = Batch(x[row : row + 1], length[row : row + 1], y, torch.tensor([[len(sequence)]]))
            with torch.no_grad():
                scores = model.score(states[row : row + 1].unsqueeze(1), alone)
            assert value == pytest.approx(float(scores.sum()), abs=1e-5)
