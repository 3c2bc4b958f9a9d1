"""Settings that cannot be are errors that name them."""

from typing import Any

import pytest

from tam.errors import UserError
from tam.methods import MAML, TAM, Method, Multitask, Nearest, Prototypical

WRONG: list[tuple[type[Method], dict[str, Any]]] = [
    (TAM, {"inner_steps": 0}),
    (TAM, {"patience": 0}),
    (TAM, {"inner_rate": -0.1}),
    (TAM, {"theta_update": "sometimes"}),
    (TAM, {"small_sizes": (0, 4), "support": "mixed"}),
    (TAM, {"small_sizes": (8, 4), "support": "mixed"}),
    (TAM, {"small_share": 1.5, "support": "mixed"}),
    (TAM, {"learn_blank": False, "proposer": True}),
    (MAML, {"inner_steps": 0}),
    (MAML, {"order": "third"}),
    (MAML, {"support_sizes": (0, 4)}),
    (MAML, {"support_sizes": (8, 4)}),
    (Multitask, {"finetune": "some"}),
    (Multitask, {"unknown_share": 1.1}),
    (Nearest, {"smoothing": 0.0}),
    (Nearest, {"smoothing": float("nan")}),
    (Prototypical, {"most_shots": 0}),
]


@pytest.mark.parametrize(("kind", "wrong"), WRONG)
def test_wrong_settings_are_errors(kind: type[Method], wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        kind(**wrong)
