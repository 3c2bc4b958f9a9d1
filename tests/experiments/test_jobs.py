"""The list of jobs."""

from collections import Counter
from typing import Any

from tam.config.config import Config
from tam.experiments.jobs import all_jobs

JOBS = {job.name: job for job in all_jobs()}


def test_names_are_unique_and_groups_in_order() -> None:
    assert len(JOBS) == len(all_jobs())
    counts = Counter(job.group for job in JOBS.values())
    assert list(counts) == ["reproduction", "best", "time", "levers", "table1", "table2", "quick"]
    groups = [job.group for job in JOBS.values()]
    assert groups == sorted(groups, key=list(counts).index)
    one_for_all = 9  # tam, agnostic, multitask, nearest, and maml and cavia of both orders; prototypical
    assert counts["table1"] == 3 * (one_for_all - 1 + 4) + 1 + 4
    assert counts["table2"] == 3 * 4 * 4 + 3 * 4 + 4


def test_every_lever_is_moved_away_from_best_for_its_seconds() -> None:
    for job in JOBS.values():
        assert (job.seconds_of is not None) == (job.group == "levers")
        if job.seconds_of is None:
            continue
        assert job.config("cuda") != JOBS[job.seconds_of].config("cuda")
        without = job.name.startswith("tam-without-")
        (setting, value), *_ = job.values.items()
        paper = Config.from_preset("paper", "tam", job.options["name"])
        assert without == (value == _setting(paper, setting))


def _setting(config: Config, name: str) -> Any:
    return (vars(config.network) | vars(config.settings) | vars(config.training))[name]


def test_budgets() -> None:
    assert JOBS["snail-table1-pathfinding-k5-0"].seconds == 60
    assert JOBS["snail-table2-pathfinding-k5-h0"].seconds == 30
    assert JOBS["nearest-table1-pathfinding-0"].seconds is None
    assert JOBS["cavia-first-table1-transduction-0"].values == {"order": "first"}
    assert JOBS["tam-untold-table2-transduction-h3"].options["holdout"] == 3


def test_every_job_has_settings() -> None:
    for job in JOBS.values():
        config = job.config("cuda")
        assert config.seed == job.seed
        assert config.device == ("cpu" if job.group == "quick" else "cuda")
