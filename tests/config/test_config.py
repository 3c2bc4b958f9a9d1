"""The settings of a run: presets, overrides by name, errors that say what is wrong, and JSON."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from tam.config.config import Config
from tam.config.methods import TamSettings, settings_of
from tam.config.presets import Preset
from tam.config.sections import Network, Protocol, Training
from tam.errors import UserError
from tam.methods import METHODS
from tam.training.run import load_tasks, read_config
from tests.in_process import tam

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", get_args(Preset))
def test_a_preset_is_a_config_that_survives_json(preset: str, method: str) -> None:
    config = Config.from_preset(preset, method)
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_the_papers_settings_are_the_defaults() -> None:
    config = Config.from_preset("paper")
    assert config == Config()
    assert (config.network.layers, config.network.width) == (4, 128)
    assert config.settings == TamSettings(
        inner_steps=25, inner_rate=0.03, patience=1, theta_update="accumulated", support="all"
    )
    assert (config.training.tasks, config.training.rows) == (16, 300)
    assert config.protocol.shots == (1, 5, 10, 20)
    assert asdict(Config.from_preset("paper", benchmark="transduction").settings)["inner_rate"] == 0.05


def test_a_preset_with_single_settings_replaced() -> None:
    config = Config.from_preset(
        "quick", steps=7, width=32, shots=[1, 2], inner_rate=0.5, seed=3, device="cuda"
    )
    assert (config.training.steps, config.network.width, config.seed, config.device) == (7, 32, 3, "cuda")
    assert config.protocol.shots == (1, 2)
    assert asdict(config.settings)["inner_rate"] == 0.5
    untouched = Config.from_preset("quick")
    assert config.training.rows == untouched.training.rows
    assert config.override(**asdict(untouched.training)).training == untouched.training
    assert asdict(Config.from_preset("best", support="all").settings)["small_share"] is None


def test_what_there_is_not_is_an_error() -> None:
    with pytest.raises(UserError, match=r"'inner_stepz'.*did you mean 'inner_steps'"):
        Config.from_preset("quick", inner_stepz=1)
    with pytest.raises(UserError, match=r"no setting 'qqqq' of method 'tam'$"):
        Config().override(qqqq=1)
    with pytest.raises(UserError, match=r"no preset 'fast'.*quick"):
        Config.from_preset("fast")
    with pytest.raises(UserError, match=r"no method 'tom'.*tam"):
        Config.from_json({"method": "tom"})
    with pytest.raises(UserError, match=r"^none\.jsonl: "):  # and not the config file
        load_tasks({"path": "none.jsonl"}, file=Path("config.json"))


def test_every_setting_has_a_name_of_its_own() -> None:
    for settings in map(settings_of, METHODS):
        names = [f.name for part in (Network, settings, Training, Protocol) for f in fields(part)]
        assert len(names) == len(set(names)), "an override by name must be clear"


def test_settings_that_a_method_does_not_use_have_fixed_values() -> None:
    plain = Config.from_preset("quick", "nearest")
    assert (plain.network, plain.training) == (Network(), Training(steps=0))
    assert Config.from_preset("paper", "nearest", layers=3, steps=5, adapt_steps=(9,)) == Config.of("nearest")
    snail = Config.from_preset("quick", "snail", adapt_rates=(0.5,)).protocol
    assert (snail.shots, snail.adapt_steps, snail.adapt_rates) == ((5,), (0,), (0.0,))


@pytest.mark.parametrize(
    ("name", "value", "method"),
    [
        ("inner_steps", 0, "maml"),
        ("order", "third", "maml"),
        ("support_sizes", (0, 4), "cavia"),
        ("support_sizes", (8, 4), "maml"),
        ("finetune", "some", "multitask"),
        ("unknown_share", 1.1, "multitask"),
        ("episode_queries", 0, "snail"),
        ("most_shots", 0, "prototypical"),
        ("smoothing", 0.0, "nearest"),
        ("smoothing", float("nan"), "nearest"),
        *(
            (name, value, "tam")
            for name, value in [
                ("inner_steps", 0),
                ("patience", 0),
                ("inner_rate", -0.1),
                ("theta_update", "sometimes"),
                ("proposer", True),
                ("steps", -1),
                ("steps", "20"),
                ("steps", True),
                ("tasks", 0),
                ("rate", float("nan")),
                ("rate", 1e39),
                ("adapt_rates", (0.1, float("inf"))),
                ("warmup", 2**63),
                ("shots", (1, 2**63)),
                ("shots", ()),
                ("shots", "15"),
                ("adapt_steps", (1, 2.5)),
                ("small_share", 2.0),
                ("small_sizes", (9, 3)),
                ("clip", 0),
                ("dropout", 1),
                ("precision", "float16"),
                ("use_primitives", 1),
                ("device", "gpu"),
                ("method", "tom"),
            ]
        ),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(name: str, value: object, method: str) -> None:
    with pytest.raises(UserError, match=name) as error:
        Config.of(method).override(**{name: value})
    assert repr(value) in str(error.value) or name == "proposer"


@pytest.mark.parametrize(
    ("values", "about"),
    [
        ({"self": 1}, "'self'"),
        ({"method": ["tam"]}, "no method"),
        ({"training": {"widht": 8}}, "'widht'.*'width'"),
        ({"training": [1]}, "training must be an object"),
        ({"network": {"heads": "4"}}, "heads"),
    ],
)
def test_json_that_is_no_config_is_an_error(values: dict[str, Any], about: str) -> None:
    with pytest.raises(UserError, match=about):
        Config.from_json(values)


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ({"seed": 1}, "tasks must be an object"),
        ({"tasks": {"name": "transduction"}, "seed": -1}, "seed must be at least 0"),
        ({"tasks": {"seed": 1}}, "tasks: .*name of a benchmark"),
        ({"tasks": {"name": "transduction", "sead": 1}}, "tasks: .*'sead'"),
        ({"tasks": {"name": "transductio"}}, "tasks: there is no benchmark 'transductio'"),
        ({"tasks": {"path": "tasks.jsonl", "sead": 1}}, "tasks: .*'sead'"),
        ({"tasks": {"path": 3}}, "tasks: .*3"),
    ],
)
def test_an_error_in_a_config_file_names_it(content: dict[str, Any], about: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(content))
    with pytest.raises(SystemExit, match=f"^error: {file}: {about}"):
        tam("run", str(file), "--out", str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


BLOCK_ALL_BUT_THE_CORE = """
import sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tyro", "rich", "matplotlib", "hypothesis", "pytest", "mkdocs"):
            raise ModuleNotFoundError(f"{name} is not installed here", name=name)
        return None

