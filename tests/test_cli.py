"""The command `tam`: in this process where its words matter, as a real command where the process does."""

import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tam
from tam.__main__ import main as main_of_module
from tam.cli import main
from tam.commands.tasks import Tasks
from tam.errors import InterruptedRunError, UserError
from tam.methods import METHODS

COMMAND = str(Path(sys.executable).with_name("tam"))
MODULE = [sys.executable, "-m", "tam", "run", "config.json", "--out", "run"]
SMALL = ["--train", "5", "--valid", "2", "--test", "3", "--examples", "8"]
SETS = {
    "classification": ["classification", "--n", "3", *SMALL],
    "transduction": ["transduction", *SMALL],
    "pathfinding": ["pathfinding", *SMALL],
    "compositional": ["pathfinding", "--compositional", "--holdout", "0", *SMALL],
}

OPTIONS = {
    "tam": "",
    "tam tasks": """
        show task stats ceiling out
        compositional holdout seed n train valid test examples""",
    "tam train": """
        out method preset resume seed device tasks-seed compositional holdout
        backbone conditioning layers width heads bottleneck use-primitives
        inner-steps inner-rate patience theta-update support small-share small-after small-sizes
        steps tasks rows rate warmup clip validate-every checkpoint-every precision
        shots supports queries adapt-steps adapt-rates support-seed""",
    "tam eval": "shots supports device",
    "tam adapt": "out primitives",
    "tam predict": "beams",
}
METHOD_OPTIONS = {
    "agnostic": "",
    "multitask": "finetune unknown-share",
    "maml": "inner-steps inner-rate order support-sizes",
    "cavia": "inner-steps inner-rate order support-sizes",
    "matching": "episode-queries",
    "snail": "episode-queries",
    "prototypical": "most-shots",
    "nearest": "smoothing",
}
"""Everything that can be typed, the last with another method than TAM. Whoever adds or removes an option
changes this and the documentation."""


def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, check=False, env=os.environ | environment
    )


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run the command here; its output, or the message with which it ends."""

    def run_here(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tam", *arguments])
        try:
            main()
        except SystemExit as end:
            if end.code:
                assert capsys.readouterr().out == ""
                return str(end.code)
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run_here


# What there is


def test_the_options_are_frozen(call: Any) -> None:
    for command, names in OPTIONS.items():
        text = call(*command.split()[1:], "--help")
        assert text.startswith(f"usage: {command} ")
        assert set(re.findall(r"^\W+(?:-h, )?--([a-z]\S*)", text, re.MULTILINE)) == {"help", *names.split()}
    commands = re.findall(r"• (\S+)", call("--help"))
    assert ["tam", *(f"tam {name}" for name in commands)] == list(OPTIONS)


@pytest.mark.parametrize("method", METHOD_OPTIONS)
def test_the_options_of_a_method_are_those_of_its_settings(method: str, call: Any) -> None:
    text = call("train", "classification", "--method", method, "--help")
    settings = text.partition("settings options")[2].partition("training options")[0]
    assert set(re.findall(r"^\W+--([a-z]\S*)", settings, re.MULTILINE)) == set(METHOD_OPTIONS[method].split())


def test_help_names_all_methods(call: Any) -> None:
    text = " ".join(word for word in call("train", "--help").split() if word != "│")
    *others, last = METHODS
    assert f"how a new task is learned: {', '.join(others)} or {last}." in text


def test_help_shows_no_empty_default(call: Any) -> None:
    for command in OPTIONS:
        assert "(default: )" not in call(*command.split()[1:], "--help")


def test_help_is_quick() -> None:
    """In seconds of the processor: how long it waits for one while other tests run is not its doing."""
    taken = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(taken) < 0.3


HEAVY = ("torch", "numpy", "matplotlib", "rich", "safetensors")


@pytest.mark.parametrize(
    "statement",
    [
        "import tam; tam.__version__; dir(tam); tam.UserError",
        "import sys, tam.cli; sys.argv = ['tam', '--help']; tam.cli.main()",
        "import sys, tam.cli; sys.argv = ['tam', 'tasks', '--help']; tam.cli.main()",
        "import sys, tam.cli; sys.argv = ['tam', 'train', '--help']; tam.cli.main()",
    ],
)
def test_heavy_packages_are_imported_late(statement: str) -> None:
    script = f"""
