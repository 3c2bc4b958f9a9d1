"""Prototypical networks: means and distances example by example, and the page that shows the method."""

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tam
from tam.methods import METHODS, Prototypical
from tam.methods.prototypical import near, prototypes
from tam.models import Batch, build_model
from tests.methods.small import ENCODER as SPEC
from tests.models.conftest import make_batch

ROOT = Path(__file__).resolve().parents[2]


def features_of(batch: Batch) -> torch.Tensor:
    generator = torch.Generator().manual_seed(5)
    return torch.randn(batch.tasks, batch.rows, 8, generator=generator, dtype=torch.float64)


def test_means_and_distances() -> None:
    batch = make_batch(SPEC, 3, 9)
    present = torch.ones(3, 9, dtype=torch.bool)
    present[1, ::2] = False
    y = torch.arange(9).remainder(3).expand(3, -1)
    present &= ~((y == 1) & torch.tensor([[False], [False], [True]]))  # the last task has no row of class 1
    batch = replace(batch, y=y, present=present)
    features = features_of(batch)
    centres = prototypes(features, batch, SPEC)
    found = near(features, centres)
    for task in range(3):
        means: dict[int, torch.Tensor] = {}
        for label in range(3):
            rows = [r for r in range(9) if batch.y[task, r] == label and present[task, r]]
            if rows:
                means[label] = torch.stack([features[task, r] for r in rows]).mean(0)
                torch.testing.assert_close(centres[task, label], means[label])
        assert len(means) == (2 if task == 2 else 3)
        for row in range(9):
            scores = {
                c: math.exp(-(features[task, row] - mean).square().sum() / 8**0.5)
                for c, mean in means.items()
            }
            shares = [scores.get(c, 0.0) / sum(scores.values()) for c in range(3)]
            assert found[task, row].exp().tolist() == pytest.approx(shares, rel=1e-5)


@pytest.mark.parametrize("form", [{}, {"primitives": 6, "slots": 3}, {"backbone": "lstm"}])
def test_a_task_is_its_prototypes(form: dict[str, Any]) -> None:
    spec = replace(SPEC, **form)
    model = build_model(Prototypical().spec(spec, 1), torch.Generator().manual_seed(0))
    support, query = make_batch(spec, 3, 6, seed=1), make_batch(spec, 3, 4)
    support = replace(support, y=torch.tensor([[0, 1, 2, 2, 1, 0]] * 3))
    method = Prototypical()
    (state,) = method.adapt(model, support, (0,), 0.0)
    order = torch.tensor([5, 1, 0, 3, 2, 4]).expand(3, -1)
    (turned,) = method.adapt(model, support.take(order), (0,), 0.0)
    torch.testing.assert_close(turned, state)
    with torch.no_grad():
        log_prob = method.outcomes(model, state, query)
        alone = method.outcomes(model, state[1:2], query.part(slice(1, 2)))
    torch.testing.assert_close(log_prob.exp().sum(-1), torch.ones(3, 4))
    torch.testing.assert_close(alone[0], log_prob[1])


def test_training_asks_the_rows_that_are_not_in_the_support() -> None:
    """With chance 0 there is one example of each class, and all other rows are asked."""
    model = build_model(Prototypical().spec(SPEC, 1), torch.Generator().manual_seed(0)).double()
    batch = replace(
        make_batch(SPEC, 2, 8), y=torch.tensor([[0, 1, 2, 0, 1, 2, 0, 1]] * 2), chance=torch.zeros(2, 2)
    )
    told = Prototypical().training_step(model, batch, lambda count: None, 0)
    features = model(None, batch).detach()
    support = batch.cut(slice(3))
    queries = batch.cut(slice(3, None))
    log_prob = near(features[:, 3:], prototypes(features[:, :3], support, SPEC))
    expected = -log_prob.gather(-1, queries.y.unsqueeze(-1)).mean()
    torch.testing.assert_close(told.end.double(), expected.double())


def test_a_class_without_a_row_takes_no_part() -> None:
    """A step on three classes of which a batch has two is a step on two classes, to the gradient."""
    model = build_model(Prototypical().spec(SPEC, 1), torch.Generator().manual_seed(0)).double()
    batch = make_batch(SPEC, 2, 8)
    batch = replace(batch, y=batch.y.clamp(max=1), chance=torch.zeros(2, 2), classes=torch.tensor([3, 3]))
    losses, gradients = [], []
    for classes in (3, 2):
        model.zero_grad()
        of_two = replace(batch, classes=torch.full((2,), classes))
        losses.append(Prototypical().training_step(model, of_two, lambda count: None, 0).end)
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert torch.isfinite(losses[0])
    torch.testing.assert_close(losses[0], losses[1])
    torch.testing.assert_close(gradients[0], gradients[1])
    (state,) = Prototypical().adapt(model, batch, (0,), 0.0)
    with torch.no_grad():
        assert Prototypical().outcomes(model, state, batch)[..., 2].isneginf().all()


@pytest.mark.slow
def test_the_page_is_a_method_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's example in a file of one's own, registered by one line, does what the package's does."""
    page = (ROOT / "docs" / "add-a-method.md").read_text(encoding="utf-8")
    example, registered, used = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert registered in (ROOT / "src" / "tam" / "methods" / "__init__.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(example, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(METHODS, "mine", Prototypical)  # so that it is gone after the test
    before, _, line = used.partition("METHODS[")
    exec(before + "METHODS[" + line.splitlines()[0])
    assert METHODS["mine"].__module__ == "mine"
    assert METHODS["mine"] is not Prototypical
    tasks = tam.benchmark("classification", train=8, valid=2, test=2)
    scores = [
        tam.Learner(name, "smoke", most_shots=2).fit(tasks).evaluate(tasks.test)
        for name in ("mine", "prototypical")
    ]
    assert scores[0] == scores[1]
    assert "tam.Learner(method=" in line
