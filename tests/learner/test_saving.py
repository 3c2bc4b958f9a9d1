"""A learner is saved and loaded, and files that are damaged or cannot be say so."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tam
from tam.training.checkpoint import read_tensors, write_tensors
from tests.learner.small import X, small_benchmark


def test_saved_and_loaded_in_a_fresh_process(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path / "m")
    rule = classifier.adapt([(X, "a"), ([1] * 5, "b")])
    rule.save(tmp_path / "rule.json")
    code = (
        "import tam, sys; l = tam.load(sys.argv[1]); r = tam.TaskEmbedding.load(sys.argv[2]);"
        "print(l.predict_proba(r, [[3, 1, 4, 1, 5]])[0]['a'])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "rule.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (expected,) = classifier.predict_proba(rule, [X])
    assert float(done.stdout) == pytest.approx(expected["a"], abs=1e-6)
    assert tam.TaskEmbedding.load(tmp_path / "rule.json") == rule


def test_a_loaded_learner_has_the_config_it_was_trained_with(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    assert tam.load(tmp_path).config == classifier.config
    with pytest.raises(tam.UserError, match="torch finds no GPU here"):
        tam.load(tmp_path, device="cuda")


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _foreign(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 something else")


def _wrong_shape(path: Path) -> None:
    description = path.with_name("learner.json")
    description.write_text(description.read_text().replace('"width": 16', '"width": 32'))


def _no_json(path: Path) -> None:
    path.with_name("learner.json").write_text("{]")


def _no_field(path: Path) -> None:
    path.with_name("learner.json").write_text('{"format": 2}')


def _changed(**values: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        description = path.with_name("learner.json")
        description.write_text(json.dumps(json.loads(description.read_text()) | values))

    return change


def _spec(**values: int) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        spec = json.loads(path.with_name("learner.json").read_text())["spec"]
        _changed(spec=spec | values)(path)

    return change


CHOICES = "learner.json: not the description .*choices are a number of steps and a rate for each k"
VOCABULARY = "learner.json: not the description .*vocabulary is a list of 12 integers and strings"
DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "truncated": (_truncate, "model.safetensors: not a file of tam, or a damaged one"),
    "foreign": (_foreign, "model.safetensors: not a file of tam, or a damaged one"),
    "shape": (_wrong_shape, "model.safetensors: these weights are of another model"),
    "no JSON": (_no_json, "learner.json:1: not JSON"),
    "no field": (_no_field, "learner.json: not the description of a trained model .*'config'"),
    "gone": (Path.unlink, "model.safetensors: there is no such file"),
    "format": (_changed(format=1), "written in format 1; this version reads 2"),
    "no choices": (_changed(choices={}), CHOICES),
    "steps": (_changed(choices={"1": [-1, 0.1]}), CHOICES),
    "half a step": (_changed(choices={"1": [1.5, 0.1]}), CHOICES),
    "no rate": (_changed(choices={"1": [1, math.inf]}), CHOICES),
    "vocabulary": (_changed(vocabulary=list(range(1000))), VOCABULARY),
    "tokens": (_changed(vocabulary="abcdefghij"), VOCABULARY),
    "too long": (_spec(max_x=10**8), "learner.json: not the description .*max_x is 100000000"),
    "too deep": (_spec(layers=1000), "learner.json: not the description .*1000 layers"),
    "primitives": (_changed(primitives=[1]), "learner.json: not the description of a trained model"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_model_gets_a_clear_error(case: str, classifier: tam.Learner, tmp_path: Path) -> None:
    damage, message = DAMAGES[case]
    classifier.save(tmp_path)
    damage(tmp_path / "model.safetensors")
    with pytest.raises(tam.UserError, match=f"^{re.escape(str(tmp_path))}[/:] ?{message}"):
        tam.load(tmp_path)


def test_what_cannot_be_written_says_so(classifier: tam.Learner, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    tasks = small_benchmark("classification")
    for folder in (file, file / "below"):
        with pytest.raises(tam.UserError, match=f"^{folder}: cannot be written: "):
            classifier.save(folder)
        with pytest.raises(tam.UserError, match=f"^{folder}: cannot be written: "):
            tam.Learner(preset="smoke").fit(tasks, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\0b", r"^'a\\x00b': no name of a file has the character \\0"),
        ("", "^a path is the name of a file or folder, not ''$"),
        ("x" * 300, "^x{300}(/learner.json)?: (cannot be|there is no)"),
    ],
)
def test_names_that_no_file_has(
    name: str, message: str, classifier: tam.Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rule = classifier.adapt([(X, 0)])
    tasks = small_benchmark("classification")
    for use in (
        lambda: classifier.save(name),
        lambda: tam.load(name),
        lambda: tam.Learner(preset="smoke").fit(tasks, name),
        lambda: rule.save(name),
        lambda: tam.TaskEmbedding.load(name),
        lambda: tasks.write(name),
        lambda: tam.read_tasks(name),
    ):
        with pytest.raises(tam.UserError, match=message):
            use()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [None, 5])
def test_what_is_no_name_of_a_file_is_said(name: Any, classifier: tam.Learner) -> None:
    tasks, rule = small_benchmark("classification"), classifier.adapt([(X, 0)])
    uses: list[Callable[[], object]] = [
        lambda: tam.read_tasks(name),
        lambda: tam.load(name),
        lambda: classifier.save(name),
        lambda: rule.save(name),
        lambda: tam.TaskEmbedding.load(name),
        lambda: tasks.write(name),
    ]
    if name is not None:
        uses.append(lambda: tam.Learner(preset="smoke").fit(tasks, folder=name))
    for use in uses:
        with pytest.raises(tam.UserError, match=f"^a path is the name of a file or folder, not {name}$"):
            use()


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
    for place in range(len(whole) - 1, len(whole) // 2, -len(whole) // 40):
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
