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


def test_a_run_is_not_replaced(classifier: tam.Learner, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")  # as `tam train` writes it
    with pytest.raises(tam.UserError, match="there is a run here, which no model replaces"):
        classifier.save(tmp_path)
    assert os.listdir(tmp_path) == ["config.json"]


def _weights(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        file = folder / "model.safetensors"
        file.write_bytes(change(file.read_bytes()))

    return rewrite


def _described(**values: Any) -> Callable[[Path], object]:
    def rewrite(folder: Path) -> None:
        file = folder / "learner.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return rewrite


def _head(change: Callable[[Any], Any]) -> Callable[[Path], object]:
    """Weights that were written like this, with no digest in `learner.json`, as in earlier versions."""

    def rewrite(folder: Path) -> None:
        description = json.loads((folder / "learner.json").read_text())
        del description["weights"]
        (folder / "learner.json").write_text(json.dumps(description))
        tensors, _ = read_tensors(folder / "model.safetensors")
        write_tensors(
            folder / "model.safetensors", tensors | {"head.weight": change(tensors["head.weight"])}, {}
        )

    return rewrite


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (_weights(lambda _: b""), "model.safetensors: .*damaged"),
    "foreign": (_weights(lambda _: b"PK\x03\x04 something else"), "model.safetensors: .*damaged"),
    "last byte": (_weights(lambda all: all[:-1] + bytes([all[-1] ^ 1])), "model.safetensors: .*damaged"),
    "NaN": (_head(lambda weight: weight * math.nan), "model.safetensors: .*not finite"),
    "type": (_head(lambda weight: weight.double()), "model.safetensors: .*another model"),
    "shape": (_head(lambda weight: weight[1:]), "model.safetensors: .*another model"),
    "gone": (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors"),
    "no JSON": (lambda folder: (folder / "learner.json").write_text("{]"), "learner.json:1: not JSON"),
    "no field": (
        lambda folder: (folder / "learner.json").write_text('{"format": 2}'),
        "learner.json: .*'config'",
    ),
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
    rule = classifier.adapt([(X, 0)])
    for use in (classifier.save, tam.load, rule.save, tam.TaskEmbedding.load, tam.read_tasks):
        with pytest.raises(tam.UserError):
            use(name)
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
