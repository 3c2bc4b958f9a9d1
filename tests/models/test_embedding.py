"""Token and position embeddings."""

import pytest
import torch
import torch.nn.functional as F

from tam.models.embedding import Lookup


@pytest.mark.parametrize("shape", [(4, 6), (7,), (128, 2), (3, 5)])
def test_the_fast_gradient_is_that_of_embedding(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, shape, generator=generator)
    tables = [torch.randn(6, 3, dtype=torch.float64).requires_grad_() for _ in range(2)]
    tables[1].data.copy_(tables[0])
    weight = torch.randn(*shape, 3, generator=generator, dtype=torch.float64)
    found = [lookup(ids, table) for lookup, table in zip((Lookup.apply, F.embedding), tables, strict=True)]
    assert torch.equal(*found)
    ours, plain = (
        torch.autograd.grad((vectors * weight).sum(), table)[0]
        for vectors, table in zip(found, tables, strict=True)
    )
    torch.testing.assert_close(ours, plain)
    assert torch.autograd.gradgradcheck(lambda table: Lookup.apply(ids, table), tables[0])
