"""The kernels from tokens to losses, in Triton's interpreter, against plain torch in float64."""

import pytest

from tests.models.interpreter import interpreted

pytest.importorskip("triton")


def test_kernels_equal_plain_code() -> None:
    errors = interpreted("interpret_scoring.py")
    assert len(errors) == 22
    scores, embeddings, losses = errors[:10], errors[10:15], errors[15:]
    assert max(scores) < 5e-6, scores
    assert max(embeddings) < 1e-4, embeddings
    assert max(losses) < 2e-6, losses
