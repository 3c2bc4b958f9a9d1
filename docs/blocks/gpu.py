"""Times of outer steps on a GPU, and the checks of the fast code."""

import statistics
from collections.abc import Sequence

from blocks.results import Results
from blocks.words import table
from tam.report.collect import BENCHMARK_TITLES, Facts


def steps(results: Results) -> str:
    """Table of the time, work and memory of outer steps."""
    facts = results.gpu
    rows = []
    for step in sorted(facts["steps"], key=_place):
        share = f"{step['tflops'] / facts['peak_tflops']:.0%}".replace("%", " %")
        row = [_words(step), f"{step['ms']:.2f}", _must(step), f"{step['tflops']:.0f}", share]
        rows.append([*row, f"{step['gib']:.1f}"])
    head = ["outer step", "ms", "must be", "TFLOP/s", "of the peak", "GiB"]
    where = (
        f"{facts['device']}, torch {facts['torch']}, bfloat16, 16 tasks × 300 examples unless stated. "
        f"The peak is measured on one large matrix product: {facts['peak_tflops']:.0f} TFLOP/s."
    )
    return f"{table(head, rows)}\n\n{where}"


def _place(step: Facts) -> tuple[bool, int, str, str]:
    benchmark = list(BENCHMARK_TITLES).index(step["benchmark"])
    return step["preset"] == "best", benchmark, step["kernels"], step["theta_update"]


def _words(step: Facts) -> str:
    """Describe an outer step."""
    best = f", preset best: {step['tasks']} × {step['rows']}" if step["preset"] == "best" else ""
    plain = "" if step["kernels"] == "ours" else ", plain code"
    title = BENCHMARK_TITLES[step["benchmark"]]
    return f"{title}{best}, T = {step['inner_steps']}, θ {step['theta_update']}{plain}"


def _must(step: Facts) -> str:
    """The required time or rate, with a note if it is not met."""
    if step["must_tflops"]:
        missed = step["tflops"] < step["must_tflops"]
        return f"{step['must_tflops']:.0f} TFLOP/s{', **not met**' if missed else ''}"
    if step["must_ms"]:
        return f"{step['must_ms']:.0f}{', **not met**' if step['ms'] > step['must_ms'] else ''}"
    return ""


def start(results: Results) -> str:
    """Table of the time from process start to the end of the first outer step, by part."""
    found = results.gpu["start"]
    names = list(found["cold"]["parts"])
    rows = [[name, *(f"{one['parts'][name]:.1f}" for one in found.values())] for name in names]
    totals = [
        f"{one['seconds']:.1f}{', **not met**' if one['seconds'] > one['must'] else ''}"
        for one in found.values()
    ]
    rows.append(["from the start to the end of the first step", *totals])
    rows.append(["must be", *(f"{one['must']:.0f}" for one in found.values())])
    return table(["seconds", *found], rows)


def kernels(results: Results) -> str:
    """Table of the errors of kernels and plain code against float64."""
    rows = []
    for one in results.gpu["checks"]["kernels"]:
        before = f" after {one['before']}" if one["before"] else ""
        shape = f"{one['rows']} × {one['length']} places{before}{', causal' if one['causal'] else ''}"
        errors = ("output", "plain_output", "worst_gradient", "plain_worst_gradient")
        rows.append([shape, one["precision"], *(f"{one[name]:.1e}" for name in errors)])
    head = ["sequences", "precision", "output, kernels", "plain", "worst gradient, kernels", "plain"]
    return table(head, rows)


def checks(results: Results) -> str:
    """Whether captured and eager steps agree, and the losses after short trainings."""
    captured, training = (results.gpu["checks"][name] for name in ("captured", "training"))
    captured = sorted(captured, key=lambda row: row["precision"], reverse=True)
    must = captured[0]["must"]
    met = all(row["relative_difference"] <= must for row in captured)
    differences = _worst(captured, "relative_difference")
    ours, plain = (", ".join(f"{v:.3f}" for v in training["loss"][key]) for key in ("ours", "plain"))
    means = {key: statistics.mean(values) for key, values in training["loss"].items()}
    spread = {key: statistics.stdev(values) for key, values in training["loss"].items()}
    return (
        f"- **Captured against eager.** After {captured[0]['steps']} outer steps, the relative difference "
        f"in θ between recorded and eager steps is at most {differences}. "
        f"We require {must:.0e}, which is {'met' if met else '**not met**'}.\n"
        f"- **Short trainings.** After {training['steps']} outer steps on classification, the training loss "
        f"of {len(training['loss']['ours'])} seeds is {ours} with the kernels, and {plain} with plain code: "
        f"{means['ours']:.3f} and {means['plain']:.3f} on average, with standard deviations of "
        f"{spread['ours']:.3f} and {spread['plain']:.3f}."
    )


def _worst(rows: Sequence[Facts], name: str) -> str:
    """The largest value of this difference in each precision."""
    worst: dict[str, float] = {}
    for row in rows:
        worst[row["precision"]] = max(worst.get(row["precision"], 0.0), row[name])
    return " and ".join(
        f"{f'{value:.1e}' if value else 0} in {precision}" for precision, value in worst.items()
    )
