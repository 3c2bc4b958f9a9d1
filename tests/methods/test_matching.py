"""Matching networks: every comparison by itself, and their convex combination pair by pair."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.methods import Matching
from tam.methods.episodes import episode, unknown_primitive
from tam.methods.matching import combine
from tam.models import Batch, Model, ModelSpec, Transformer, build_model
from tam.models.support_networks import CompareModel
from tests.methods.small import ENCODER, some, task_tokens, trained, with_support
from tests.models.conftest import make_batch

PLAIN = replace(ENCODER, layers=2)
SPECS = {
    "plain": PLAIN,
    "compositional": replace(PLAIN, primitives=6, slots=3),
    "rotary": replace(PLAIN, positions="rotary"),
}


def comparisons(spec: ModelSpec) -> Batch:
    """Queries with a support of six examples."""
    support = replace(make_batch(spec, 3, 6, seed=1), y=torch.tensor([[0, 1, 2, 0, 1, 2]] * 3))
    return with_support(make_batch(spec, 3, 4), support)


def one_score(model: CompareModel, batch: Batch, task: int, row: int, other: int) -> Tensor:
    """The score of one query and one example, from the tokens of both."""
    support = some(batch.support)
    tokens = [*([] if model.cls is None else model.cls), *task_tokens(model, batch, task)]
    counts = [0] * len(tokens)
    for place in range(int(batch.x_length[task, row])):
        own = 0 if model.x.position is None else model.x.position[place]
        tokens.append(model.x.token[batch.x[task, row, place]] + own)
        counts.append(place + 1)
    for place in range(int(support.x_length[task, other])):
        own = model.position[0 if model.x.position is None else place]
        tokens.append(model.x.token[support.x[task, other, place]] + own)
        counts.append(place + 1)
    assert isinstance(model.backbone, Transformer)
    positions = torch.tensor(counts) if model.x.position is None else None
    return model.head(model.backbone(torch.stack(tokens).unsqueeze(0), positions=positions)[0, 0])[0]


def scores_of(model: Model, batch: Batch) -> Tensor:
    return model(unknown_primitive(model, batch), batch).detach()


@pytest.mark.parametrize("name", SPECS)
def test_every_comparison_is_a_sequence_of_its_own(name: str) -> None:
    model, batch = trained(Matching(shots=1).spec(SPECS[name], 1)), comparisons(SPECS[name])
    assert isinstance(model, CompareModel)
    found = scores_of(model, batch)
    assert found.shape == (3, 4, 6)
    for task in range(3):
        for row in range(4):
            for other in range(6):
                if (task, other) != (1, 2):
                    expected = one_score(model, batch, task, row, other)
                    torch.testing.assert_close(found[task, row, other], expected)


def test_the_answer_is_the_convex_combination_of_the_labels() -> None:
    batch = comparisons(PLAIN)
    support = some(batch.support)
    scores = 3 * torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = combine(scores, batch, 3).exp()
    for task in range(3):
        for row in range(4):
            shares = [0.0, 0.0, 0.0]
            for other in range(6):
                if some(support.present)[task, other]:
                    shares[int(support.y[task, other])] += math.exp(scores[task, row, other])
            expected = [share / sum(shares) for share in shares]
            assert found[task, row].tolist() == pytest.approx(expected)


def test_a_class_without_examples_has_no_probability_and_no_gradient() -> None:
    batch = comparisons(PLAIN)
    batch = replace(batch, support=replace(some(batch.support), y=torch.tensor([[0, 1, 0, 0, 1, 1]] * 3)))
    scores = torch.randn(3, 4, 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    log_prob = combine(scores, batch, 3)
    assert (log_prob[..., 2] == -torch.inf).all()
    torch.testing.assert_close(log_prob.exp().sum(-1), torch.ones(3, 4))
    (-log_prob[..., 0].sum()).backward()
    gradient = some(scores.grad)
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@pytest.mark.filterwarnings("ignore:TF32 acceleration")  # said by torch whenever these flags are set
def test_what_all_scores_share_is_neither_learned_nor_rounded_away_in_bfloat16() -> None:
    """Else it grows without end, and scores become equal: the loss is that of a guess, with no gradient."""
    spec = replace(PLAIN, classes=2)
    batch = replace(make_batch(spec, 8, 30), y=(torch.arange(30) % 2).expand(8, 30))
    model = build_model(Matching(shots=5).spec(spec, 1), torch.Generator().manual_seed(0))
    spread: list[Tensor] = []
    for offset in (0.0, 300.0):
        with torch.no_grad():
            model.head.bias.fill_(offset)
        model.zero_grad()
        # Without oneDNN, whose bfloat16 kernels crash on virtual machines that hide the tiles they announce.
        with torch.autocast("cpu", torch.bfloat16), torch.backends.mkldnn.flags(enabled=False):
            Matching(shots=5).training_step(model, batch, lambda _: None, 0)
            scores = scores_of(model, episode(batch, 5, spec.classes))
        assert some(model.head.bias.grad).abs() < 1e-4 * some(model.head.weight.grad).abs().max()
        spread.append(scores - scores.mean(-1, keepdim=True))
    torch.testing.assert_close(spread[0], spread[1], rtol=0, atol=1e-3)
