"""Models go to a hub and come back, through HTTP on this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import tam
from tests.learner.hub_stand_in import TOKEN, Hub, hub
from tests.learner.small import X, untrained

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server() -> Generator[Hub]:
    with hub() as started:
        yield started


def run(server: Hub, home: Path, code: str) -> "subprocess.CompletedProcess[str]":
    """Run code in a process of its own: huggingface_hub reads its settings when it is imported."""
    settings = {
        "HF_ENDPOINT": server.address,
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "PYTHONPATH": str(ROOT / "src"),
    }
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)


def test_pushed_and_pulled(server: Hub, tmp_path: Path) -> None:
    learner = untrained("tam")
    learner.save(tmp_path / "m")
    learner.adapt([(X, "a"), ([1, 1], "b")]).save(tmp_path / "rule.json")
    code = f"import tam; print(tam.load({str(tmp_path / 'm')!r}).push_to_hub('me/rules'))"
    pushed = run(server, tmp_path / "home", code)
    assert pushed.returncode == 0, pushed.stderr
    files = server.repos["me/rules"]
    assert set(files) >= {"README.md", "config.json", "learner.json", "model.safetensors"}
    assert len(server.uploads) == 1  # weights go the way of large files
    assert 'tam.load("hf://me/rules")' in files["README.md"].decode()
    assert json.loads(files["config.json"])["method"] == "tam"
    assert pushed.stdout.strip() == f"{server.address}/me/rules/commit/{server.commit_of('me/rules')}"

    code = (
        f"import tam; rule = tam.TaskEmbedding.load({str(tmp_path / 'rule.json')!r});"
        f"print(tam.load('hf://me/rules').predict_proba(rule, [{X}])[0]['a'])"
    )
    pulled = run(server, tmp_path / "elsewhere", code)
    assert pulled.returncode == 0, pulled.stderr
    rule = tam.TaskEmbedding.load(tmp_path / "rule.json")
    assert float(pulled.stdout) == pytest.approx(learner.predict_proba(rule, [X])[0]["a"], abs=1e-6)
    (snapshot,) = (tmp_path / "elsewhere").glob("hub/models--me--rules/snapshots/*")
    assert tam.load(snapshot).identity_ == learner.identity_


def test_mistakes(server: Hub, tmp_path: Path) -> None:
    text = """
import os, tam
for use, token in (
    (lambda: tam.load("hf://me/nothing"), os.environ["HF_TOKEN"]),
    (lambda: tam.load("classification").push_to_hub("me/x"), "hf_wrong"),
    (lambda: tam.load("hf://nobody"), os.environ["HF_TOKEN"]),
):
    os.environ["HF_TOKEN"] = token
    try: use()
    except tam.UserError as error: print(error)
"""
    done = run(server, tmp_path, text)
    nothing, refused, nobody = done.stdout.splitlines() or [done.stderr] * 3
    assert "me/nothing: the hub has no such model" in nothing
    assert "me/x: the hub" in refused
    assert "must be OWNER/NAME: got 'hf://nobody'" in nobody
