"""Cost of steps on a CPU: compared with other libraries, against each size, and in memory."""

from collections.abc import Sequence

from blocks.results import Results
from blocks.words import table
from drawings.charts import SIZES
from tam.report.collect import Facts
from tam.report.curve import TITLES as METHODS
from tam.report.words import number


def peers_setting(results: Results) -> str:
    """The work of the contenders, the machine, and the versions of the libraries."""
    facts = results.peers
    sizes = facts["sizes"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{sizes['layers']} layers × {sizes['width']}, {sizes['tasks']} tasks × {sizes['rows']} examples × "
        f"{sizes['tokens']} tokens, {sizes['inner_steps']} inner steps; adaptation of "
        f"{sizes['new_tasks']} tasks. {_rounds_words(facts)}; {versions}."
    )


def peers(results: Results) -> str:
    """Table of the time of each contender, and how much faster tam is."""
    compared: dict[str, list[Facts]] = {}
    for one in results.peers["ratios"]:
        compared.setdefault(one["other"], []).append(one)
    rows = []
    group = ""
    for contender in results.peers["contenders"]:
        found = compared.get(contender["name"], [])
        first = contender["group"].capitalize() if contender["group"] != group else ""
        group = contender["group"]
        ours = contender["name"].startswith("tam:")
        name = f"**{contender['name']}**" if ours else contender["name"]
        must = "; ".join(map(_must_words, found))
        rows.append([first, name, f"{contender['ms']:.0f}", _ratio_words(found), must])
    return table(["", "", "ms", "tam is faster by", "must be"], rows, left=(0, 1))


def _ratio_words(found: Sequence[Facts]) -> str:
    """How much faster tam is; with the name of tam's method if there are several."""
    names = [f" ({one['ours'].removeprefix('tam: ')})" if len(found) > 1 else "" for one in found]
    return "; ".join(f"{one['ratio']:.1f}×{name}" for one, name in zip(found, names, strict=True))


def _must_words(one: Facts) -> str:
    """How much faster tam must be, with a note if it is not."""
    aim = f", aim {one['aim']:g}×" if one["aim"] else ""
    missed = ", missed" if one["ratio"] < one["must"] else ""
    return f"{one['must']:g}×{aim}{missed}"


def scaling(results: Results) -> str:
    """Table of the exponents of cost in each size."""
    rows = [
        [
            SIZES[sweep["quantity"]],
            f"{sweep['values'][0]} to {sweep['values'][-1]}",
            *(f"{sweep[f'{cost}_exponent']:.2f}" for cost in ("training", "adaptation")),
        ]
        for sweep in results.scaling["sweeps"]
    ]
    head = ["cost against", "", "exponent, training step", "exponent, adaptation"]
    return f"{table(head, rows)}\n\n{_rounds_words(results.scaling)}."


def _rounds_words(facts: Facts) -> str:
    """How and where times were measured."""
    threads = f"{facts['threads']} thread{'s' if facts['threads'] > 1 else ''}"
    machine = f"{threads} of {facts['cpu']} ({facts['cores']} cores, load {facts['load']:g} at the end)"
    return f"Medians of {facts['rounds']} rounds on {machine}"


def kept_memory(results: Results) -> str:
    """The memory that TAM and CAVIA keep for their backward passes."""
    facts = results.scaling["memory"]
    few, many = facts["inner_steps"][0], facts["inner_steps"][-1]
    return " ".join(
        f"{METHODS[method]} keeps {mib[0]:.1f} MiB with {few} inner step{'s' if few > 1 else ''} and "
        f"{mib[-1]:.1f} MiB with {many}."
        for method, mib in facts["mib"].items()
    )


def step_memory(results: Results, method: str) -> str:
    """Table of the memory of an outer step of a second-order method."""
    facts = results.memory
    cases = [case for case in facts["measured"] if case["method"] == method]
    tasks = f"{facts['tasks']} tasks of {facts['support']} + {facts['query']} rows"
    rows = [[case["order"], str(case["inner_steps"]), number(case["mib"])] for case in cases]
    return table(["order", "inner steps", tasks], rows)
