"""TAM and multitask training with one thing changed, on classification."""

import re

from blocks.results import Results
from blocks.runs import distinct, score_cells, steps_of, steps_words, time_cell, widths_of
from blocks.table import table
from blocks.words import duration, k_heads, number
from tam.report.curve import TITLES as METHODS

VARIANTS = {
    "transformer": "token, transformer",
    "adapter": "adapters, transformer",
    "norm": "layer norms, transformer",
    "lstm": "token, LSTM",
}
SMALL = {
    "": "unchanged",
    "-T1": "T = 1",
    "-T5": "T = 5",
    "-T25": "T = 25",
    "-N16": "N = 16",
    "-N32": "N = 32",
    "-N128": "N = 128",
    "-adapter": "adapters",
    "-norm": "layer norms",
    "-lstm": "LSTM",
}
"""What is behind the benchmark in the names of small runs, and what it stands for."""


def ablations(results: Results) -> str:
    """Where the task embedding enters, and an LSTM, with TAM and with multitask training."""
    rows = []
    for variant, title in VARIANTS.items():
        for method in ("tam", "multitask"):
            found = (
                results.by_shots(method, "tuned", "classification")
                if variant == "transformer"
                else results.by_shots(method, "ablation", "classification", f"-{variant}")
            )
            printed = results.paper["ablations"][variant].get(method)
            paper = [f"{100 * mean:.0f}" for mean in printed] if printed else None
            first = title if method == "tam" else ""
            scores = score_cells(results, "accuracy", found, paper)
            runs = distinct(found)
            rows.append([first, METHODS[method], time_cell(runs), steps_words(runs), *scores])
    return table(["", "", "time", "training steps", *k_heads(results.shots)], rows, left=(0, 1))


def sweeps(results: Results) -> str:
    """TAM with other numbers of inner steps and of examples of a task in a step."""
    rows = []
    for letter, section, setting in (("T", "settings", "inner_steps"), ("N", "training", "rows")):
        stem = re.compile(rf"tam-sweep-classification(-{letter}\d+)-0")
        names = [found[1] for file in results.runs if (found := stem.fullmatch(file))]
        sweep = [results.by_shots("tam", "sweep", "classification", name) for name in names]
        both = [(found, next(iter(found.values()))) for found in sweep]
        for found, run in sorted(both, key=lambda one: one[1]["config"][section][setting]):
            steps, ms = steps_of(run), 1000 * run["gpu_seconds"] / steps_of(run)
            what = f"{letter} = {run['config'][section][setting]}"
            scores = score_cells(results, "accuracy", found)
            rows.append([what, time_cell([run]), number(steps), f"{ms:.1f}", *scores])
    head = ["", "time", "training steps", "ms a step"]
    return table([*head, *k_heads(results.shots)], rows)


def small(results: Results) -> str:
    """Ablations and sweeps of the preset quick, each method's of as many outer steps."""
    rows, intervals = [], []
    for method in ("tam", "multitask"):
        for more, title in SMALL.items():
            found = results.by_shots(method, "small", "classification", more)
            for run in distinct(found):
                intervals += [100 * width for width in widths_of(run, "accuracy").values()]
                steps, time = number(steps_of(run)), duration(run["seconds"])
                scores = score_cells(results, "accuracy", found)
                rows.append([METHODS[method], title, steps, time, *scores])
    head = ["", "", "training steps", "time", *k_heads(results.shots)]
    return (
        f"{table(head, rows, left=(0, 1))}\n\nThe 95 % intervals over test tasks are between "
        f"± {min(intervals):.1f} and ± {max(intervals):.1f} points."
    )
