"""The ablations, sweeps and levers at the size of `quick`, beside the unchanged preset."""

import re

from tam.experiments.jobs import on_a_cpu
from tam.report.collect import LEVERS, Facts, Results

_SUFFIX = "-cpu-classification-0"
_ABLATIONS = {
    "tam-adapter": "z as the weights of adapters",
    "tam-norm": "z in the layer norms",
    "tam-lstm": "LSTM in place of the transformer",
    "multitask": "multitask training",
    "multitask-lstm": "multitask training, LSTM",
}
_COUNTED = {"T": "T = {} inner steps", "N": "N = {} examples of a task", "tasks": "{} training tasks"}


def quick_runs(results: Results) -> list[Facts]:
    """The runs of the unchanged preset, one per seed."""
    return results.runs_of("tam-quick-classification")


def changed_runs(results: Results) -> dict[str, Facts]:
    """The finished runs with one change, by the title of the change."""
    names = [job.name for job in on_a_cpu() if job.name.endswith(_SUFFIX)]
    return {_title(name.removesuffix(_SUFFIX)): results.runs[name] for name in names if name in results.runs}


def _title(model: str) -> str:
    if model in _ABLATIONS:
        return _ABLATIONS[model]
    if lever := re.fullmatch(r"tam-(with|without)-(\w+)", model):
        return f"{lever[1]} {LEVERS[lever[2]]}"
    counted = re.fullmatch(r"tam-([A-Za-z]+)(\d+)", model)
    assert counted is not None, model
    return _COUNTED[counted[1]].format(counted[2])
