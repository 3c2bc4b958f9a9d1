"""Models on the Hugging Face hub: a repository holds the files of a saved learner, and a model card.

`config.json` is only for the hub, which counts downloads by it; `learner.json` contains all of it.
Needs the extra `hub`, and reads `HF_ENDPOINT` and `HF_TOKEN` like the rest of `huggingface_hub`.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tam.errors import UserError, shown
from tam.io import read_json
from tam.tasks.text import TOKENIZER
from tam.training.checkpoint import write_json, write_text

PREFIX = "hf://"
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_FILES = ["learner.json", "*.safetensors", TOKENIZER, "README.md"]


def pull(address: str) -> Path:
    """The local folder of a model `hf://OWNER/NAME` or `hf://OWNER/NAME@REVISION`, downloaded if needed."""
    repo, _, revision = address.removeprefix(PREFIX).partition("@")
    hub = _hub(repo, address)
    with _hub_errors(hub, address):
        return Path(hub.snapshot_download(repo, revision=revision or None, allow_patterns=_FILES))


def push(folder: Path, repo: str, card: str, *, private: bool, token: str | None) -> str:
    """Upload the files of a saved learner, with a card, to a repository; returns the commit's URL."""
    hub = _hub(repo, repo)
    write_text(folder / "README.md", card)
    write_json(folder / "config.json", read_json(folder / "learner.json")["config"])
    with _hub_errors(hub, repo):
        api = hub.HfApi(token=token)
        api.create_repo(repo, private=private, exist_ok=True)
        patterns = [*_FILES, "config.json"]
        done = api.upload_folder(
            repo_id=repo,
            folder_path=folder,
            allow_patterns=patterns,
            delete_patterns=["*.safetensors"],
            commit_message="Upload a tam model",
        )
    return str(done.commit_url)


def short_card(model: str, repo: str) -> str:
    """A minimal model card."""
    return (
        "---\nlibrary_name: tam\ntags: [few-shot, meta-learning, task-embedding]\n---\n\n"
        f"# {repo.partition('/')[2]}\n\n`{model}`, which learns a new task from a few examples.\n\n"
        f'```python\nimport tam\n\nlearner = tam.load("{PREFIX}{repo}")\n'
        "rule = learner.adapt(examples)\nanswers = learner.predict(rule, inputs)\n```\n"
    )


def _hub(repo: str, given: str) -> Any:
    """Import `huggingface_hub`, after checking that `repo` is the name of a repository."""
    if not _REPO.fullmatch(repo):
        raise UserError(f"a model on the hub must be OWNER/NAME: got {shown(given)}")
    try:
        import huggingface_hub
    except ImportError:
        raise UserError(
            "models on the Hugging Face hub need huggingface_hub: pip install 'tam-fewshot[hub]'"
        ) from None
    return huggingface_hub


@contextmanager
def _hub_errors(hub: Any, what: str) -> Generator[None]:
    """Turn errors of the hub and of the network into UserErrors."""
    import httpx

    try:
        yield
    except hub.errors.RepositoryNotFoundError:
        raise UserError(
            f"{what}: the hub has no such model, or your token (HF_TOKEN, hf auth login) has no access to it"
        ) from None
    except hub.errors.RevisionNotFoundError:
        raise UserError(f"{what}: the model has no such revision") from None
    except (hub.errors.HfHubHTTPError, hub.errors.LocalEntryNotFoundError, httpx.HTTPError) as error:
        raise UserError(f"{what}: the hub cannot be used: {' '.join(str(error).split())}") from None
