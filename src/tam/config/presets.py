"""The presets, as changes to the defaults; names are fields of any section of a config."""

from typing import Any, Literal

Preset = Literal["smoke", "quick", "paper", "best"]

BENCHMARKS: tuple[Literal["classification", "transduction", "pathfinding"], ...] = (
    "classification",
    "transduction",
    "pathfinding",
)

OWN_TASKS: dict[str, Any] = {"mask_tokens": 0.02, "copy": True, "hints": 2, "programs": 100_000}
"""Changes for the user's own tasks, in every preset but paper."""

PRESETS: dict[str, dict[str, Any]] = {
    "smoke": {
        "layers": 1,
        "width": 16,
        "steps": 4,
        "tasks": 4,
        "rows": 16,
        "warmup": 1,
        "validate_every": 2,
        "checkpoint_every": 2,
        "shots": (1, 5),
        "supports": 1,
        "queries": 20,
        "adapt_steps": (1, 5),
        "adapt_rates": (0.1,),
    },
    "quick": {
        "layers": 2,
        "width": 64,
        "steps": 560,
        "rows": 64,
        "warmup": 10,
        "validate_every": 560,
        "checkpoint_every": 20,
        "queries": 60,
        "adapt_steps": (1, 2, 3, 5, 8, 12, 18, 25, 50),
        "adapt_rates": (0.05,),
    },
    "paper": {},
    "best": {"precision": "bfloat16"},
}
"""The changes of each preset to the defaults, which are the paper's settings."""

_AGNOSTIC = {"use_primitives": False}
_FINE_TUNED = {"adapt_rates": (0.0003, 0.001, 0.003)}
_PLAIN_MAML = {"adapt_rates": (0.03, 0.1, 0.3)}
_PLAIN_CAVIA = {"adapt_rates": (0.3, 1.0, 3.0)}
_SLOW_CAVIA = {"inner_rate": 0.3, "adapt_rates": (0.3 / 3, 0.3, 0.3 * 3)}  # validated: 0.3, 1, 3, 10
# These methods make one pass per step, not an inner loop of many.
_LONG = {"steps": 100_000, "validate_every": 5_000, "checkpoint_every": 1_000}
# Validated: with more steps, networks whose weights are all fine-tuned learn new tasks worse.
_SHORT = {"steps": 1_000, "validate_every": 1_000}
_SPLIT = {"rows": 128}  # up to 64 for the support, the rest for queries

PRESETS_BY_METHOD: dict[tuple[str, str], dict[str, Any]] = {
    ("smoke", "tam"): {"inner_steps": 2},
    ("quick", "tam"): {
        "inner_steps": 10,
        "inner_rate": 0.1,
        "patience": None,
        "theta_update": "interleaved",
        "warm_share": 0.5,
        "learn_blank": True,
    },
    ("best", "tam"): {
        "steps": 5_000,
        "validate_every": 1_000,
        "inner_steps": 12,
        "inner_rate": 0.1,
        "patience": None,
        "theta_update": "interleaved",
        "warm_share": 0.5,
        "learn_blank": True,
        "task_first": True,
        "support": "mixed",
        "rows": 128,
        "rate": 5e-4,
        "adapt_steps": (0, 1, 2, 3, 5, 8, 12, 18, 25, 50, 100, 200),
    },
    ("smoke", "agnostic"): _AGNOSTIC | {"adapt_rates": (0.001,)},
    ("quick", "agnostic"): _AGNOSTIC | {"steps": 3_000, "validate_every": 3_000, "adapt_rates": (0.001,)},
    ("paper", "agnostic"): _AGNOSTIC | _LONG | _FINE_TUNED,
    ("best", "agnostic"): _AGNOSTIC | _FINE_TUNED | _SHORT,
    ("smoke", "multitask"): {"adapt_rates": (0.001,)},
    ("quick", "multitask"): {"steps": 3_000, "validate_every": 3_000, "adapt_rates": (0.001,)},
    ("paper", "multitask"): _LONG | _FINE_TUNED,
    ("best", "multitask"): _FINE_TUNED | _SHORT | {"task_first": True},
    ("smoke", "maml"): {"inner_steps": 2, "support_sizes": (4, 8)},
    ("quick", "maml"): {"inner_steps": 3, "support_sizes": (4, 32), "adapt_rates": (0.1,)},
    ("paper", "maml"): _SPLIT | _PLAIN_MAML,
    ("best", "maml"): _SPLIT | _PLAIN_MAML | {"precision": "float32"},
    ("smoke", "cavia"): {"inner_steps": 2, "support_sizes": (4, 8), "adapt_rates": (1.0,)},
    ("quick", "cavia"): {"inner_steps": 5, "support_sizes": (32, 32), "adapt_rates": (1.0,)},
    ("paper", "cavia"): _SPLIT | _PLAIN_CAVIA,
    ("best", "cavia"): _SPLIT | _SLOW_CAVIA | {"precision": "float32", "task_first": True, "inner_steps": 2},
    ("smoke", "snail"): {"shots": (1,), "rows": 32},
    ("quick", "snail"): {"steps": 1_000, "validate_every": 1_000},
    ("paper", "snail"): _LONG,
    ("best", "snail"): _LONG | {"episode_queries": 32, "rows": 128},
    ("smoke", "matching"): {"shots": (1,), "rows": 32},
    ("quick", "matching"): {"episode_queries": 8},
    ("paper", "matching"): _LONG,
    ("best", "matching"): _LONG,
    ("quick", "prototypical"): {"steps": 1_000, "validate_every": 1_000},
    ("paper", "prototypical"): _LONG,
    ("best", "prototypical"): _LONG,
}
"""Further changes of a preset for one method."""

_TWO_TOKENS = {"task_tokens": 2}
_EIGHT_STARTS = {
    "starts": 8,
    "adapt_steps": (0, 1, 2, 3, 5, 8, 12, 18, 25, 50, 100),
    "adapt_rates": (0.01, 0.03),
}
_FROM_ONE_ROW = {"small_sizes": (1, 64)}  # where k counts examples

PRESETS_BY_BENCHMARK: dict[tuple[str, str, str], dict[str, Any]] = {
    ("paper", "tam", "transduction"): {"inner_rate": 0.05},
    ("best", "tam", "classification"): {
        "steps": 3_500,
        "rows": 256,
        "proposer": True,
        "validate_every": 700,
        **_EIGHT_STARTS,
    },
    ("best", "tam", "transduction"): _TWO_TOKENS | _FROM_ONE_ROW | _EIGHT_STARTS,
    ("best", "tam", "pathfinding"): _TWO_TOKENS
    | _FROM_ONE_ROW
    | _EIGHT_STARTS
    | {"steps": 1_500, "rate": 1e-3, "validate_every": 300},
}
PRESETS_BY_BENCHMARK |= {
    ("best", method, benchmark): _TWO_TOKENS
    for method in ("cavia", "multitask")
    for benchmark in ("transduction", "pathfinding")
}
PRESETS_BY_BENCHMARK |= {
    ("best", "agnostic", "classification"): {"steps": 500, "validate_every": 500},
    ("best", "multitask", "classification"): {"steps": 1_500, "validate_every": 1_500},
}
"""Further changes of a preset for one method on one benchmark."""
