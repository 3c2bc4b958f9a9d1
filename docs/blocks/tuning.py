"""What was tried on validation tasks, what was chosen, and the steps that it was given."""

from collections.abc import Iterator

from blocks.results import BENCHMARKS, Facts, Results
from blocks.runs import best_part, distinct, steps_of, steps_words
from blocks.table import table
from blocks.words import k_heads, number, score, span
from tam.report.curve import TITLES as METHODS


def tuning(results: Results) -> str:
    """What was tried of every method on every benchmark, and what was chosen."""
    order = list(METHODS)
    rows = []
    for name, title in BENCHMARKS.items():
        of_name = [facts for facts in results.tuning.values() if facts["benchmark"] == name]
        rows += [
            [title, METHODS[facts["method"]], *_candidate_cells(facts, results.metric(name))]
            for facts in sorted(of_name, key=lambda one: order.index(one["method"]))
        ]
    seconds, devices = (
        " and ".join(sorted({words(facts) for facts in _trained(results)}))
        for words in (_budget_words, lambda facts: facts["device"])
    )
    head = ["", "", "validation score of each candidate", "steps of each", "settings of the chosen one"]
    return f"{table(head, rows, left=(0, 1, 4))}\n\n{seconds} for each candidate that is trained; {devices}."


def _trained(results: Results) -> list[Facts]:
    """The tunings of methods that are trained."""
    return [
        facts
        for facts in results.tuning.values()
        if any(one.get("steps") != 0 for one in facts["candidates"])
    ]


def _candidate_cells(facts: Facts, metric: str) -> list[str]:
    """The scores and the steps of the candidates, and the settings of the chosen one."""
    candidates, chosen = facts["candidates"], facts["chosen"]
    scores = ["no number" if one.get("score") is None else score(metric, one["score"]) for one in candidates]
    place = candidates.index(chosen)
    scores[place] = f"**{scores[place]}**"
    steps = [number(one["steps"]) if "steps" in one else "–" for one in candidates]
    values = [f"`{name}` {_value_words(value)}" for name, value in chosen["values"].items()]
    return [" · ".join(scores), " · ".join(steps), ", ".join(values)]


def _value_words(value: object) -> str:
    """The value of a setting."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _budget_words(facts: Facts) -> str:
    """How long each candidate trained, and how that was counted."""
    return f"{facts['seconds_each']:g} seconds ({facts['counted']})"


def best_weights(results: Results) -> str:
    """After which part of its steps each tuned run had the weights that did best on the validation tasks."""
    rows = []
    for method, called in METHODS.items():
        for name, title in BENCHMARKS.items():
            by_shots = results.by_shots(method, "tuned", name)
            trained = {k: run for k, run in by_shots.items() if steps_of(run)}
            if trained:
                parts = [best_part(trained[k], k) if k in trained else "–" for k in results.shots]
                rows.append([f"{called}, {title.lower()}", steps_words(distinct(trained)), *parts])
    return table(["", "training steps", *k_heads(results.shots)], rows)


def budgets(results: Results) -> str:
    """The seconds of each kind of run and the steps that came of them, and how well steps are timed."""
    groups: dict[tuple[str, str], list[int]] = {}
    older: dict[tuple[str, str], list[int]] = {}
    for file, run in results.runs.items():
        kind = f"`{file.split('-')[1]}`"
        if run.get("gpu_seconds"):
            groups.setdefault((kind, f"{run['gpu_seconds']:.0f}"), []).append(steps_of(run))
        elif "gpu_seconds_asked" in run:
            asked = f"{run['gpu_seconds_asked']:g}, older"
            older.setdefault((kind, asked), []).append(steps_of(run))
    rows = [
        [kind, str(len(steps)), seconds, span(steps)]
        for found in (groups, older)
        for (kind, seconds), steps in sorted(found.items())
    ]
    rows.insert(len(groups), ["each candidate of tuning", *_candidates(results)])
    shown = table(["runs", "how many", "seconds", "training steps"], rows)
    ratios = list(_timed_again(results))
    return (
        f"{shown}\n\nThe time of a step was measured again for each tuned run, by another process. At the k "
        f"of tuning it was {min(ratios):.2f} to {max(ratios):.2f} times the time that tuning measured."
    )


def _candidates(results: Results) -> list[str]:
    """How many candidates there were, the seconds that each had, and the steps that came of them."""
    found = [one for facts in _trained(results) for one in facts["candidates"] if "steps" in one]
    seconds = sorted({facts["seconds_each"] for facts in _trained(results)})
    asked = " and ".join(f"{one:g}" for one in seconds)
    return [str(len(found)), asked, span([one["steps"] for one in found])]


def _timed_again(results: Results) -> Iterator[float]:
    """The time of a step of each tuned run over that of the candidate with the same settings."""
    for facts in _trained(results):
        chosen = facts["chosen"]
        by_shots = results.by_shots(facts["method"], "tuned", facts["benchmark"])
        run = by_shots[facts["shots"] or min(by_shots)]
        yield run["gpu_seconds"] / steps_of(run) / (chosen["seconds"] / chosen["steps"])


def choices(results: Results) -> str:
    """The trials that chose the scale of the position embedding at z's place."""
    facts = results.choices
    if facts is None:
        return "These trials are not finished: `results/choices.json` is not there yet."
    variants: dict[str, Facts] = facts["variants"]
    shots = sorted({int(k) for one in variants.values() for k in one["accuracy"]})
    rows = []
    for name, one in variants.items():
        scores = (score("accuracy", one["accuracy"][str(k)]) for k in shots)
        rows.append([name, f"{one['place']:g}", number(one["steps"]), f"{one['loss']:.3f}", *scores])
    head = ["variant", "place", "outer steps", "training loss", *(f"accuracy, k = {k}" for k in shots)]
    return table(head, rows)
