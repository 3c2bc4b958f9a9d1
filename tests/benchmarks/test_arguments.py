"""What the scripts under benchmarks/ are told, and what those that measure on a CPU write of the machine."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPTS = ("generation", "memory", "peers", "scaling", "tasks")


@pytest.fixture
def call(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a script here, where no process can be started and no file written; its exit code and output."""

    def run(name: str, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *words])
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("the benchmark started"))
        monkeypatch.setattr(Path, "write_text", lambda *_, **__: pytest.fail("a result was written"))
        with pytest.raises(SystemExit) as end:
            load(name).main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return run


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SCRIPTS)
def test_help(name: str, call: Any, load: Callable[[str], ModuleType]) -> None:
    code, out, err = call(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: {name}.py [-h]")
    assert (load(name).__doc__ or "").strip() in out


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("word", ["--nonsense", "nonsense"])
def test_what_is_unknown_is_an_error(name: str, word: str, call: Any) -> None:
    code, out, err = call(name, word)
    assert (code, out) == (2, "")
    assert word in err


def test_without_a_gpu(load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    with pytest.raises(SystemExit, match="torch finds no GPU here"):
        load("gpu").main()


def test_a_case_that_memory_has_not(call: Any) -> None:
    assert call("memory", "--case", "maml", "third", "1")[0] == 2


def test_one_set_alone(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the script asks itself to do it, in a process of its own."""
    generation = load("generation")
    monkeypatch.setattr(generation, "generate", lambda what: {"made": what})

    def same_process(command: list[str], **_: Any) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", command[1:])
        generation.main()
        return SimpleNamespace(stdout=capsys.readouterr().out)

    monkeypatch.setattr(subprocess, "run", same_process)
    found = generation.in_own_process("pathfinding compositional")
    assert found == {"made": "pathfinding compositional", "limit_seconds": 180, "limit_mib": 4096}


def test_one_case_alone(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = load("memory")
    monkeypatch.setattr(memory, "measure", lambda *case: 40 + len(case) if case[2] == 5 else None)

    def same_process(command: list[str], **_: Any) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", command[1:])
        memory.main()
        return SimpleNamespace(stdout=capsys.readouterr().out)

    monkeypatch.setattr(subprocess, "run", same_process)
    expected = {"method": "cavia", "order": "second", "inner_steps": 5, "mib": 43}
    assert memory.in_own_process("cavia", "second", 5) == expected


def test_a_result_tells_the_kind_of_machine_and_no_more(
    load: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = load("generation")
    committed = json.loads(generation.FILE.read_text())
    monkeypatch.setattr(generation, "FILE", tmp_path / "generation.json")
    generation.write({})
    written = json.loads(generation.FILE.read_text())
    assert (written["machine"], written["cores"]) == (platform.machine(), os.cpu_count())
    for facts in (written, committed):
        assert "platform" not in facts
        assert platform.release() not in json.dumps(facts)
