"""Score a trained model on every split of test tasks, beside the floors, as plain values."""

from collections.abc import Mapping, Sequence
from typing import Any

from tam.config.sections import Protocol
from tam.evaluation.comparison import difference
from tam.evaluation.floors import floors
from tam.evaluation.protocol import KShotScore, score
from tam.io import finite
from tam.methods import make_method
from tam.models.token_ids import TokenIds
from tam.tasks.task import Task
from tam.training.saved import Saved


def score_splits(
    saved: Saved, protocol: Protocol, splits: Mapping[str, Sequence[Task]]
) -> dict[str, list[KShotScore]]:
    """The scores of each split at each k, with the weights and the choice of the run's nearest k."""
    method = make_method(saved.config)
    ids = TokenIds(saved.model.spec, saved.vocabulary)
    everything = ids.tasks(task for tasks in splits.values() for task in tasks)
    scores: dict[str, list[KShotScore]] = {split: [] for split in splits}
    for k in protocol.shots:
        model, choice = saved.at(k)
        scored = score(method, model, everything, k, choice, protocol, saved.primitives)
        members = iter(scored.tasks)
        for split, tasks in splits.items():
            scores[split].append(scored._replace(tasks=tuple(next(members) for _ in tasks)))
    return scores


def scores_and_floors(
    saved: Saved, protocol: Protocol, splits: Mapping[str, Sequence[Task]]
) -> dict[str, Any]:
    """The part of a result that is about test tasks.

    `scores` are over all of them, `splits` over each test split if there are several. Per split, `floors` has
    the scores of every floor, and `gains` the accuracy above the best floor's at each k.
    """
    by_split = score_splits(saved, protocol, splits)
    of_floors = {split: floors(tasks, protocol) for split, tasks in splits.items()}
    everything = [
        parts[0]._replace(tasks=tuple(task for part in parts for task in part.tasks))
        for parts in zip(*by_split.values(), strict=True)
    ]
    values = {
        "scores": score_rows(everything),
        "floors": {
            split: {name: score_rows(scores) for name, scores in of_split.items()}
            for split, of_split in of_floors.items()
        },
        "gains": {split: _gains(by_split[split], of_floors[split]) for split in splits},
    }
    if len(splits) > 1:
        values["splits"] = {split: score_rows(scores) for split, scores in by_split.items()}
    return values


def _gains(scores: Sequence[KShotScore], known: Mapping[str, Sequence[KShotScore]]) -> list[dict[str, Any]]:
    """For each k, the accuracy above the best floor's, with its 95 % interval over tasks."""
    gains: list[dict[str, Any]] = []
    for place, one in enumerate(scores):
        best = max(known, key=lambda name: known[name][place].accuracy)
        gain = difference([one], [known[best][place]])
        gains.append({"k": one.k, "floor": best, "difference": gain.mean, "interval": finite(gain.interval)})
    return gains


def score_rows(scores: Sequence[KShotScore]) -> list[dict[str, Any]]:
    """Scores as plain values: None for an infinite perplexity, and for the interval of a single task."""
    return [
        {
            "k": one.k,
            "accuracy": one.accuracy,
            "accuracy_interval": finite(one.interval("accuracy")),
            "perplexity": finite(one.perplexity),
            "perplexity_interval": finite(one.interval("perplexity")),
            "steps": one.choice.steps,
            "rate": one.choice.rate,
            "tasks": len(one.tasks),
        }
        for one in scores
    ]
