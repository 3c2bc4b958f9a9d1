"""Models that come with the package: one for each benchmark, trained with the preset `best`.

Each is a folder with `learner.json` and `model.safetensors`, as `Learner.save` writes them (the weights in
float16), `card.json` with its origin and scores, `README.md` made from that, and a few test tasks in
`tasks.jsonl`. `tam.pretrained.pack` makes such a folder from a run.
"""

from pathlib import Path

from tam.errors import UserError
from tam.io import exists

_FOLDER = Path(__file__).parent / "models"


def names() -> list[str]:
    """The names that `tam.load` knows, in alphabetical order."""
    return sorted(file.parent.name for file in _FOLDER.glob("*/learner.json"))


def folder_of(name: str) -> Path:
    """The folder of a pretrained model."""
    if name not in names():
        raise UserError(f"there is no pretrained model {name!r}: it must be one of {', '.join(names())}")
    return _FOLDER / name


def resolve(name: str | Path) -> Path:
    """Return the folder that a name means: a pretrained model's, unless a folder of that name has a model."""
    if isinstance(name, str) and name in names() and not exists(Path(name) / "learner.json"):
        return folder_of(name)
    return Path(name)
