"""Models go to a hub and come back; the hub is a folder here."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import create_autospec

import httpx
import huggingface_hub
import pytest

import tam
from tests.learner.small import X, untrained


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has the repositories, behind the functions of huggingface_hub."""

    def upload(*, repo_id: str, folder_path: Path, allow_patterns: list[str], **_: object) -> Any:
        for pattern in allow_patterns:
            for file in folder_path.glob(pattern):
                shutil.copy(file, tmp_path / repo_id)
        return SimpleNamespace(commit_url=f"https://hub/{repo_id}/commit/1")

    def download(repo_id: str, **_: object) -> str:
        response = httpx.Response(404, request=httpx.Request("GET", "https://hub"))
        if not (tmp_path / repo_id).is_dir():
            raise huggingface_hub.errors.RepositoryNotFoundError("no", response=response)
        return str(tmp_path / repo_id)

    api = create_autospec(huggingface_hub.HfApi)
    api.return_value.create_repo.side_effect = lambda repo, **_: (tmp_path / repo).mkdir(parents=True)
    api.return_value.upload_folder.side_effect = upload
    monkeypatch.setattr(huggingface_hub, "HfApi", api)
    snapshot = create_autospec(huggingface_hub.snapshot_download, side_effect=download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    return tmp_path


def test_pushed_and_pulled(hub: Path) -> None:
    learner = untrained("tam")
    rule = learner.adapt([(X, "a"), ([1, 1], "b")])
    assert learner.push_to_hub("me/rules") == "https://hub/me/rules/commit/1"
    files = {file.name for file in (hub / "me" / "rules").iterdir()}
    assert files == {"README.md", "config.json", "learner.json", "model.safetensors"}
    assert 'tam.load("hf://me/rules")' in (hub / "me" / "rules" / "README.md").read_text()
    assert json.loads((hub / "me" / "rules" / "config.json").read_text())["method"] == "tam"
    pulled = tam.load("hf://me/rules@main")
    assert pulled.predict_proba(rule, [X]) == learner.predict_proba(rule, [X])


def test_mistakes(hub: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tam.UserError, match="me/nothing: the hub has no such model"):
        tam.load("hf://me/nothing")
    with pytest.raises(tam.UserError, match="must be OWNER/NAME: got 'hf://nobody'"):
        tam.load("hf://nobody")

    def fail(*_: object, **__: object) -> None:
        raise httpx.ConnectError("no\nnetwork")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(tam.UserError, match="me/rules: the hub cannot be used: no network"):
        tam.load("hf://me/rules")
