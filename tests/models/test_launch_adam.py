"""Adam's kernels, in Triton's interpreter, against plain torch in float64."""

import pytest

from tests.models.interpreter import interpreted

pytest.importorskip("triton")


def test_kernels_equal_plain_code() -> None:
    errors = interpreted("interpret_adam.py")
    assert len(errors) == 10
    assert max(errors) < 1e-6, errors
