"""The nearest neighbour, against a loop over the support."""

from dataclasses import replace

import pytest
import torch

from tam.config.config import Config
from tam.errors import UserError
from tam.methods import Nearest
from tam.models import Batch, ModelSpec, build_model
from tests.methods.small import DECODER
from tests.models.conftest import make_batch


def probabilities(
    query: Batch, support: Batch, task: int, row: int, spec: ModelSpec, smoothing: float
) -> list[list[float]]:
    """Of each answer, or of each token at each place."""

    def tokens(batch: Batch, number: int) -> list[int | None]:
        ids: list[int | None] = list(batch.x[task, number, : batch.x_length[task, number]].tolist())
        return ids + [None] * (spec.max_x - len(ids))

    asked = tokens(query, row)
    gaps: dict[int, int] = {}
    for number in range(support.rows):
        if support.present is None or support.present[task, number]:
            pairs = zip(asked, tokens(support, number), strict=True)
            gaps[number] = sum(a != b for a, b in pairs)
    best = [number for number, gap in gaps.items() if gap == min(gaps.values())]
    if support.y_length is None:
        known = int(query.classes[task]) if query.classes is not None else spec.classes
        shares = [smoothing / known if c < known else 0.0 for c in range(spec.classes)]
        for number in best:
            shares[int(support.y[task, number])] += (1 - smoothing) / len(best)
        return [shares]
    places: list[list[float]] = []
    for place in range(query.y.shape[-1] + 1):
        shares = [smoothing / (spec.vocabulary + 1)] * (spec.vocabulary + 1)
        for number in best:
            length = int(support.y_length[task, number])
            token = int(support.y[task, number, place]) if place < length else spec.vocabulary
            shares[token] += (1 - smoothing) / len(best)
        places.append(shares)
    return places


@pytest.mark.parametrize("smoothing", [0.5, 0.1, 1.0])
def test_it_is_a_loop_over_the_support(plain_spec: ModelSpec, smoothing: float) -> None:
    method = Nearest(smoothing=smoothing)
    model = build_model(method.spec(plain_spec, 1), torch.Generator().manual_seed(0))
    present = torch.ones(3, 6, dtype=torch.bool)
    present[2, 1] = False
    support = replace(make_batch(plain_spec, 3, 6, seed=3), present=present)
    query = make_batch(plain_spec, 3, 7)
    if plain_spec.kind == "classification":
        query = replace(query, classes=torch.tensor([3, 2, 3]))
        support = replace(support, y=support.y.clamp(max=1))
    (state,) = method.adapt(model, support, (0,), 0.0)
    found = method.outcomes(model, state, query).exp()
    for task in range(3):
        for row in range(7):
            expected = probabilities(query, support, task, row, plain_spec, smoothing)
            given = found[task, row].view(len(expected), -1)
            for one, other in zip(given.tolist(), expected, strict=True):
                assert one == pytest.approx(other, abs=1e-6)


def test_a_shorter_answer_is_asked_for_fewer_places() -> None:
    """As decoding does, which starts with no token of the answer."""
    spec = DECODER
    model = build_model(Nearest().spec(spec, 1), torch.Generator().manual_seed(0))
    (state,) = Nearest().adapt(model, make_batch(spec, 2, 3, seed=1), (0,), 0.0)
    query = make_batch(spec, 2, 4)
    none = replace(query, y=query.y[..., :0], y_length=torch.zeros_like(query.x_length))
    whole = Nearest().outcomes(model, state, query)
    torch.testing.assert_close(Nearest().outcomes(model, state, none), whole[:, :, :1])


def test_its_network_takes_rotary_positions_from_nobody() -> None:
    spec = Nearest().spec(replace(DECODER, positions="rotary"), 1)
    assert (spec.positions, spec.longest_x) == ("table", DECODER.max_x)


def test_there_is_nothing_to_train(plain_spec: ModelSpec) -> None:
    model = build_model(Nearest().spec(plain_spec, 1), torch.Generator().manual_seed(0))
    with pytest.raises(UserError, match="steps"):
        Nearest().training_step(model, make_batch(plain_spec), lambda count: None, 0)
    assert Config.from_preset("paper", "nearest").training.steps == 0