sys.meta_path.insert(0, Block())
from tam.__main__ import main
main()
print("imported", *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def test_a_run_needs_only_the_core(tmp_path: Path) -> None:
    """Torch, numpy and safetensors, and what they need themselves."""
    config = Config.from_preset("smoke", steps=2)
    tasks = {"name": "transduction", "train": 4, "valid": 1, "test": 2, "examples": 20}
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"tasks": tasks, **config.to_json()}))
    command = [sys.executable, "-c", BLOCK_ALL_BUT_THE_CORE, "run", str(file), "--out", str(tmp_path / "run")]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=90
    )
    assert done.returncode == 0, done.stderr
    assert [row["k"] for row in json.loads(done.stdout)] == [1, 5]
    imported = done.stderr.splitlines()[-1].split()
    assert "torch" in imported
    assert not {"tyro", "rich", "matplotlib"} & set(imported)
    assert "sympy" not in imported  # torch imports it in seconds, if it must
    kept = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"config.json", "metrics.jsonl", "model.safetensors", "result.json"} <= kept
    assert read_config(tmp_path / "run" / "config.json") == (config, tasks)


def test_numbers_of_numpy_and_ranges_are_as_good_as_ours() -> None:
    given: dict[str, Any] = {"steps": np.int64(3), "rate": np.float64(0.5), "shots": range(1, 3)}
    config = Config.from_preset("quick", **given, adapt_steps=np.array([1, 5]), small_sizes=None)
    expected = {"steps": 3, "rate": 0.5, "shots": (1, 2), "adapt_steps": (1, 5)}
    assert config == Config.from_preset("quick", **expected)
    assert Config.from_json(json.loads(json.dumps(config.to_json()))) == config
    with pytest.raises(UserError, match=r"steps .*1\.5"):
        Config().override(steps=np.float64(1.5))
