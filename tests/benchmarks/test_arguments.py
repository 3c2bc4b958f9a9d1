"""What the scripts under benchmarks/ are told, and what those that measure on a CPU write of the machine."""

import json
import os
import platform
import sys
from importlib import import_module
from pathlib import Path

import generation
import gpu
import memory
import pytest
import record


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", ["generation", "gpu", "memory", "peers", "scaling", "serve"])
@pytest.mark.parametrize(("word", "code"), [("--help", 0), ("nonsense", 2)])
def test_nothing_is_measured_for_help_or_by_mistake(
    name: str, word: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = import_module(name)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", word])
    monkeypatch.setattr(script, "write", lambda *_: pytest.fail("a result was written"))
    with pytest.raises(SystemExit) as end:
        script.main()
    assert end.value.code == code
    out, err = capsys.readouterr()
    assert (script.__doc__ or "").strip() in out if code == 0 else word in err


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["gpu"])
    with pytest.raises(SystemExit, match="torch finds no GPU here"):
        gpu.main()


def test_a_fresh_process_is_another_one() -> None:
    assert record.in_fresh_process(os.getpid) != os.getpid()


def test_memory_is_measured() -> None:
    assert memory.measure("cavia", "second", 1) >= 0  # 0 if a test before it took more


def test_a_result_tells_the_kind_of_machine_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = json.loads((record.RESULTS / "generation.json").read_text())
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    record.write("generation", generation.facts({}))
    written = json.loads((tmp_path / "generation.json").read_text())
    assert list(written) == list(committed)
    assert (written["machine"], written["cores"]) == (platform.machine(), os.cpu_count())
    for facts in (written, committed):
        assert platform.release() not in json.dumps(facts)
