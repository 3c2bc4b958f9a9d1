"""What the tables say of runs: their settings, steps and times, and their scores."""

from collections.abc import Sequence
from fractions import Fraction

from blocks.results import Facts, Results
from blocks.words import bare_score, duration, number
from tam.plain_json import infinite_if_none


def settings_words(run: Facts) -> str:
    """What a run of TAM was."""
    network, settings, training = (run["config"][part] for part in ("network", "settings", "training"))
    support = ", mixed supports" if settings["support"] == "mixed" else ""
    what = f"{network['layers']} layers × {network['width']}, θ {settings['theta_update']}{support}"
    return f"{what}, {number(training['steps'])} outer steps at rate {training['rate']:g}"


def time_words(run: Facts) -> str:
    """How long a run took, and where."""
    where = "CPU" if run["config"]["device"] == "cpu" else run["device"].removeprefix("NVIDIA ")
    return f"{duration(_seconds(run))}, {where}{_alone(run)}"


def _seconds(run: Facts) -> float:
    """How long a run took, of the GPU alone if that is known."""
    return run.get("gpu_seconds", run["seconds"])


def _alone(run: Facts) -> str:
    """Whether that is the time of a GPU alone, not by the clock."""
    return " alone" if "gpu_seconds" in run else ""


def time_cell(found: Sequence[Facts]) -> str:
    """How long some runs took."""
    if not found:
        return "–"
    ends = (min(found, key=_seconds), max(found, key=_seconds))
    low, high = (f"{duration(_seconds(run))}{_alone(run)}" for run in ends)
    return low if low == high else f"{low.removesuffix(' min')} to {high}"


def distinct(by_shots: dict[int, Facts]) -> list[Facts]:
    """The runs behind the scores at each k, each once."""
    return list({id(run): run for run in by_shots.values()}.values())


def steps_of(run: Facts) -> int:
    """The training steps of a run."""
    return run["config"]["training"]["steps"]


def best_part(run: Facts, k: int) -> str:
    """After which part of its steps a run had the weights that validated best at a k."""
    share = Fraction(run["best_steps"][str(k)], steps_of(run)).limit_denominator(16)
    return "all" if share == 1 else str(share)


def steps_words(found: Sequence[Facts]) -> str:
    """The training steps of some runs."""
    return "\u00a0· ".join(number(steps_of(run)) for run in found) or "–"


def scores_of(run: Facts, metric: str) -> dict[int, float]:
    """The scores of a run for each k; a perplexity that its file has as null is infinite."""
    return {one["k"]: infinite_if_none(one[metric]) for one in run["scores"]}


def widths_of(run: Facts, metric: str) -> dict[int, float]:
    """Half the widths of the 95 % intervals of a run's scores for each k, where they have some."""
    widths = {one["k"]: one[f"{metric}_interval"] for one in run["scores"]}
    return {k: width for k, width in widths.items() if width is not None}


def score_cells(
    results: Results, metric: str, by_shots: dict[int, Facts], paper: Sequence[str] | None = None
) -> list[str]:
    """The scores at each k, with the paper's, as it is to be shown, in brackets."""
    ours = [
        bare_score(metric, scores_of(by_shots[k], metric)[k]) if k in by_shots else "–" for k in results.shots
    ]
    if paper is None:
        return ours
    return [f"{one}\u00a0({printed})" for one, printed in zip(ours, paper, strict=True)]


def training_cells(found: Sequence[Facts]) -> list[str]:
    """Of the runs of a method their steps and their time."""
    if found and not any(steps_of(run) for run in found):
        return ["none", "none"]
    return [steps_words(found), time_cell(found)]
