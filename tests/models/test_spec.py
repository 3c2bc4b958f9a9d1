from typing import Any

import pytest

from tam.models import ModelSpec, task_size

CLASSIFY: dict[str, Any] = {"kind": "classification", "vocabulary": 12, "classes": 4, "max_x": 5}
TRANSDUCE: dict[str, Any] = {"kind": "transduction", "vocabulary": 12, "max_x": 5, "max_y": 5}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (CLASSIFY | {"kind": "regression"}, "kind is one of .* not 'regression'"),
        (CLASSIFY | {"backbone": "rnn"}, "backbone is one of .* not 'rnn'"),
        (CLASSIFY | {"conditioning": "film"}, "conditioning is one of .* not 'film'"),
        (CLASSIFY | {"vocabulary": 0}, "vocabulary is at least 1, not 0"),
        (CLASSIFY | {"max_x": -1}, "max_x is at least 0, not -1"),
        (CLASSIFY | {"layers": 0}, "layers is at least 1, not 0"),
        (CLASSIFY | {"width": 10}, "width is a multiple of heads; 10 is not one of 4"),
        (CLASSIFY | {"classes": 0}, "classification needs classes of at least 1, not 0"),
        (CLASSIFY | {"max_y": 3}, "max_y has no effect on classification.*given: 3"),
        (TRANSDUCE | {"max_y": 0}, "transduction needs max_y of at least 1, not 0"),
        (TRANSDUCE | {"classes": 4}, "classes has no effect on transduction.*given: 4"),
        (CLASSIFY | {"primitives": 9}, "both primitives and slots.*primitives=9, slots=0"),
        (CLASSIFY | {"slots": 3}, "both primitives and slots.*primitives=0, slots=3"),
        (CLASSIFY | {"primitives": -9, "slots": -3}, "both primitives and slots"),
        (CLASSIFY | {"primitives": 9, "slots": 3, "conditioning": "norm"}, "is 'token', not 'norm'"),
        (CLASSIFY | {"bottleneck": 8}, "no effect with conditioning 'token'.*given: 8"),
        (CLASSIFY | {"bottleneck": 0, "conditioning": "adapter"}, "bottleneck is at least 1, not 0"),
        (TRANSDUCE | {"backbone": "lstm"}, "LSTM is for classification, not for transduction"),
        (CLASSIFY | {"backbone": "lstm", "conditioning": "norm"}, "'token' or 'none', not 'norm'"),
        (CLASSIFY | {"backbone": "lstm", "primitives": 9, "slots": 3}, "LSTM has no primitives"),
        (CLASSIFY | {"tasks": -1}, "tasks is at least 0, not -1"),
        (CLASSIFY | {"tasks": 9, "conditioning": "none"}, "with conditioning 'none' have no embeddings"),
        (CLASSIFY | {"tasks": 9, "primitives": 9, "slots": 3}, "composed of primitives have no embeddings"),
        (CLASSIFY | {"unknown": True}, "unknown stands for a primitive"),
        (CLASSIFY | {"heads": True}, "heads is an integer, not True"),
        (CLASSIFY | {"max_x": 1.5}, "max_x is an integer, not 1.5"),
        (CLASSIFY | {"layers": 1001, "width": 4}, "layers is at most 1000, not 1001"),
        (CLASSIFY | {"layers": 1000, "width": 1024}, "layers is 1000 and width 1024, which is too large"),
        (CLASSIFY | {"width": 10**6}, "width 1000000, which is too large a network"),
        (CLASSIFY | {"bottleneck": 10**9, "conditioning": "adapter"}, "the larger of width and bottleneck"),
    ],
)
def test_wrong_specs_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
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
