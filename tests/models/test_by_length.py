"""Grouping rows by their length: the same scores and gradients, with less padding."""

from dataclasses import replace

import pytest
import torch

from tam.models import Batch, ModelSpec
from tam.models.by_length import length_groups, score_by_length
from tests.methods.small import some
from tests.models.conftest import DECODER, ENCODER, make_batch, make_model, make_z

SPECS = {
    "encoder": replace(ENCODER, max_x=30),
    "decoder": replace(DECODER, max_x=20, max_y=20),
    "decoder-first-full": replace(DECODER, max_x=20, max_y=20, task_first=True, x_mask="full"),
}


def uneven(spec: ModelSpec) -> Batch:
    """A batch in which most rows are far shorter than the longest."""
    batch = make_batch(spec, tasks=4, rows=64)
    shorter = {"x_length": batch.x_length // (1 + 3 * (torch.arange(64) % 4 > 0))}
    if batch.y_length is not None:
        shorter["y_length"] = batch.y_length // (1 + 3 * (torch.arange(64) % 4 > 0))
    return replace(batch, **shorter)


@pytest.mark.parametrize("copies", [1, 64])
@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("name", SPECS)
def test_scores_and_gradients_are_those_of_the_whole_batch(name: str, cached: bool, copies: int) -> None:
    model, batch = make_model(SPECS[name]), uneven(SPECS[name])
    if cached:
        with torch.no_grad():
            batch = model.with_x_cache(batch)
    z = make_z(model, batch, copies).requires_grad_()
    found = some(length_groups(batch))
    seen = list[int]()

    def score(z: torch.Tensor | None, part: Batch) -> torch.Tensor:
        seen.append(part.x.shape[-1])
        return model.score_together(z, part)

    grouped, whole = score_by_length(score, z, batch, found), model.score_together(z, batch)
    assert sum(seen) < 0.8 * len(seen) * batch.x.shape[-1]
    torch.testing.assert_close(grouped, whole)
    torch.testing.assert_close(model.score(z, batch), whole)
    weights = torch.randn(whole.shape, generator=torch.Generator().manual_seed(3), dtype=whole.dtype)
    gradients = (torch.autograd.grad((weights * scores).sum(), z)[0] for scores in (grouped, whole))
    torch.testing.assert_close(*gradients)


def test_rows_stay_together_where_grouping_does_not_pay() -> None:
    batch = uneven(SPECS["encoder"])
    assert length_groups(replace(batch, padded=False)) is None
    assert length_groups(replace(batch, x_length=torch.full_like(batch.x_length, 30))) is None
    assert length_groups(batch.cut(slice(2))) is None  # a handful of rows
    assert length_groups(replace(batch, x_cache=(torch.zeros(4, 64, 30, 1, requires_grad=True),))) is None
