import torch

from tam.methods.warm_starts import WarmStarts
from tam.models import Batch
from tests.methods.small import some


def batch_of(task: list[int], unknown: list[int] | None = None) -> Batch:
    rows = torch.zeros(len(task), 1, 2, dtype=torch.int64)
    return Batch(
        x=rows,
        x_length=rows[..., 0],
        y=rows[..., 0],
        task=torch.tensor(task),
        primitives=None if unknown is None else torch.zeros(len(task), 3, dtype=torch.int64),
        unknown=None if unknown is None else torch.tensor(unknown),
    )


def start_of(warm: WarmStarts, batch: Batch, seed: int = 0) -> torch.Tensor:
    start = warm.begin(batch, torch.Generator().manual_seed(seed)).start
    return some(start)


def test_a_task_starts_where_its_last_visit_ended() -> None:
    warm = WarmStarts(1.0, 0, torch.zeros(4, 2))
    assert start_of(warm, batch_of([3, 1])).eq(0).all(), "nothing was visited yet"
    warm.keep(batch_of([3, 1]), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    warm.keep(batch_of([1]), torch.tensor([[5.0, 6.0]]))
    expected = torch.tensor([[5.0, 6.0], [0.0, 0.0], [1.0, 2.0]])
    torch.testing.assert_close(start_of(warm, batch_of([1, 2, 3])), expected)


def test_a_share_of_the_tasks_is_drawn_anew_each_time() -> None:
    many = batch_of(list(range(2000)))
    warm = WarmStarts(0.25, 0, torch.zeros(2000, 1))
    warm.keep(many, torch.ones(2000, 1))
    first, second = (start_of(warm, many, seed) for seed in (0, 1))
    for start in (first, second):
        assert abs(start.mean().item() - 0.25) < 0.04
    assert not torch.equal(first, second)


def test_the_row_of_a_compositional_task_is_that_of_its_unknown_slot() -> None:
    warm = WarmStarts(1.0, 3, torch.zeros(6, 1))
    warm.keep(batch_of([0, 0, 1], [0, 2, 2]), torch.tensor([[1.0], [2.0], [3.0]]))
    start = start_of(warm, batch_of([0, 0, 0, 1, 1], [0, 1, 2, 1, 2]))
    assert start.flatten().tolist() == [1.0, 0.0, 2.0, 0.0, 3.0]
