"""The programs in examples/ run, and say what they promise."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def lines_of(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_a_customer_gets_labels_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("customer_labels", capsys) == [
        "is the currency safe: travel",
        "why was the cost refused: other",
        "help me with a country: travel",
        "is the fee safe: other",
    ]


@pytest.mark.slow
def test_text_is_cleaned_up_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of("text_clean_up", capsys) == ["anna -> <anna/>", "jürgen -> <jürgen/>"]


@pytest.mark.slow
def test_a_benchmark_of_ones_own_is_compared_with_the_floors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shares = {
        name: int(share.strip("%"))
        for name, share in (line.split(": ") for line in lines_of("own_benchmark", capsys))
    }
    assert list(shares) == ["tam", "chance", "nearest neighbour", "most tokens in common", "naive Bayes"]
    assert shares["tam"] > shares["chance"] == 33
    assert (tmp_path / "own-benchmark.jsonl").read_text().count("\n") == 15
