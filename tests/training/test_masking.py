"""Tokens that play unknown in training."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tam.models import ModelSpec
from tam.tasks.task import Sequences, Task
from tam.tasks.vocabulary import Vocabulary
from tam.training.data import TrainingData
from tam.training.masking import TokenMasking, chances

LETTERS = Vocabulary("abcdefgh")
ROWS = ["abcab", "bca", "gab", "", "hhag"] * 8
TASK = Task(
    "a",
    LETTERS,
    Sequences.from_lists([LETTERS.encode(row) for row in ROWS], 9),
    Sequences.from_lists([LETTERS.encode(row[::-1] + "d") for row in ROWS], 9),
)
SPEC: Any = ModelSpec(
    kind="transduction", vocabulary=9, max_x=5, max_y=6, width=8, heads=2, unknown_tokens=True
)


@pytest.mark.parametrize("share", [0.02, 0.3])
def test_rare_tokens_are_masked_most_and_the_share_is_kept(share: float) -> None:
    counts = np.array([1000, 100, 10, 1, 1, 0])
    found = np.array(chances(counts, share))
    assert (counts * found).sum() / counts.sum() == pytest.approx(share, rel=1e-3)
    assert (np.diff(found) >= 0).all()
    assert found[3] > 4 * found[0]


@pytest.mark.parametrize("copies", [False, True])
def test_a_masked_token_is_masked_in_all_rows_and_can_be_copied(copies: bool) -> None:
    """Brute force: each token of the drawn batch against the row it was made of."""
    spec = replace(SPEC, copies=copies)
    plain = TrainingData([TASK], "cpu")
    masked = TrainingData([TASK], "cpu", masking=TokenMasking([TASK], spec, 0.3, "cpu"))
    seen = set[int]()
    for seed in range(20):
        before, after = (d.draw(1, 40, torch.Generator().manual_seed(seed)) for d in (plain, masked))
        assert before.y_length is not None
        hidden, shown = set[int](), set[int]()
        for row in range(40):
            width, length = int(before.x_length[0, row]), int(before.y_length[0, row])
            x, y = before.x[0, row, :width].tolist(), before.y[0, row, :length].tolist()
            pairs = zip(
                [*x, *y],
                after.x[0, row, :width].tolist() + after.y[0, row, :length].tolist(),
                strict=True,
            )
            for old, new in pairs:
                (shown if new == old else hidden).add(old)
                if new != old:
                    assert new == (9 + x.index(old) if copies and old in x else 8)
        assert not hidden & shown
        seen |= hidden
    assert len(seen) > 3
