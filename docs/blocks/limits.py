"""What limits each trained model: the parts of its loss and of its error on test tasks."""

from collections.abc import Iterator

from blocks.results import BENCHMARKS, Facts, Results
from blocks.runs import settings_words, steps_of
from blocks.table import table
from blocks.words import span

HEAD = ["", "", "test tasks", "optimisation", "of it new inputs", "generalisation", "few examples", "largest"]


def limits(results: Results) -> str:
    """The parts for every model and k, and the largest of them."""
    facts = results.limits
    if facts is None:
        return "These measurements are not made: `results/limits.json` is not there yet."
    parts = []
    for name, title in BENCHMARKS.items():
        metric = "error" if results.metric(name) == "accuracy" else "loss"
        of_name = [model for model in facts["models"] if model["tasks"]["name"] == name]
        rows = [row for model in sorted(of_name, key=_order) for row in _rows(model, metric, facts["floor"])]
        if rows:
            parts.append(f"**{title}**, {metric}\n\n{table(HEAD, rows, left=(0, 1))}")
    each = span([model["tasks_each"] for model in facts["models"]])
    chosen = [one["at_most"] for model in facts["models"] for one in model["chosen"].values()]
    said = (
        f"{each} training and {each} test tasks; many are {facts['many']} examples of a task. In "
        f"{sum(chosen)} of {len(chosen)} choices of how many steps to learn a task by, the most of the "
        "grid were chosen."
    )
    return "\n\n".join([*parts, said])


def _order(run: Facts) -> tuple[str, int]:
    """Runs of TAM with the same settings behind one another, longer ones later."""
    return run["config"]["settings"]["theta_update"], steps_of(run)


def _rows(model: Facts, metric: str, floor: float) -> Iterator[list[str]]:
    """The parts of a model at each k."""
    gaps = model["gaps"][metric]
    new = _plus_minus(gaps["optimisation"]["new_inputs"])
    for place, (k, largest) in enumerate(model["limits"][metric].items()):
        found = gaps | {"few examples": gaps["few examples"][k]}
        total = floor + sum(part["mean"] for part in found.values())
        optimisation, *others = (_plus_minus(part) for part in found.values())
        first = settings_words(model) if place == 0 else ""
        yield [first, f"k = {k}", f"{total:.3f}", optimisation, new, *others, _largest_words(found, largest)]


def _plus_minus(part: Facts) -> str:
    """A mean and half the width of its 95 % interval."""
    return f"{part['mean']:.3f} ± {part['interval']:.3f}"


def _largest_words(gaps: Facts, largest: str) -> str:
    """The largest part, and those whose intervals reach its own."""
    lowest = gaps[largest]["mean"] - gaps[largest]["interval"]
    near = [name for name, part in gaps.items() if part["mean"] + part["interval"] >= lowest]
    return " or ".join([largest, *(name for name in near if name != largest)])