import sys
try:
    {statement}
except SystemExit:
    pass
sys.exit(str([name for name in {HEAVY!r} if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_a_benchmark_needs_neither_torch_nor_figures(call: Any) -> None:
    script = f"""
import sys, tam.cli
sys.argv = ["tam", "tasks", *{SETS["pathfinding"]!r}]
tam.cli.main()
sys.exit(str([name for name in ("torch", "matplotlib", "rich") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    assert done.stdout == call("tasks", *SETS["pathfinding"])


# Showing tasks


@pytest.mark.parametrize("case", SETS)
def test_show(case: str, call: Any) -> None:
    text = call("tasks", *SETS[case], "--show", "2")
    head, *tasks = text.rstrip("\n").split("\n\n")
    assert head.startswith(SETS[case][0])
    assert "5 train, 2 valid, 3 test tasks" in head
    assert len(tasks) == 2
    assert all("   (test, " in task.splitlines()[0] for task in tasks)
    assert "\x1b" not in text
    assert len(call("tasks", *SETS[case]).split("\n\n")) == 4


def test_the_real_command() -> None:
    done = run("tasks", *SETS["classification"], "--show", "1")
    assert (done.returncode, done.stderr) == (0, "")
    module = subprocess.run(
        [sys.executable, "-m", "tam", "tasks", *SETS["classification"], "--show", "1"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert module.stdout == done.stdout
    assert len(done.stdout.splitlines()) == 2 + 1 + 5


def test_some_tasks_only(call: Any) -> None:
    name = tam.benchmark("classification", n=3, train=5, valid=2, test=3, examples=8).train[4].name
    text = call("tasks", *SETS["classification"], "--task", name)
    assert text.split("\n\n")[1].startswith(f"{name}   (train, 8 examples)")
    first, _, last = name.split(" → ")
    assert name in call("tasks", *SETS["classification"], "--show", "99", "--task", f"{first} → * → {last}")


@pytest.mark.parametrize("case", SETS)
def test_stats(case: str, call: Any) -> None:
    text = call("tasks", *SETS[case], "--stats")
    assert text.count("slot ") == (2 if case == "pathfinding" else 3)
    assert text.endswith("uniqueness: 10 of 10 tasks differ from all others on some input\n")


def test_ceiling_of_classification(call: Any) -> None:
    head, *rows = call("tasks", *SETS["classification"], "--ceiling").splitlines()
    assert head.split("  ")[0] == "k per class"
    found = {int(k): float(share.rstrip("%")) for k, share in (row.split() for row in rows)}
    assert list(found) == [0, 1, 5, 10, 20]
    assert 25 <= found[0] < found[1] < found[20] <= 100


def test_ceiling_of_pathfinding(call: Any) -> None:
    head, *rows = call("tasks", "pathfinding", *SMALL, "--test", "1", "--ceiling").splitlines()
    assert head.split() == ["k", "perplexity"]
    assert [row.split()[1] for row in rows[1:]] == ["1.000"] * 4
    assert float(rows[0].split()[1]) > 1.5


@pytest.mark.parametrize("case", SETS)
def test_what_is_written_reads_back_the_same(case: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    text = call("tasks", *SETS[case], "--out", str(file))
    assert text.splitlines()[1] == f"written to {file}"
    fingerprint = text.splitlines()[0].split(" · ")[-1]
    tasks = tam.read_tasks(file)
    assert tasks.fingerprint.startswith(fingerprint)
    assert len(tasks) == 10
    shown = call("tasks", str(file))
    assert fingerprint in shown
    assert tasks.test[0].name in shown


def test_own_tasks_and_seed(call: Any, tmp_path: Path) -> None:
    line = '{{"task": "{}", "kind": "transduction", "examples": [{{"x": ["a"], "y": ["b", "b"]}}]}}\n'
    file = tmp_path / "own.jsonl"
    file.write_text("".join(line.format(number) for number in range(20)))
    shown = {call("tasks", str(file), "--seed", str(seed)) for seed in range(4)}
    assert len(shown) == 4
    assert call("tasks", str(file), "--seed", "0") in shown
    assert "  a  →  b b" in call("tasks", str(file))
    assert "repeated inputs inside a task: 0" in call("tasks", str(file), "--stats")


def test_a_folder_called_like_a_benchmark_does_not_hide_it(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pathfinding").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "5 train, 2 valid, 3 test tasks" in call("tasks", *SETS["pathfinding"])
    assert "a folder without tasks.jsonl" in call("tasks", "./pathfinding")


# Mistakes

ERRORS = {
    "unknown benchmark": ("clasification", "error: there is no benchmark 'clasification': it is one of"),
    "no such file": ("tasks.jsonl", "error: tasks.jsonl: there is no such file or folder"),
    "no such folder": ("no/such/folder", "error: no/such/folder: there is no such file or folder"),
    "a very long name": ("x" * 5000, "error: there is no benchmark 'xxx"),
    "without effect": ("transduction --n 3", "error: --n has no effect on transduction"),
    "holdout without effect": (
        "transduction --holdout 0",
        "error: --holdout has no effect unless compositional",
    ),
    "no tasks": ("transduction --train 0", "error: --train is an integer from 1 to 1000000, not 0"),
    "too few examples": (
        "transduction --examples 0",
        "error: --examples is an integer from 4 to 100000, not 0",
    ),
    "no n": ("classification --n 0", "error: --n is an integer from 1 to"),
    "negative seed": ("transduction --seed -1", "error: --seed is an integer from 0 to"),
    "no such hold-out": (
        "transduction --compositional --holdout 8",
        "error: --holdout is an integer from 0 to 7",
    ),
    "too many tasks": ("classification --n 5 --train 5000", "error: 5080 tasks were asked for"),
    "too many examples": (
        "classification --n 2 --train 5 --examples 100000",
        "error: 100000 examples were asked for",
    ),
    "nothing to show": ("pathfinding --show 0", "error: --show is at least 1, not 0"),
    "no match": ("pathfinding --train 5 --examples 8 --task nothing", "error: no task matches 'nothing'"),
    "two commands": ("pathfinding --stats --ceiling", "error: --stats and --ceiling are two commands"),
    "task and stats": ("pathfinding --stats --task x", "error: --task has no effect together with --stats"),
    "show and out": ("pathfinding --out x.jsonl --show 2", "error: --show has no effect together with --out"),
    "unwritable": (
        "pathfinding --train 5 --examples 8 --out no/such/folder/x.jsonl",
        "error: no/such/folder/x.jsonl: cannot be written",
    ),
    "option for a file": (
        "FILE --train 3",
        "error: --train has no effect on tasks that are read from a file",
    ),
    "holdout for a file": ("FILE --holdout 0", "error: --holdout has no effect on tasks that are read from"),
    "ceiling of a file": ("FILE --ceiling", "error: --ceiling needs to know the task distribution"),
    "bad file": ("FILE", "error: FILE:1: "),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("not JSON\n")
    given, message = (text.replace("FILE", str(file)) for text in ERRORS[case])
    found = call("tasks", *given.split())
    assert found.startswith(message)
    assert "\n" not in found


WRONG_SETTINGS = {
    "--steps -1": "--steps is at least 0, not -1",
    "--steps=-1": "--steps is at least 0, not -1",
    "--small-share 2 --support mixed": "--small-share is at most 1, not 2.0",
    "--small_share 2 --support mixed": "--small-share is at most 1, not 2.0",
    "--supports 1000000000": "--supports is at most 1000, not 1000000000",
    "--adapt-steps 5 1000000000": "--adapt-steps is at most 10000, not (5, 1000000000)",
    "--inner-steps 1000000000": "--inner-steps is at most 10000, not 1000000000",
    "--method maml --inner-steps 1000000000": "--inner-steps is at most 10000, not 1000000000",
    "--small-after 5": "--small-after has no effect unless support is 'mixed'",
    "--width 30": "--width is a multiple of heads; 30 is not one of 4",
    "--heads 3": "width is a multiple of heads; 64 is not one of 3",
    "--shots 0": "--shots has one value or more, all above 0, not (0,)",
    "--backbone lstm --conditioning norm": "--conditioning of the LSTM is 'token', not 'norm'",
    "--seed -1": "--seed is at least 0, not -1",
    "--tasks-seed -1": "--tasks-seed is at least 0, not -1",
    "--device gpu": "--device is cpu or cuda, not 'gpu'",
    "--method maml --support-sizes 9 3": "--support-sizes are at least 1, the smaller first, not (9, 3)",
    "--method prototypical --most-shots 0": "--most-shots is at least 1, not 0",
    "--method nearest --adapt-steps 3": "--adapt-steps and --adapt-rates have no effect on nearest",
}


@pytest.mark.parametrize("given", WRONG_SETTINGS)
def test_wrong_settings_are_named_as_they_are_typed(given: str, call: Any, tmp_path: Path) -> None:
    found = call("train", "classification", "--out", str(tmp_path / "run"), *given.split())
    assert found.startswith(f"error: {WRONG_SETTINGS[given]}")
    assert "\n" not in found
    assert not (tmp_path / "run").exists()


WRONG_VALUES = {
    "--small-sizes 1": "expected 2 integers, or None, not '1'",
    "--small-sizes 1 x": "expected 2 integers, or None, not '1 x'",
    "--method maml --support-sizes a b": "expected 2 integers, not 'a b'",
    "--method maml --support-sizes 1": "'--support-sizes'. Expected 2 values",
    "--shots a": "expected integers, not 'a'",
    "--adapt-rates 0.1 x": "expected numbers, not '0.1 x'",
    "--steps 1.5": "expected an integer, not '1.5'",
    "--seed 0x1": "expected an integer, not '0x1'",
    "--rate fast": "expected a number, not 'fast'",
    "--patience 1.5": "expected an integer, or None, not '1.5'",
    "--small-share x": "expected a number, or None, not 'x'",
    f"--seed {'9' * 5000}": f"expected an integer, not '{'9' * 20}",
}


@pytest.mark.parametrize("given", WRONG_VALUES)
def test_values_that_cannot_be_read_say_what_was_expected(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["tam", "train", "classification", "--out", str(tmp_path / "run"), *given.split()]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    shown = " ".join(word for word in capsys.readouterr().err.split() if word != "│")
    assert WRONG_VALUES[given] in shown
    option = next(word for word in reversed(given.split()) if word.startswith("--"))
    assert option in shown
    assert not re.search(r"\[/?bold\]|typing|<class|literal", shown)


EMPTY_PATHS = [
    (["train", "classification", "--out", ""], "--out"),
    (["train", "classification", "--out="], "--out"),
    (["tasks", "classification", "--out", ""], "--out"),
    (["eval", ""], "RUN"),
    (["eval", "run", ""], "RUN"),
    (["adapt", "", "examples.jsonl", "--out", "rule.json"], "RUN"),
    (["adapt", "run", "", "--out", "rule.json"], "FILE"),
    (["adapt", "run", "examples.jsonl", "--out", ""], "--out"),
    (["predict", "", "rule.json", "a"], "RUN"),
    (["predict", "run", "", "a"], "FILE"),
    (["run", "", "--out", "run"], "config"),
    (["run", "config.json", "--out", ""], "--out"),
]


@pytest.mark.parametrize(("words", "name"), EMPTY_PATHS)
def test_an_empty_path_is_not_the_current_folder(
    words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tam", *words])
    with pytest.raises(SystemExit) as end:
        main_of_module()
    assert end.value.code == f"error: {name} is the name of a file or folder, not ''"
    assert not list(tmp_path.iterdir())


def test_an_empty_name_of_tasks_is_no_folder(
    call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tasks.jsonl").write_text("not JSON\n")
    monkeypatch.chdir(tmp_path)
    assert call("tasks", "").startswith("error: there is no benchmark ''")
    assert call("train", "", "--out", "run").startswith("error: NAME is one of")


LONG = "x" * 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", LONG, "--out", "run"], "there is no benchmark 'xxx"),
        (["train", f"{LONG}.jsonl", "--out", "run"], f"{LONG}.jsonl: there is no such file"),
        (["eval", LONG], f"{LONG}: there is no finished run here"),
        (["adapt", LONG, "examples.jsonl", "--out", "rule.json"], f"{LONG}: there is no trained model here"),
        (["predict", LONG, "rule.json", "a"], f"{LONG}: there is no trained model here"),
    ],
)
def test_names_too_long_for_files(words: list[str], message: str, call: Any) -> None:
    found = call(*words)
    assert found.startswith(f"error: {message}")
    assert "\n" not in found


@pytest.mark.parametrize("shortage", [lambda _: torch.empty(2**50), lambda _: np.empty(2**50)])
def test_too_little_memory_is_said(shortage: Any, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tasks, "run", shortage)
    assert call("tasks", "classification").startswith("error: there is not enough memory: make the network")


@pytest.mark.parametrize(
    ("error", "end"),
    [
        (UserError("a mistake"), "error: a mistake"),
        (InterruptedRunError("stopped"), "stopped; take it up again with the same command and --resume"),
        (
            MemoryError(),
            "error: there is not enough memory: make the network smaller, or the tasks and rows ",
        ),
        (KeyboardInterrupt(), "130"),
    ],
)
@pytest.mark.parametrize("words", ["tasks classification", "run config.json --out run"])
def test_all_commands_end_alike(
    error: BaseException, end: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: object) -> None:
        raise error

    monkeypatch.setattr(Tasks, "run", fails)
    monkeypatch.setattr("tam.training.command.read_config", fails)
    monkeypatch.setattr(sys, "argv", ["tam", *words.split()])
    with pytest.raises(SystemExit) as caught:
        main_of_module()
    assert str(caught.value.code).startswith(end)


def test_other_errors_are_bugs_and_show_in_full(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tasks, "run", lambda _: torch.zeros(2) @ torch.zeros(3))
    with pytest.raises(RuntimeError, match="size"):
        call("tasks", "classification")


@pytest.mark.parametrize("option", ["--compositional", "--holdout 0", "--tasks-seed 3"])
def test_options_of_benchmarks_for_tasks_from_a_file(option: str, call: Any, tmp_path: Path) -> None:
    file = tmp_path / "small_share.jsonl"
    file.write_text("not JSON\n")
    words = ("train", str(file), "--out", str(tmp_path / "run"))
    assert call(*words, *option.split()) == (
        f"error: {option.split()[0]} has no effect on tasks that are read from a file"
    )
    assert call(*words).startswith(f"error: {file}:1: not JSON")  # a path stays as it is


@pytest.mark.parametrize("source", ["no.jsonl", "no/such"])
def test_training_on_a_file_that_is_not_there(source: str, call: Any) -> None:
    assert call("train", source, "--out", "run") == f"error: {source}: there is no such file or folder"


def test_an_error_is_one_line_on_standard_error() -> None:
    done = run("tasks", "clasification")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"error: .* did you mean 'classification'\?\n", done.stderr)


@pytest.mark.parametrize("arguments", [[], ["tasks"], ["tasks", "transduction", "--what"], ["task"]])
def test_misuse(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "--help" in done.stderr


# The process


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["tasks", *SETS["pathfinding"], "--show", "10"], ["tasks", "--help"]])
def test_a_reader_that_stops_reading(arguments: list[str], unbuffered: str) -> None:
    """As `tam tasks … | head -1` does; here the pipe is closed before anything is written."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as pipe:
        done = subprocess.run(
            [COMMAND, *arguments],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no file that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_has_no_room(unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [COMMAND, "tasks", *SETS["pathfinding"]],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )
    message = "error: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("words", [[COMMAND, "tasks", *SETS["pathfinding"]], [COMMAND, "--help"], MODULE])
def test_output_that_is_closed(words: list[str]) -> None:
    shell = f"{shlex.join(words)} >&-"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    message = "error: the output cannot be written: standard output is closed\n"
    assert (done.returncode, done.stderr) == (1, message)


def test_standard_error_that_is_closed() -> None:
    """What is asked for comes all the same; of a mistake the exit code is left."""
    for words, code in ((SETS["pathfinding"], 0), (["clasification"], 1)):
        shell = f"{shlex.join([COMMAND, 'tasks', *words])} 2>&-"
        done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (code, "" if code else run("tasks", *words).stdout)


def test_head() -> None:
    shell = f"{COMMAND} tasks {' '.join(SETS['pathfinding'])} --show 10 | head -1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_output_that_cannot_show_arrows() -> None:
    done = run("tasks", *SETS["pathfinding"], PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "  ?  " in done.stdout


def test_interrupting_is_no_error_of_ours() -> None:
    process = subprocess.Popen(
        [COMMAND, "tasks", "pathfinding", "--train", "9000", "--seed", "77"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    plain = call("tasks", *SETS["pathfinding"])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = call("tasks", *SETS["pathfinding"])
    assert "\x1b[30;42mS" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert call("tasks", *SETS["pathfinding"]) == plain
