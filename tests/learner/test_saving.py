"""A learner is saved and loaded, and damaged files are errors."""

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.training.checkpoint import read_tensors, write_tensors
from tests.learner.small import X, small_benchmark

pytestmark = pytest.mark.slow


def test_a_loaded_learner_has_the_config_it_was_trained_with(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    assert tam.load(tmp_path).config == classifier.config
    with pytest.raises(tam.UserError, match="GPU"):
        tam.load(tmp_path, device="cuda")


def _weights(content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


def _rewritten(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "learner.json").write_text(text)


def _described(**values: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "learner.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return change


def _wider(folder: Path) -> None:
    file = folder / "learner.json"
    file.write_text(file.read_text().replace('"width": 16', '"width": 32'))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (_weights(b""), "model.safetensors: .*damaged"),
    "foreign": (_weights(b"PK\x03\x04 something else"), "model.safetensors: .*damaged"),
    "gone": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors"),
    "shape": (_wider, "model.safetensors: .*another model"),
    "no JSON": (_rewritten("{]"), "learner.json:1: not JSON"),
    "no field": (_rewritten('{"format": 2}'), "learner.json: .*'config'"),
    "format": (_described(format=1), "format .*2"),
    "no choices": (_described(choices={}), "learner.json: .*choices"),
    "steps": (_described(choices={"1": [-1, 0.1]}), "learner.json: .*choices"),
    "rate": (_described(choices={"1": [1, math.inf]}), "learner.json: .*choices"),
    "vocabulary": (_described(vocabulary=list(range(1000))), "learner.json: .*vocabulary"),
    "tokens": (_described(vocabulary="abcdefghij"), "learner.json: .*vocabulary"),
    "primitives": (_described(primitives=[1]), "learner.json"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_model_is_an_error(case: str, classifier: tam.Learner, tmp_path: Path) -> None:
    damage, about = DAMAGES[case]
    classifier.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(tam.UserError, match=f"^{re.escape(str(tmp_path))}.*{about}"):
        tam.load(tmp_path)


def test_what_cannot_be_written_says_so(classifier: tam.Learner, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    tasks = small_benchmark("classification")
    for folder in (file, file / "below"):
        with pytest.raises(tam.UserError, match=f"^{folder}: "):
            classifier.save(folder)
        with pytest.raises(tam.UserError, match=f"^{folder}: "):
            tam.Learner(preset="smoke").fit(tasks, folder)


@pytest.mark.parametrize("name", ["a\0b", "", "x" * 300, None, 5])
def test_names_that_no_file_has(
    name: Any, classifier: tam.Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rule, tasks = classifier.adapt([(X, 0)]), small_benchmark("classification")
    for use in (
        lambda: classifier.save(name),
        lambda: tam.load(name),
        lambda: rule.save(name),
        lambda: tam.TaskEmbedding.load(name),
        lambda: tasks.write(name),
        lambda: tam.read_tasks(name),
    ):
        with pytest.raises(tam.UserError):
            use()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", ["learner.json.next", "model.safetensors", "learner.json"])
def test_a_save_that_is_stopped_leaves_one_whole_model(
    at: str, classifier: tam.Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of the two models it is, its weights and its vocabulary belong together."""
    other = tam.Learner(preset="smoke", seed=1, steps=1).fit(small_benchmark("transduction"))
    classifier.save(tmp_path)

    class Killed(BaseException):
        pass

    def replace(source: Path, target: Path) -> None:
        if target.name == at:
            raise Killed
        plain(source, target)

    plain = os.replace
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        with pytest.raises(Killed):
            other.save(tmp_path)
    kind = "transduction" if at == "learner.json" else "classification"
    assert tam.load(tmp_path).model_.spec.kind == kind
    classifier.save(tmp_path)
    assert tam.load(tmp_path).model_.spec.kind == "classification"
    assert not list(tmp_path.glob("*.next"))


def test_weights_that_changed_on_disk_are_refused(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    file = tmp_path / "model.safetensors"
    whole = file.read_bytes()
    for place in range(len(whole) - 1, len(whole) // 2, -len(whole) // 10):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(tam.UserError, match="damaged"):
            tam.load(tmp_path)


@pytest.mark.parametrize("change", [lambda w: w * math.nan, lambda w: w.double()], ids=["NaN", "type"])
def test_weights_that_are_no_numbers_are_refused(
    change: Callable[[Any], Any], classifier: tam.Learner, tmp_path: Path
) -> None:
    classifier.save(tmp_path)
    tensors, _ = read_tensors(tmp_path / "model.safetensors")
    description = json.loads((tmp_path / "learner.json").read_text())
    del description["weights"]  # as in files of earlier versions
    (tmp_path / "learner.json").write_text(json.dumps(description))
    tensors["head.weight"] = change(tensors["head.weight"])
    write_tensors(tmp_path / "model.safetensors", tensors, {})
    with pytest.raises(tam.UserError, match=r"model\.safetensors: .*(not finite|another model)"):
        tam.load(tmp_path)
