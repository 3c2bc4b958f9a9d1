"""`tam models`, `tam pack`, `tam export`, `tam push`: pretrained models, and how to share your own."""

import shlex
from dataclasses import dataclass
from typing import Annotated

import tyro

from tam.cli.use import Run
from tam.errors import UserError
from tam.io import path_of


@dataclass(frozen=True)
class Models:
    """List the models that come with the package."""

    def run(self) -> None:
        """Print a table."""
        from tam.pretrained import folder_of, names
        from tam.pretrained.card import headline, read_card
        from tam.report.table import table
        from tam.tasks.task import metric_of

        cards = {name: read_card(folder_of(name)) for name in names()}
        shots = sorted({score["k"] for card in cards.values() for score in card["scores"]["packed"]})
        rows = [
            [
                name,
                metric_of(card["kind"]),
                *(f"{headline(card, score)} ({score['tasks']})" for score in card["scores"]["packed"]),
                f"{card['parameters']:,}",
                f"{card['bytes'] / 1e6:.1f} MB",
            ]
            for name, card in cards.items()
        ]
        print(table(["model", "test tasks", *(f"k = {k}" for k in shots), "weights", "size"], rows))
        print("\nk: examples of a new task, per class in classification. In brackets: test tasks scored.")
        print("The model card, README.md in each folder, describes how the model was made:")
        for name in cards:
            print(f"  {folder_of(name)}")
        print("next: tam demo, or in Python tam.load(NAME)")


@dataclass(frozen=True)
class Pack:
    """Pack a finished run into a small folder with a model card: one set of weights, in float16."""

    run_folder: Run
    """Folder of a finished run."""
    out: Annotated[str, tyro.conf.arg(metavar="FOLDER")]
    """A new folder for the packed model."""
    tasks: int = 16
    """Number of test tasks to score it on."""
    supports: int = 1
    """Number of supports per task."""

    def run(self) -> None:
        """Pack and print the result."""
        from tam.pretrained.pack import pack_run

        run, out = path_of(self.run_folder, "RUN"), path_of(self.out, "--out")
        card = pack_run(run, out, tasks=self.tasks, supports=self.supports)
        print(f"packed {run} into {out}: {card['bytes']:,} bytes; its card is {out / 'README.md'}")
        print(f"{out / 'tasks.jsonl'} has test tasks for tam demo: delete it if they must not be shared")
        print(f"next: tam demo {shlex.quote(str(out))}")


@dataclass(frozen=True)
class Export:
    """Write the prediction of a model as an ONNX file, with the task embedding as an input."""

    run_folder: Run
    """Folder of a finished run or a saved learner, or a pretrained model: see tam models."""
    out: Annotated[str, tyro.conf.arg(metavar="FILE")]
    """The file to write."""
    shots: int | None = None
    """Export the weights used for this many examples; the last weights if not given."""

    def run(self) -> None:
        """Export and print the result."""
        from tam.learner.learner import load

        out = path_of(self.out, "--out")
        if out.suffix != ".onnx":
            raise UserError(f"--out must be the name of an ONNX file, such as model.onnx: got {self.out}")
        learner = load(self.run_folder)
        learner.export_onnx(out, self.shots)
        which = "the last weights" if self.shots is None else f"the weights for k = {self.shots}"
        print(f"written to {out}: {which}, {out.stat().st_size:,} bytes")
        others = [str(k) for k, weights in learner.identities_.items() if weights != learner.identity_]
        if self.shots is None and others:
            print(f"note: tam adapt uses other weights for k = {', '.join(others)}: export them with --shots")


@dataclass(frozen=True)
class Push:
    """Push a model to the Hugging Face hub; tam.load("hf://OWNER/NAME") pulls it."""

    run_folder: Run
    """Folder of a finished run or a saved learner, or a pretrained model: see tam models."""
    repo: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="OWNER/NAME")]
    """The repository, created if missing."""
    private: bool = False
    """Make a new repository private."""

    def run(self) -> None:
        """Push and print the address."""
        from tam.io import exists
        from tam.learner.learner import load
        from tam.pretrained import resolve

        learner, card = load(self.run_folder), resolve(self.run_folder) / "README.md"
        text = card.read_text(encoding="utf-8") if exists(card) else None
        print(learner.push_to_hub(self.repo, private=self.private, card=text))
