"""SNAIL: the shared support against one long sequence for each query, and that labels matter."""

from dataclasses import replace
from typing import cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tam.methods import Snail
from tam.methods.episodes import unknown_primitive
from tam.models import Batch, Model, ModelSpec, Transformer
from tam.models.attention import plain_attention
from tam.models.support_networks import PairsModel
from tam.models.transformer import Block
from tests.methods.small import DECODER, ENCODER, some, task_tokens, trained, with_support
from tests.models.conftest import make_batch


def sharp(spec: ModelSpec) -> PairsModel:
    """A model with different numbers for pairs."""
    model = trained(Snail(shots=1).spec(spec, 1))
    assert isinstance(model, PairsModel)
    with torch.no_grad():
        model.same_pair.copy_(torch.linspace(-1, 3, model.same_pair.numel()).view_as(model.same_pair))
    return model


def answers(model: Model, batch: Batch) -> Tensor:
    return model.outcomes(model.condition(unknown_primitive(model, batch), batch), batch).detach()


def one_long_sequence(model: PairsModel, batch: Batch, task: int, row: int) -> Tensor:
    """What is predicted for one query, from the tokens of the support and the query in one sequence."""
    spec, support = model.spec, some(batch.support)
    tokens: list[Tensor] = []
    pair: list[int] = []
    positions: list[int] = []

    def add(number: int, *vectors: Tensor, counted: bool = True) -> None:
        tokens.extend(vectors)
        pair.extend([number] * len(vectors))
        positions.extend(range(1, len(vectors) + 1) if counted else [0] * len(vectors))

    def embedded(table: torch.nn.Module, ids: Tensor) -> list[Tensor]:
        return list(table(ids.unsqueeze(0), torch.ones_like(ids, dtype=torch.bool).unsqueeze(0))[0])

    of_task = task_tokens(model, batch, task)
    if batch.primitives is not None:
        add(-1, *of_task, counted=False)
    for number in range(support.rows):
        if support.present is not None and not support.present[task, number]:
            continue
        given = embedded(model.x, support.x[task, number, : support.x_length[task, number]])
        if support.y_length is None:
            answer = [some(model.labels)[support.y[task, number]]]
        else:
            answer = embedded(some(model.y), support.y[task, number, : support.y_length[task, number]])
        nothing = torch.zeros(spec.width, dtype=torch.float64)
        add(number, *(token + sum(answer, nothing) / max(len(answer), 1) for token in given))
        add(number, *(token + sum(given, nothing) / max(len(given), 1) for token in answer))
    context = len(tokens)
    x = embedded(model.x, batch.x[task, row, : batch.x_length[task, row]])
    if batch.y_length is None:
        add(-2, *([] if model.cls is None else model.cls), *of_task, counted=False)
        add(-2, *x)
        read = slice(context, context + 1)
    else:
        y = embedded(some(model.y), batch.y[task, row, : batch.y_length[task, row]])
        add(-2, *x)
        add(-2, *of_task, counted=False)
        add(-2, *y)
        read = slice(len(tokens) - len(y) - 1, None)
    length = len(tokens)
    mask = torch.ones(length, length, dtype=torch.bool)
    mask[:context, context:] = False
    if batch.y_length is not None:
        mask[context:, context:] = torch.ones(length - context, length - context, dtype=torch.bool).tril()
    hidden = torch.stack(tokens).unsqueeze(0)
    numbers = torch.tensor(pair)
    same = (numbers == numbers.unsqueeze(1)).double()
    assert isinstance(model.backbone, Transformer)
    at = torch.tensor(positions) if spec.positions == "rotary" else None
    rotation = model.backbone.rotation(at, hidden)
    for layer, module in enumerate(model.backbone.blocks):
        block = cast(Block, module)
        bias = model.same_pair[layer].view(-1, 1, 1) * same
        bias = bias.masked_fill(~mask, -torch.inf)
        normed = block.attention_norm(hidden)
        keys_values = block.attention.keys_values(normed, rotation)
        found = plain_attention(block.attention.queries(normed, rotation), *keys_values, bias)
        hidden = hidden + block.attention.join(found)
        hidden = hidden + block.mlp(block.mlp_norm(hidden))
    return F.log_softmax(model.head(model.backbone.norm(hidden)[0, read]), dim=-1)


PLAIN = {"classification": replace(ENCODER, layers=3), "transduction": replace(DECODER, layers=3)}
SPECS = PLAIN | {f"{kind} compositional": replace(PLAIN[kind], primitives=6, slots=3) for kind in PLAIN}
SPECS["rotary classification"] = replace(SPECS["classification compositional"], positions="rotary")
SPECS["rotary transduction"] = replace(SPECS["transduction"], positions="rotary")


@pytest.mark.parametrize("name", SPECS)
def test_the_shared_support_is_one_long_sequence_for_each_query(name: str) -> None:
    spec = SPECS[name]
    model, batch = sharp(spec), with_support(make_batch(spec, 3, 5), make_batch(spec, 3, 4, seed=1))
    found = answers(model, batch)
    for task in range(3):
        for row in range(5):
            expected = one_long_sequence(model, batch, task, row)
            if batch.y_length is None:
                torch.testing.assert_close(found[task, row], expected[0])
            else:
                torch.testing.assert_close(found[task, row, : len(expected)], expected)


@pytest.mark.parametrize("name", SPECS)
def test_the_state_is_the_support(name: str) -> None:
    spec = SPECS[name]
    model = sharp(spec)
    support = make_batch(spec, 3, 4, seed=1)
    if support.y_length is None:
        support = replace(support, y=torch.tensor([[0, 1, 2, 0]] * 3), classes=torch.tensor([3] * 3))
        support = replace(support, present=torch.tensor([[True, True, True, False]] * 3))
    shots = 1 if support.y_length is None else 4
    query = make_batch(spec, 3, 5)
    method = Snail(shots=shots)
    first, second = method.adapt(model, support, (0, 0), 0.0)
    assert torch.equal(first, second)
    with torch.no_grad():
        found = method.outcomes(model, first, query)
    torch.testing.assert_close(found, answers(model, replace(query, support=support)))
