"""What was tried on validation tasks, what was chosen, and the steps that it was given."""

import json
import statistics
from collections.abc import Iterator

from blocks.results import BENCHMARKS, Facts, Results
from blocks.runs import distinct, scores_of, steps_of
from blocks.table import table
from blocks.words import number, score, span
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
    return f"{facts['seconds_each']} seconds ({facts['counted']})"


def longer(results: Results) -> str:
    """Chosen candidates on validation tasks beside the longer runs with their settings on test tasks."""
    rows = []
    for method in ("agnostic", "multitask", "tam"):
        for name, title in BENCHMARKS.items():
            chosen = results.tuning[f"{method}-{name}"]["chosen"]
            (run,) = distinct(results.by_shots(method, "tuned", name))
            metric = results.metric(name)
            scores = scores_of(run, metric)
            mean = statistics.mean(scores[int(k)] for k in chosen["scores"])
            candidate = [number(chosen["steps"]), score(metric, chosen["score"])]
            tuned = [number(steps_of(run)), score(metric, mean)]
            rows.append([f"{METHODS[method]}, {title.lower()}", metric, *candidate, *tuned])
    head = ["", "", "steps of the candidate", "validation tasks", "steps of the tuned run", "test tasks"]
    return table(head, rows, left=(0, 1))


def budgets(results: Results) -> str:
    """The seconds that each kind of run was to have, the steps that came of them, and how wrong they are."""
    groups: dict[tuple[str, float], list[int]] = {}
    for file, run in results.runs.items():
        if "gpu_seconds_asked" in run:
            groups.setdefault((file.split("-")[1], run["gpu_seconds_asked"]), []).append(steps_of(run))
    rows = [
        [f"`{kind}`", str(len(steps)), f"{asked:g}", span(steps)]
        for (kind, asked), steps in sorted(groups.items(), key=lambda one: (-one[0][1], one[0][0]))
    ]
    rows.append(["each candidate of tuning", *_candidates(results)])
    shown = table(["runs", "how many", "seconds asked for", "training steps"], rows)
    return (
        f"{shown}\n\nCandidates of one method on one benchmark that differ in nothing but the rate have "
        f"steps of the same cost. Their times were counted as different by factors of up to "
        f"{max(_same_step_ratios(results)):.1f}."
    )


def _candidates(results: Results) -> list[str]:
    """How many candidates there were, the seconds that each was to have, and the steps that came of them."""
    found = [one for facts in _trained(results) for one in facts["candidates"] if "steps" in one]
    seconds = sorted({facts["seconds_each"] for facts in _trained(results)})
    asked = " and ".join(f"{one:g}" for one in seconds)
    return [str(len(found)), asked, span([one["steps"] for one in found])]


def _same_step_ratios(results: Results) -> Iterator[float]:
    """By what factor the times counted for equal steps differ."""
    for facts in results.tuning.values():
        times: dict[str, list[float]] = {}
        for one in facts["candidates"]:
            if "ms" in one:
                rest = {name: value for name, value in one["values"].items() if name != "rate"}
                times.setdefault(json.dumps(rest, sort_keys=True), []).append(one["ms"])
        yield from (max(found) / min(found) for found in times.values())


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
