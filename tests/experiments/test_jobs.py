"""The list of jobs."""

from collections import Counter
from typing import Any

import pytest

from tam.config.config import Config
from tam.experiments.job import Job
from tam.experiments.jobs import all_jobs

JOBS = all_jobs()


def by_name(name: str) -> Job:
    (found,) = (job for job in JOBS if job.name == name)
    return found


def test_names_are_unique_and_groups_in_order() -> None:
    assert max(Counter(job.name for job in JOBS).values()) == 1
    groups = [job.group for job in JOBS]
    assert list(dict.fromkeys(groups)) == [
        *("reproduction", "best", "time", "levers", "table1", "table2", "quick")
    ]
    assert groups == sorted(groups, key=list(dict.fromkeys(groups)).index)


def test_counts() -> None:
    counts = Counter(job.group for job in JOBS)
    assert counts["reproduction"] == counts["time"] == 3
    assert counts["best"] == 3 * 4
    assert counts["levers"] >= 5 + 6 + 6
    one_for_all = 9  # tam, agnostic, multitask, nearest, and maml and cavia of both orders; prototypical
    assert counts["table1"] == 3 * (one_for_all - 1 + 4) + 1 + 4
    assert counts["table2"] == 3 * 4 * 4 + 3 * 4 + 4
    assert counts["quick"] == 1


def test_every_lever_is_moved_away_from_best() -> None:
    for job in (job for job in JOBS if job.group == "levers"):
        best = by_name(f"tam-best-{job.options['name']}-0").config("cuda")
        assert job.config("cuda") != best
        without = job.name.startswith("tam-without-")
        (setting, value), *_ = job.values.items()
        paper = Config.from_preset("paper", "tam", job.options["name"])
        assert without == (value == _setting(paper, setting))


def _setting(config: Config, name: str) -> Any:
    return (vars(config.network) | vars(config.settings) | vars(config.training))[name]


def test_every_lever_has_the_seconds_of_best() -> None:
    names = {job.name for job in JOBS}
    for job in JOBS:
        assert (job.seconds_of is not None) == (job.group == "levers")
        assert job.seconds_of is None or job.seconds_of in names


def test_budgets() -> None:
    assert by_name("snail-table1-pathfinding-k5-0").seconds == 60
    assert by_name("snail-table2-pathfinding-k5-h0").seconds == 30
    assert by_name("nearest-table1-pathfinding-0").seconds is None
    assert by_name("cavia-first-table1-transduction-0").values == {"order": "first"}
    assert by_name("tam-untold-table2-transduction-h3").options["holdout"] == 3


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_every_job_has_settings(job: Job) -> None:
    config = job.config("cuda")
    assert config.seed == job.seed
    assert config.device == ("cpu" if job.group == "quick" else "cuda")
