"""Token and position embeddings."""

import torch
import torch.nn.functional as F
from torch import Tensor

from tam.models.embedding import Lookup


def test_the_fast_gradient_is_that_of_embedding() -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(5, (7, 4), generator=generator)
    weight = torch.randn(7, 4, 3, generator=generator, dtype=torch.float64)

    def plain(ids: Tensor, token: Tensor, position: Tensor) -> Tensor:
        return F.embedding(ids, token) + position[:4]

    found: list[list[Tensor]] = []
    for lookup in (Lookup.apply, plain):
        tables = [torch.linspace(-1, 1, rows * 3, dtype=torch.float64).view(rows, 3) for rows in (6, 5)]
        tables = [table.requires_grad_() for table in tables]
        vectors = lookup(ids, *tables)
        found.append([vectors, *torch.autograd.grad((vectors * weight).sum(), tables)])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected)
