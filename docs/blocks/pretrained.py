"""The models that come with the package: their scores, and what fewer searches cost."""

from blocks.results import Results
from blocks.table import table
from tam.pretrained import folder_of, names
from tam.pretrained.card import read_card, with_interval
from tam.report.words import number
from tam.tasks.task import metric_of

_ANSWERS = {"classification": "right labels", "pathfinding": "right paths", "transduction": "right sequences"}


def scores(_: Results) -> str:
    """The scores of each model, as in its card."""
    rows: list[list[str]] = []
    for name in names():
        card = read_card(folder_of(name))
        packed = card["scores"]["packed"]
        shown = (f"{with_interval(card, one)} ({one['tasks']})" for one in packed)
        rows.append([f"`{name}`", metric_of(card["kind"]), *shown, f"{card['bytes'] / 1e6:.1f} MB"])
    shots = [f"k = {one['k']}" for one in read_card(folder_of(names()[0]))["scores"]["packed"]]
    return table(["model", "", *shots, "size"], rows, left=(0, 1))


def searches(results: Results) -> str:
    """How many answers are right, and how long learning takes, with fewer searches."""
    facts = results.searches
    counts = list(facts["models"]["transduction"]["right"])
    rows = [
        [
            f"`{name}`, {one['examples']} examples",
            _ANSWERS[name],
            *(f"{100 * one['right'][count]:.0f} %, {one['seconds'][count]:.1f} s" for count in counts),
        ]
        for name, one in facts["models"].items()
    ]
    tasks = facts["models"]["transduction"]["tasks"]
    return (
        f"{table(['model', '', *(f'{count} searches' for count in counts)], rows, left=(0, 1))}\n\n"
        f"{number(tasks)} test tasks, {facts['asked']} inputs of each; seconds of computing on one core of "
        f"{facts['cpu']}. `python benchmarks/searches.py` measures it."
    )
