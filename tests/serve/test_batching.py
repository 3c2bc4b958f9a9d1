"""What arrives while something is done is then done together, and too much is refused."""

import threading
from collections.abc import Sequence

import pytest

import tam
from tam.serve.batching import Batcher, ClosedError, QueueFullError, Request
from tam.serve.limits import Limits
from tam.serve.served import Served
from tam.store.store import UnknownTaskError
from tests.learner.small import untrained
from tests.store.small import pairs


class Slow:
    """Does jobs once it may, and notes how many rows each batch had."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, jobs: Sequence[Request]) -> None:
        self.batches.append([job.rows for job in jobs])
        self.begun.set()
        assert self.may_go_on.wait(30)
        for job in jobs:
            job.future.set_result(job.rows)


def test_what_waits_is_done_together_up_to_a_size() -> None:
    do = Slow()
    batcher = Batcher(do, most=10, limit=100)
    first = batcher.submit(Request(1))
    assert do.begun.wait(30)
    others = [batcher.submit(Request(rows)) for rows in (4, 6, 3, 20, 2)]
    assert batcher.queued == 35
    cancelled = batcher.submit(Request(5))
    assert cancelled.cancel()
    do.may_go_on.set()
    assert [future.result(30) for future in (first, *others)] == [1, 4, 6, 3, 20, 2]
    batcher.close()
    assert do.batches == [[1], [4, 6], [3], [20], [2]]
    assert batcher.queued == 0


def test_a_full_queue_refuses_and_goes_on() -> None:
    do = Slow()
    batcher = Batcher(do, most=10, limit=8)
    futures = [batcher.submit(Request(1))]
    assert do.begun.wait(30)
    futures += [batcher.submit(Request(rows)) for rows in (5, 3)]
    with pytest.raises(QueueFullError, match="8 rows are waiting; at most 8 may"):
        batcher.submit(Request(1))
    do.may_go_on.set()
    assert [future.result(30) for future in futures] == [1, 5, 3]
    assert batcher.submit(Request(50)).result(30) == 50  # alone it is always taken
    batcher.close()


def test_closing_finishes_what_waits() -> None:
    do = Slow()
    batcher = Batcher(do, most=10, limit=100)
    futures = [batcher.submit(Request(1)) for _ in range(5)]
    closing = threading.Thread(target=batcher.close)
    closing.start()
    do.may_go_on.set()
    closing.join(30)
    assert [future.result(0) for future in futures] == [1] * 5
    with pytest.raises(ClosedError, match="stopping"):
        batcher.submit(Request(1))


def test_an_error_reaches_those_who_wait_and_not_the_next() -> None:
    def do(jobs: Sequence[Request]) -> None:
        if jobs[0].rows == 13:
            raise RuntimeError("bad luck")
        jobs[0].future.set_result("done")

    batcher = Batcher(do, most=1, limit=100)
    with pytest.raises(RuntimeError, match="bad luck"):
        batcher.submit(Request(13)).result(30)
    assert batcher.submit(Request(1)).result(30) == "done"
    batcher.close()


@pytest.mark.parametrize(
    ("method", "kind", "shape"),
    [
        ("tam", "classification", {}),
        ("tam", "transduction", {}),
        ("tam", "transduction", {"primitives": 4, "slots": 3}),
        ("snail", "classification", {}),
    ],
)
def test_warming_up_keeps_nothing(method: str, kind: str, shape: dict[str, int]) -> None:
    model = untrained(method, kind, **shape)
    seen: list[tuple[str, int]] = []
    served = Served(model, tam.Store(":memory:", model), Limits(), lambda *one: seen.append(one))
    served.warm_up()
    assert seen == [("adapt", 1), ("predict", 1)]
    assert len(served.store) == 0
    served.close()


def test_one_bad_request_does_not_spoil_the_batch(model: tam.Learner) -> None:
    """Requests of several sizes, tasks and weights, learned and answered together as if each were alone."""
    seen: list[tuple[str, int]] = []
    served = Served(model, tam.Store(":memory:", model), Limits(), lambda *one: seen.append(one))
    for name, k in (("one", 1), ("five", 5)):
        served.store.put(name, served.adapt(pairs(1, k), ()).result(30), pairs(1, k))
    rules = served.store.embeddings(["one", "five"])
    with served.store._database._lock:  # pyright: ignore[reportPrivateUsage]
        blocked = served.predict(["one"], [[1]], 1)  # its thread waits for the store
        good = [served.predict([name] * 2, [[1], [2, 3]], 2) for name in ("one", "five", "one")]
        bad = served.predict(["one", "none"], [[1], [1]], 1)
        learned = [served.adapt(pairs(number), ()) for number in range(3)]
        with pytest.raises(tam.UserError, match="unknown token 99"):
            served.predict(["one"], [[99]], 1)
        with pytest.raises(tam.UserError, match="example 0"):
            served.adapt([([99], 0)], ())
        seen.clear()
    blocked.result(30)
    with pytest.raises(UnknownTaskError, match="'none'"):
        bad.result(30)
    for name, future in zip(("one", "five", "one"), good, strict=True):
        for row, expected in zip(
            future.result(30), model.predict_proba(rules[name], [[1], [2, 3]]), strict=True
        ):
            assert dict(row) == pytest.approx(expected, abs=1e-5)
    for number, future in enumerate(learned):
        assert future.result(30).loss == pytest.approx(model.adapt(pairs(number)).loss, abs=1e-5)
    served.close()
    assert seen.count(("adapt", 6)) == 1
    predicted = [rows for what, rows in seen if what == "predict"]
    assert sum(predicted) == 7
    assert len(predicted) <= 2  # the first may have begun before the others came
