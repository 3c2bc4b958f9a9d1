"""Beam search, against all sequences there are."""

from dataclasses import replace
from itertools import product

import pytest
import torch

from tam.evaluation.decoding import decode
from tam.methods import TAM
from tam.models import Batch, ModelSpec, build_model

SPEC = ModelSpec(kind="transduction", vocabulary=3, max_x=2, max_y=3, layers=1, width=8, heads=2)
TOKENS = {False: ([0, 1, 2], [0, 1, 2]), True: ([0, 1, 3], [0, 1])}
"""What the answers to the two rows consist of, without and with copying."""


@pytest.mark.parametrize("beams", [1, 3, 40, 41, 200])
@pytest.mark.parametrize("copies", [False, True])
def test_the_best_sequences_of_all_there_are(copies: bool, beams: int) -> None:
    """Where there are as many beams as sequences or more, all are found, once each.

    With copying, the last of 3 ids is the unknown token, which is never answered, and the first row has one
    more token to copy.
    """
    spec = replace(SPEC, unknown_tokens=True, copies=True) if copies else SPEC
    model = build_model(spec, torch.Generator().manual_seed(0))
    x, length = torch.tensor([[[3, 3] if copies else [0, 1]], [[1, 0]]]), torch.tensor([[2], [1]])
    states = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))
    rows = decode(TAM(), model, states, Batch(x, length, x, length), beams)
    for row, (found, tokens) in enumerate(zip(rows, TOKENS[copies], strict=True)):
        possible = [list(y) for size in range(4) for y in product(tokens, repeat=size)]
        assert len(found.sequences) == len(found.log_probs) == min(beams, len(possible))
        assert found.log_probs == sorted(found.log_probs, reverse=True)
        for sequence, value in zip(found.sequences, found.log_probs, strict=True):
            assert possible.count(sequence) == found.sequences.count(sequence) == 1
            y = torch.tensor([[sequence + [0] * (3 - len(sequence))]])
            alone = Batch(x[row : row + 1], length[row : row + 1], y, torch.tensor([[len(sequence)]]))
            with torch.no_grad():
                scores = model.score(states[row : row + 1].unsqueeze(1), alone)
            assert value == pytest.approx(float(scores.sum()), abs=1e-5)
