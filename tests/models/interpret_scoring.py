"""Run by test_kernels.py in a process of its own: Triton's interpreter is chosen when it is imported.

Prints the largest relative error of each check against plain torch in float64.
"""

import copy
import json
from dataclasses import replace
from typing import Any

import torch
from fake_gpu import use_kernels
from interpret import let_loops_have_bounds, relative_error, worst
from torch import Tensor

from conftest import make_batch
from tam.methods.losses import ExampleLosses, _losses  # pyright: ignore[reportPrivateUsage]
from tam.models import Batch, Model, ModelSpec, build_model, no_weight_gradients
from tam.models.fast import gpu_blocks, gpu_launch, gpu_losses, gpu_scoring, gpu_sequence
from tam.models.fast.gpu_sequence import Layout, Parts, Tokens, vectors_of
from tam.training.adam import Adam

CLASSES = ModelSpec(kind="classification", vocabulary=5, classes=3, max_x=4, layers=1, width=16, heads=1)
TOKENS = ModelSpec(kind="transduction", vocabulary=7, max_x=4, max_y=5, layers=1, width=16, heads=1)
SPECS: dict[str, tuple[ModelSpec, dict[str, Any]]] = {
    "classes": (CLASSES, {"padded": False}),
    "classes of some tasks, padded, each row its z": (CLASSES, {"limited": True, "own": True}),
    "primitives": (replace(CLASSES, primitives=6, slots=3), {"padded": False}),
    "tokens": (replace(TOKENS, task_tokens=2), {}),
    "tokens after cached x": (TOKENS, {"x_cache": True}),
    "tokens without padding after cached x": (TOKENS, {"x_cache": True, "padded": False}),
    "z in front, each row its own": (replace(TOKENS, task_first=True), {"own": True}),
    "no task embedding": (TOKENS.without_embedding(), {"padded": False}),
    "a class, cut to one row": (CLASSES, {"limited": True, "cut": True}),
    "tokens, cut to one row": (replace(TOKENS, task_first=True), {"cut": True}),
}
ROWS = 5


def batch_of(
    spec: ModelSpec, *, padded: bool = True, limited: bool = False, cut: bool = False, **_: Any
) -> Batch:
    """Examples of three tasks; padding holds any number."""
    batch = make_batch(spec, 3, ROWS)
    if not padded:
        x_length, y_length = torch.full((3, ROWS), spec.max_x), batch.y_length
        if y_length is not None:
            y_length = torch.full_like(y_length, spec.max_y)
        x, y = batch.x % spec.vocabulary, batch.y % (spec.classes or spec.vocabulary)
        batch = replace(batch, x=x, x_length=x_length, y=y, y_length=y_length, padded=False)
    if limited:
        batch = replace(batch, y=batch.y % 2, classes=torch.tensor([2, 3, 2]))
    return batch.cut(slice(2, 3)) if cut else batch


def found_by(model: Model, spec: ModelSpec, settings: dict[str, Any]) -> list[Tensor]:
    """Log-probabilities, and gradients of θ and z of their weighted sum."""
    batch = batch_of(spec, **settings)
    if settings.get("x_cache"):
        batch = model.with_x_cache(batch)
        assert batch.x_cache
    draw = torch.Generator().manual_seed(2)
    z = None
    if model.task_size:
        shape = (3, ROWS if settings.get("own") else 1, model.task_size)
        z = torch.randn(shape, generator=draw).to(model.places).requires_grad_()
    found = model.score(z, batch)
    weights = torch.randn(found.shape, generator=draw).to(found)
    for parameter in model.parameters():
        parameter.grad = None
    (found * weights).sum().backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return [found.detach(), *([] if z is None or z.grad is None else [z.grad]), *gradients]


def score_error(spec: ModelSpec, settings: dict[str, Any]) -> float:
    """The largest error of the kernels."""
    model = build_model(spec, torch.Generator().manual_seed(0))
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
    model.head.weight.data *= 50  # so that logits differ
    exact = copy.deepcopy(model).double()
    Adam(model, (), 1.0)
    score, calls = gpu_scoring.score, []
    gpu_scoring.score = lambda *given: calls.append(1) or score(*given)
    ours = found_by(model, spec, settings)
    assert calls, "the kernels must be used"
    theirs = found_by(exact, spec, settings)
    assert len(calls) == 1
    gpu_scoring.score = score
    return relative_error(ours, theirs)


