from typing import Any

import pytest

from tam.models import ModelSpec, task_size

CLASSIFY: dict[str, Any] = {"kind": "classification", "vocabulary": 12, "classes": 4, "max_x": 5}
TRANSDUCE: dict[str, Any] = {"kind": "transduction", "vocabulary": 12, "max_x": 5, "max_y": 5}


@pytest.mark.parametrize(
    ("options", "about"),
    [
        (CLASSIFY | {"kind": "regression"}, "kind"),
        (CLASSIFY | {"backbone": "rnn"}, "backbone"),
        (CLASSIFY | {"conditioning": "film"}, "conditioning"),
        (CLASSIFY | {"vocabulary": 0}, "vocabulary"),
        (CLASSIFY | {"max_x": -1}, "max_x"),
        (CLASSIFY | {"layers": 0}, "layers"),
        (CLASSIFY | {"layers": 1001, "width": 4}, "layers"),
        (CLASSIFY | {"width": 10}, "width.*heads"),
        (CLASSIFY | {"classes": 0}, "classes"),
        (TRANSDUCE | {"max_y": 0}, "max_y"),
        (CLASSIFY | {"primitives": 9, "slots": 3, "conditioning": "norm"}, "primitives.*'token'"),
        (CLASSIFY | {"bottleneck": 0, "conditioning": "adapter"}, "bottleneck"),
        (TRANSDUCE | {"backbone": "lstm"}, "LSTM"),
        (CLASSIFY | {"backbone": "lstm", "conditioning": "norm"}, "LSTM"),
        (CLASSIFY | {"backbone": "lstm", "primitives": 9, "slots": 3}, "LSTM"),
        (CLASSIFY | {"tasks": -1}, "tasks"),
    ],
)
def test_wrong_specs_are_refused(options: dict[str, Any], about: str) -> None:
    with pytest.raises(ValueError, match=about):
        ModelSpec(**options)


def test_a_bottleneck_is_chosen_for_adapters_alone() -> None:
    assert ModelSpec(**CLASSIFY).bottleneck is None
    assert ModelSpec(**CLASSIFY, conditioning="adapter").bottleneck == 8
    assert ModelSpec(**CLASSIFY, conditioning="adapter", bottleneck=2).bottleneck == 2


def test_the_sizes_of_the_papers_task_embeddings() -> None:
    sizes = {
        c: task_size(ModelSpec(**CLASSIFY, conditioning=c)) for c in ("token", "norm", "adapter", "none")
    }
    assert sizes == {"token": 128, "norm": 2304, "adapter": 17472, "none": 0}
