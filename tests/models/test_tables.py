"""Every parameter of which a pass may leave rows unused is known as a table."""

from dataclasses import replace

import pytest
import torch

from tam.models import ModelSpec, build_model
from tam.models.layers import table_names
from tests.methods.small import DECODER, ENCODER

OF_X = {"x.token", "x.position"}
OF_Y = {"y.token", "y.position"}
TABLES: list[tuple[ModelSpec, set[str]]] = [
    (ENCODER, OF_X),
    (DECODER, OF_X | OF_Y),
    (replace(ENCODER, tasks=4), OF_X | {"task_embeddings"}),
    (replace(DECODER, primitives=4, slots=2, unknown=True), OF_X | OF_Y | {"primitives", "unknown"}),
    (replace(ENCODER, conditioning="none", purpose="answer from pairs"), OF_X | {"labels"}),
    (replace(ENCODER, conditioning="none", purpose="compare"), OF_X | {"position"}),
    (
        replace(DECODER, proposer=True),
        OF_X | OF_Y | {f"proposer.{name}" for name in OF_X | OF_Y},
    ),
]


@pytest.mark.parametrize(("of", "expected"), TABLES, ids=range(len(TABLES)))
def test_tables(of: ModelSpec, expected: set[str]) -> None:
    model = build_model(of, torch.Generator())
    assert table_names(model) & set(dict(model.named_parameters())) == expected
