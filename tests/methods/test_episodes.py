"""Episodes and splits against a plain reading: row after row, task after task."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tam.errors import UserError
from tam.methods.episodes import check_shots, episode, in_parts, in_support, learn, split
from tam.methods.losses import ExampleLosses, example_losses
from tam.models import Batch, ModelSpec
from tam.models.support_state import pack_support
from tests.methods.small import some
from tests.models.conftest import make_batch, make_model


def uneven(spec: ModelSpec) -> Batch:
    """Four tasks of up to 14 rows: all there; some absent, with absurd answers; one class rare; one alone."""
    batch = make_batch(spec, 4, 14)
    present = torch.ones(4, 14, dtype=torch.bool)
    present[1, 2::3] = False
    y = batch.y.clone()
    if spec.kind == "classification":
        y[2] = 0
        y[2, 5] = 2
        y[3] = 1
        y[1, 2::3] = 999
    return replace(batch, y=y, present=present)


def chosen_rows(batch: Batch, task: int, shots: int, classes: int) -> dict[tuple[int, int], int]:
    """The row at each place of a support: the first rows of each class."""
    found: dict[tuple[int, int], int] = {}
    for row in range(batch.rows):
        if batch.present is not None and not batch.present[task, row]:
            continue
        group = int(batch.y[task, row]) if batch.y_length is None else 0
        number = sum(group == other for other, _ in found)
        if number < shots:
            found[group, number] = row
    return found


def same_row(one: Batch, place: int, other: Batch, row: int, task: int) -> bool:
    names = ["x", "x_length", "y"] + ([] if one.y_length is None else ["y_length"])
    return all(torch.equal(getattr(one, n)[task, place], getattr(other, n)[task, row]) for n in names)


@pytest.mark.parametrize("shots", [1, 2, 4])
@pytest.mark.parametrize("queries", [None, 1])
def test_support_and_queries(plain_spec: ModelSpec, shots: int, queries: int | None) -> None:
    batch = uneven(plain_spec)
    made = episode(batch, shots, plain_spec.classes, queries)
    support = some(made.support)
    size = shots * max(plain_spec.classes, 1)
    assert (support.rows, made.rows) == (size, queries or 14 - size)
    for task in range(4):
        chosen = chosen_rows(batch, task, shots, plain_spec.classes)
        for place in range(size):
            row = chosen.get((place // shots, place % shots))
            assert bool(some(support.present)[task, place]) == (row is not None)
            assert row is None or same_row(support, place, batch, row, task)
        others = [row for row in range(14) if row not in chosen.values()]
        kept = others[size - len(chosen) :][:queries]
        for place, row in enumerate(kept):
            assert same_row(made, place, batch, row, task)
            assert some(made.present)[task, place] == some(batch.present)[task, row]


def test_a_mask_of_the_support_with_shots_of_each_tasks_own(plain_spec: ModelSpec) -> None:
    batch = uneven(plain_spec)
    shots = [1, 2, 3, 20]
    mask = in_support(batch, torch.tensor(shots).unsqueeze(1), plain_spec.classes)
    for task in range(4):
        chosen = chosen_rows(batch, task, shots[task], plain_spec.classes)
        assert mask[task].nonzero().flatten().tolist() == sorted(chosen.values())


def test_no_value_is_read_back(plain_spec: ModelSpec) -> None:
    """On the meta device there are no values, so any read-back is an error."""
    made = episode(make_batch(plain_spec, 3, 14).to("meta"), 2, plain_spec.classes)
    assert some(made.support).rows == 2 * max(plain_spec.classes, 1)


def test_a_batch_that_is_all_support_is_an_error(plain_spec: ModelSpec) -> None:
    size = 3 * max(plain_spec.classes, 1)
    batch = make_batch(plain_spec, 2, size)
    with pytest.raises(UserError, match=f"rows is {size}"):
        episode(batch, 3, plain_spec.classes)
    with pytest.raises(UserError, match="support_sizes"):
        split(batch, (1, size))


def test_theta_learns_from_the_tasks_that_have_queries(plain_spec: ModelSpec) -> None:
    spec = replace(plain_spec, conditioning="none")
    model, batch = make_model(spec), make_batch(spec, 3, 4)
    weights = list(model.parameters())
    present = torch.ones(3, 4, dtype=torch.bool)
    present[1] = False
    counts: list[float] = []

    def losses(batch: Batch) -> ExampleLosses:
        return example_losses(model, None, batch)

    told = learn(model, losses(replace(batch, present=present)), lambda count: counts.append(count.item()))
    found = [weight.grad for weight in weights]
    two = [losses(batch.part(slice(t, t + 1))).per_task().sum() for t in (0, 2)]
    expected = torch.autograd.grad(two[0] + two[1], weights, allow_unused=True)
    assert counts == [2]
    assert told.end.item() == pytest.approx((two[0] + two[1]).item() / 2)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or torch.allclose(one, other)


def test_a_support_of_another_size_is_an_error(plain_spec: ModelSpec) -> None:
    if plain_spec.kind == "transduction":
        good = make_batch(plain_spec, 2, 3)
        bad = replace(good, present=torch.tensor([[True] * 3, [True, True, False]]))
    else:
        y = torch.tensor([[0, 1, 2] * 3, [0, 1, 0, 1, 0, 1, 2, 2, 2]])
        present = torch.tensor([[True] * 9, [True] * 6 + [False] * 3])
        good = replace(make_batch(plain_spec, 2, 9), y=y, present=present, classes=torch.tensor([3, 2]))
        bad = replace(good, y=torch.tensor([[0, 1, 2] * 3, [0, 0, 0, 1, 0, 1, 2, 2, 2]]))
    check_shots(good, 3)
    with pytest.raises(UserError, match="k = 3"):
        check_shots(bad, 3)
    with pytest.raises(UserError, match="k = 2"):
        check_shots(good, 2)


@pytest.mark.parametrize("numbers", [1, 2**26, 2**28])
def test_parts_are_put_together_again(plain_spec: ModelSpec, numbers: int) -> None:
    batch, support, sizes = make_batch(plain_spec, 5, 3), make_batch(plain_spec, 5, 1, seed=1), list[int]()

    def outcomes(part: Batch) -> Tensor:
        sizes.append(part.tasks)
        return part.x_length * some(part.support).x_length

    found = in_parts(make_model(plain_spec), pack_support(support, plain_spec), batch, numbers, outcomes)
    assert torch.equal(found, batch.x_length * support.x_length)
    assert max(sizes) == min(5, max(1, 2**27 // numbers))


@pytest.mark.parametrize(
    ("sizes", "counts", "expected"),
    [
        ((3, 3), None, [3, 3, 3, 3]),
        ((1, 16), None, [1, 4, 16, 2]),  # log-uniform
        ((4, 4), [1, 2, 5, 24], [0, 1, 2, 4]),  # a task of few rows gives half of them to its support
    ],
)
def test_the_first_rows_are_the_support_and_the_others_are_queries(
    plain_spec: ModelSpec, sizes: tuple[int, int], counts: list[int] | None, expected: list[int]
) -> None:
    chance = torch.tensor([[0.0], [0.5], [0.999], [0.25]], dtype=torch.float64)
    batch = replace(make_batch(plain_spec, 4, 24), chance=chance, x_length=torch.arange(24).expand(4, -1))
    if counts is not None:
        batch = replace(batch, present=torch.arange(24) < torch.tensor(counts).unsqueeze(1))
    support, query = split(batch, sizes)
    assert (support.rows, support.y.shape[1]) == (sizes[1], sizes[1])
    assert (support.present is None) == (sizes == (3, 3))
    for task, size in enumerate(expected):
        assert rows_of(support, task) == list(range(size))
        first, last = (sizes[1], 24) if counts is None else (size, counts[task])
        assert rows_of(query, task) == list(range(first, last))


def rows_of(batch: Batch, task: int) -> list[int]:
    """The rows of a task that are present; each has its number as the length of its input."""
    present = torch.ones_like(batch.x_length, dtype=torch.bool) if batch.present is None else batch.present
    return batch.x_length[task][present[task]].tolist()