def silent_zeros(how: str) -> int:
    """How many gradients of weights are zeros where weight gradients are skipped: they must be None."""
    model, batch = build_model(TOKENS, torch.Generator().manual_seed(0)), batch_of(TOKENS)
    batch = model.with_x_cache(batch)
    z = torch.ones(3, 1, model.task_size, requires_grad=True)

    def loss() -> Tensor:
        found = model.score(z, batch) if how == "score" else model(z, batch)
        return found.square().sum()

    with no_weight_gradients():
        found = torch.autograd.grad(loss(), [z, *model.parameters()], allow_unused=True)
    assert found[0].any()
    try:
        torch.autograd.grad(loss(), z, create_graph=True)
    except RuntimeError as error:
        assert "second derivative" in str(error)  # noqa: PT017
    else:
        raise AssertionError("a second derivative must be an error")
    return sum(isinstance(g, Tensor) and not g.any() for g in found)


def embedding_error(rows: int, length: int, tokens: int) -> float:
    """The largest error of the vectors of tokens and places, and of the tables' gradients."""
    draw = torch.Generator().manual_seed(rows)
    ids = torch.randint(tokens, (rows, length), generator=draw)
    tables = [torch.randn(count, 16, generator=draw).requires_grad_() for count in (tokens, length + 2)]
    weights = torch.randn(rows, length, 16, generator=draw)
    parts = Parts(x=Tokens(ids, *tables))
    found = vectors_of(Layout(rows, (0, length, 0, 0)), parts).view(rows, length, 16)
    exact = [table.detach().double().requires_grad_() for table in tables]
    expected = torch.nn.functional.embedding(ids, exact[0]) + exact[1][:length]
    pairs = [(found, expected)]
    gradients = [torch.autograd.grad((v * weights).sum(), t) for v, t in ((found, tables), (expected, exact))]
    pairs += zip(*gradients, strict=True)
    return worst((a - b).detach().abs().max() for a, b in pairs)


def loss_errors(tasks: int, rows: int, places: int, *, sequences: bool, some: bool) -> float:
    """The largest error of losses and their gradients."""
    draw = torch.Generator().manual_seed(rows)
    log_prob = -torch.rand(tasks, rows, places, generator=draw)
    y_length = torch.randint(places, (tasks, rows), generator=draw) if sequences else None
    present = torch.rand(tasks, rows, generator=draw) < 0.6 if some else None
    if present is not None:
        present[0] = False
    if y_length is not None:
        log_prob = log_prob.masked_fill(torch.arange(places) > y_length.unsqueeze(-1), 0.0)
    exact = log_prob.double().requires_grad_()
    examples = _losses(exact, y_length, present)
    weights = torch.rand(tasks, generator=draw)
    examples.per_task().backward(weights.double())
    assert exact.grad is not None
    found = gpu_losses.task_losses(log_prob, y_length, present)
    g = gpu_losses.loss_gradients(weights, found.counts, present, (tasks, rows, places))
    pairs = [(found.means, examples.per_task()), (found.totals, examples.total), (g, exact.grad)]
    pairs.append((found.predictions, examples.predictions))
    return worst((a.double() - b.detach()).abs().max() for a, b in pairs)


def chosen_error(tasks: int, rows: int, size: int) -> float:
    """The largest error of losses and gradients over the rows that are chosen."""
    draw = torch.Generator().manual_seed(size)
    g, total = torch.randn(tasks, rows, size, generator=draw), torch.rand(tasks, rows, generator=draw)
    predictions = torch.randint(1, 4, (tasks, rows), generator=draw).float()
    chosen = (torch.rand(tasks, rows, generator=draw) < 0.5).float()
    chosen[:, 0] = 1
    exact = ExampleLosses(total.double(), predictions.double())
    share = predictions.double().sum(1) / (predictions * chosen).double().sum(1)
    expected = (g * chosen.unsqueeze(2)).double().sum(1) * share.unsqueeze(1)
    losses, found = gpu_losses.chosen_rows(g, total, predictions, chosen)
    of_losses = (losses - exact.per_task(chosen.double())).abs().max()
    return worst([of_losses, (found - expected).abs().max() / expected.abs().max()])


if __name__ == "__main__":
    let_loops_have_bounds()
    gpu_blocks.SHARES = gpu_launch.SHARES = 2
    gpu_sequence._PROGRAMS = 8  # pyright: ignore[reportPrivateUsage]  # fewer than parts to add up
    use_kernels()
    embedded = ((1, 1, 2), (30, 5, 11), (3, 31, 3), (70, 30, 4), (9, 7, 150))
    losses = [
        loss_errors(*sizes, sequences=sequences, some=sizes[0] == 2)
        for sizes in ((1, 1, 1), (3, 140, 1), (2, 37, 23))
        for sequences in (False, True)
    ]
    errors = {
        "scores": [score_error(spec, settings) for spec, settings in SPECS.values()],
        "silent zeros": [silent_zeros("score"), silent_zeros("log_prob")],
        "embeddings": [embedding_error(*sizes) for sizes in embedded],
        "losses": [*losses, chosen_error(2, 3, 16), chosen_error(3, 70, 130)],
    }
    print(json.dumps(errors))
