"""Examples packed into numbers and back."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tam.models import Batch, ModelSpec
from tam.models.support_state import pack_support, unpack_support
from tests.models.conftest import make_batch


def rows_of(batch: Batch) -> list[list[tuple[list[int], object]]]:
    """The present examples of each task, as plain values."""
    found: list[list[tuple[list[int], object]]] = []
    for task in range(batch.tasks):
        found.append([])
        for row in range(batch.rows):
            if batch.present is not None and not batch.present[task, row]:
                continue
            y: object = batch.y[task, row].tolist()
            if batch.y_length is not None:
                y = batch.y[task, row, : int(batch.y_length[task, row])].tolist()
            found[-1].append((batch.x[task, row, : int(batch.x_length[task, row])].tolist(), y))
    return found


@pytest.mark.parametrize("width", [0, 2, None])
def test_what_is_packed_is_unpacked(spec: ModelSpec, width: int | None) -> None:
    classify = spec.kind == "classification"
    batch = make_batch(spec, 3, 4, x=width, y=width if classify else None)
    packed = pack_support(batch, spec)
    assert packed.shape == (3, 4 * (3 + spec.max_x + spec.max_y))
    assert packed.dtype == torch.float32
    assert rows_of(unpack_support(packed, spec)) == rows_of(batch)


def test_rows_of_zeros_are_no_examples(spec: ModelSpec) -> None:
    batch = make_batch(spec, 2, 3)
    absent = replace(batch, present=torch.tensor([[True, False, True], [False, True, True]]))
    packed = pack_support(absent, spec)
    assert [len(rows) for rows in rows_of(unpack_support(packed, spec))] == [2, 2]
    longer = F.pad(packed, (0, 2 * packed.shape[1] // 3))
    assert rows_of(unpack_support(longer, spec)) == rows_of(absent)


def test_what_is_too_long_is_an_error(encoder_spec: ModelSpec) -> None:
    with pytest.raises(ValueError, match="3 tokens: got 4"):
        pack_support(make_batch(encoder_spec), replace(encoder_spec, max_x=3))
