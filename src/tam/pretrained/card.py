"""What is in the folder of a packed model beside its weights.

`card.json` has the facts about it, `README.md` is made from them, and `tasks.jsonl` has a few test tasks.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tam.errors import UserError
from tam.io import MALFORMED, exists, infinite_if_none, json_text, read_json
from tam.pretrained import names
from tam.tasks.task import metric_of

FILE = "card.json"

_PARTS = ("name", "kind", "tasks", "method", "parameters", "bytes", "scores", "vocabulary", "run")

_ABOUT = {
    "classification": "It labels sequences of 5 integers from 0 to 11; a task has up to 4 labels.",
    "transduction": "It rewrites sequences of 5 integers from 0 to 11 as others.",
    "pathfinding": (
        "It finds shortest paths on a 10×10 grid, around 8 obstacles of 2×2 cells, between a start and an "
        "end that only the examples tell. Cells are numbered row by row from 0, and in answers from 100."
    ),
}


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card of a packed model."""
    values = read_json(folder / FILE)
    if missing := [part for part in _PARTS if part not in values]:
        raise UserError(f"{folder / FILE}: not a model card: {missing[0]!r} is missing")
    return values


class ShownTask(NamedTuple):
    """A test task, which training never saw."""

    name: str
    examples: list[tuple[list[Any], Any]]


class Packed(NamedTuple):
    """The benchmark and test tasks of a packed model; empty for any other folder."""

    benchmark: str | None = None
    tasks: tuple[ShownTask, ...] = ()


def read_packed(folder: Path) -> Packed:
    """Read the files that `tam pack` wrote beside the weights, if there are any."""
    benchmark = read_card(folder)["tasks"].get("name") if exists(folder / FILE) else None
    if not exists(file := folder / "tasks.jsonl"):
        return Packed(benchmark)
    lines = filter(None, file.read_text(encoding="utf-8").split("\n"))
    try:
        tasks = tuple(
            ShownTask(one["task"], [(each["x"], each["y"]) for each in one["examples"]])
            for one in map(json.loads, lines)
        )
    except MALFORMED as error:
        raise UserError(f"{file}: not the tasks of a packed model ({error!r})") from None
    return Packed(benchmark, tasks)


def headline(card: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """A score in the metric of its kind of task: accuracy for classes, perplexity for sequences."""
    if card["kind"] == "classification":
        return f"{100 * score['accuracy']:.1f} %"
    return f"{infinite_if_none(score['perplexity']):.2f}"


def with_interval(card: Mapping[str, Any], score: Mapping[str, Any]) -> str:
    """A score with its 95 % interval, if it has one."""
    metric = metric_of(card["kind"])
    if (interval := score[f"{metric}_interval"]) is None:
        return headline(card, score)
    shown = f"{100 * interval:.1f}" if metric == "accuracy" else f"{interval:.2f}"
    return f"{headline(card, score)} ± {shown}"


_README = """---
{license}library_name: tam
tags: [few-shot, meta-learning, task-embedding, sequence]
metrics: [{metric}]
---

# {card[name]}

{about}

```python
import tam

{where}learner = tam.load({loaded})
rule = learner.adapt(examples)          # pairs of an input and its answer
answers = learner.predict(rule, inputs)
```

## Scores: {metric} on test tasks, from k examples{per}

{scores}

With the 95 % interval over tasks. This model, scored on a CPU ({scored[device]}): {scored[supports]} \
support{plural} of each of the first test tasks. The run it comes from, {run[supports]} supports of each: \
there each k has the weights that validated best at it, in float32.

## How it was made

{made}

`tam pack RUN --out FOLDER` packed it: of the run's sets of weights the one that serves the most k \
(outer step {card[step]:,}), with the steps and rate that validated best for it at every k.

## Limits

It knows tasks like those {known}: other rules on the same inputs may be learned badly or not at all. \
{limits}
"""
_WHERE = "# this folder's path; on the Hugging Face hub, hf://OWNER/NAME\n"


def readme(card: Mapping[str, Any]) -> str:
    """Render the card as Markdown, headed by the fields that the Hugging Face hub reads."""
    from tam.methods import METHODS

    name, run, scored, tasks = card["name"], card["run"], card["scored"], card["tasks"]
    scores = card["scores"]
    metric, ours = metric_of(card["kind"]), name in names()
    benchmark, file = tasks.get("name"), Path(tasks.get("path", "")).name
    fits = f": it fits a vector of {card['task_size']} numbers and stays as it is"
    about = (
        f"A network with {card['parameters']:,} weights that learns a new task like those of "
        f"`{benchmark or file}` from a few examples{fits if METHODS[card['method']].fits_vector else ''}. "
        f"{_ABOUT.get(benchmark, '')}"
    )
    shots = [f"k = {score['k']}" for score in scores["packed"]]
    rows = [
        ["this model", *(with_interval(card, score) for score in scores["packed"])],
        ["test tasks", *(score["tasks"] for score in scores["packed"])],
        ["the run", *(with_interval(card, score) for score in scores["run"])],
        ["test tasks", *(score["tasks"] for score in scores["run"])],
    ]
    trained_on = f"{tasks['train']}, of seed {tasks['seed']}" if "train" in tasks else f"of `{file}`"
    made = [
        ["method", f"`{card['method']}`, {card['step']:,} outer steps, seed {run['seed']}"],
        ["training tasks", trained_on],
        ["device", f"{run['device']}, {run['seconds']:.0f} s with validation"],
        ["code", f"commit `{run['commit']}`, tam {run['tam']}, torch {run['torch']}"],
        ["finished", run["finished"]],
        ["size", f"{card['bytes'] / 1e6:.2f} MB"],
    ]
    return _README.format(
        card=card,
        license="license: mit\n" if ours else "",
        where="" if ours else _WHERE,
        loaded=json_text(name),
        known="of its benchmark" if benchmark else "it was trained on",
        limits=_limits(card),
        run=run,
        scored=scored,
        metric=metric,
        about=about.strip(),
        per=" per class" if metric == "accuracy" else "",
        plural="s" if scored["supports"] > 1 else "",
        scores=_table(["", *shots], rows),
        made=_table(["", ""], made),
    )


def _limits(card: Mapping[str, Any]) -> str:
    """Which inputs the model takes, and which examples come with it."""
    if "inputs" not in card:  # the models that come with the package
        return "Longer inputs and other tokens are refused, shorter ones were never seen in training."
    usual, longest = card["inputs"]["usual"], card["inputs"]["longest"]
    more = f"it also takes longer ones, up to {longest:,}" if longest > usual else "longer ones are refused"
    others = "are read as unknown" if card["inputs"]["unknown"] else "are refused"
    return (
        f"The inputs of its tasks have up to {usual} tokens; {more}. Tokens it does not know {others}.\n\n"
        f"`tasks.jsonl` has examples of {card['shown']} test tasks, for `tam demo` and `tam serve`: delete "
        "it if they must not be shared. `tam push` does not upload it."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
