"""The models that come with the package."""

from blocks.results import Results
from blocks.words import table
from tam.pretrained import folder_of, names
from tam.pretrained.card import read_card, with_interval
from tam.tasks.task import metric_of


def scores(_: Results) -> str:
    """Table of the scores of each model, as in its card."""
    rows: list[list[str]] = []
    for name in names():
        card = read_card(folder_of(name))
        packed = card["scores"]["packed"]
        shown = (f"{with_interval(card, one)} ({one['tasks']})" for one in packed)
        rows.append([f"`{name}`", metric_of(card["kind"]), *shown, f"{card['bytes'] / 1e6:.1f} MB"])
    shots = [f"k = {one['k']}" for one in read_card(folder_of(names()[0]))["scores"]["packed"]]
    return table(["model", "", *shots, "size"], rows, left=(0, 1))
