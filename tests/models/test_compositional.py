from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.models import Batch, Model, ModelSpec
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model, make_z

IDS = torch.tensor([[1, 2, 3], [4, 2, 3], [1, 5, 3]])
UNKNOWN = torch.tensor([0, 1, 2])


def batch_of(batch: Batch, ids: Tensor = IDS, unknown: Tensor | None = UNKNOWN) -> Batch:
    return replace(batch, primitives=ids, unknown=unknown)


def table_gradient(model: Model, z: Tensor | None, batch: Batch) -> Tensor:
    return torch.autograd.grad(model(z, batch).exp().square().sum(), some(model.primitives))[0]


def test_the_unknown_id_is_not_looked_at(compositional_spec: ModelSpec) -> None:
    model, batch = make_model(compositional_spec), batch_of(make_batch(compositional_spec))
    z = make_z(model, batch)
    for absurd in (0, -1, 10**12):
        ids = IDS.scatter(1, UNKNOWN[:, None], absurd)
        assert torch.equal(model(z, batch_of(batch, ids)), model(z, batch))


def test_only_known_rows_get_a_gradient(compositional_spec: ModelSpec) -> None:
    """Row 0, which is looked up in place of the unknown one, included."""
    model, batch = make_model(compositional_spec), make_batch(compositional_spec, 1)
    z = make_z(model, batch)
    for slot in range(3):
        gradient = table_gradient(model, z, batch_of(batch, IDS[:1], torch.tensor([slot])))
        used = gradient.ne(0).any(-1)
        assert used.tolist() == [False, slot != 0, slot != 1, slot != 2, False, False]


def test_a_row_counts_where_it_is_known(compositional_spec: ModelSpec) -> None:
    """Unknown in one task and known in another: the gradient is the other one's."""
    model, batch = make_model(compositional_spec), make_batch(compositional_spec, 2)
    z, ids, unknown = make_z(model, batch), torch.tensor([[1, 2, 3], [1, 4, 5]]), torch.tensor([0, 1])
    both = table_gradient(model, z, batch_of(batch, ids, unknown))
    second = batch.part(slice(1, None))
    alone = table_gradient(model, z[1:], batch_of(second, ids[1:], unknown[1:]))
    assert alone[1].ne(0).any()
    torch.testing.assert_close(both[[1, 4, 5]], alone[[1, 4, 5]])


def test_z_in_place_of_a_primitive_equals_that_primitive(compositional_spec: ModelSpec) -> None:
    model, batch = make_model(compositional_spec), batch_of(make_batch(compositional_spec))
    z = some(model.primitives)[IDS.gather(1, UNKNOWN[:, None])]
    torch.testing.assert_close(model(z, batch), model(None, batch_of(batch, unknown=None)))


def test_wrong_primitives_are_refused(compositional_spec: ModelSpec) -> None:
    model, batch = make_model(compositional_spec), make_batch(compositional_spec)
    z = make_z(model, batch)
    for primitives, got in ((None, "None"), (IDS[:, :2], "2")):
        with pytest.raises(ValueError, match=f"3 primitives .* got {got}"):
            model(z, replace(batch, primitives=primitives, unknown=None))
    with pytest.raises(ValueError, match="z must not be None"):
        model(None, batch)
    with pytest.raises(ValueError, match="z must be None"):
        model(z, replace(batch, unknown=None))
