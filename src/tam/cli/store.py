"""`tam store …`: keep learned tasks in a file, find them again, and move them to another model."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from tam.cli.options import File, Run, optional, several
from tam.cli.use import adapt_from_file
from tam.errors import UserError, counted, printable
from tam.io import path_of

if TYPE_CHECKING:
    from tam.store.store import Store

StoreFile = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="STORE")]
TaskName = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")]
Notes = Annotated[str, tyro.conf.arg(metavar="TEXT")]


@dataclass(frozen=True)
class _OfStore:
    """A command for a store."""

    store: StoreFile
    """SQLite file of the store."""

    def _open(self) -> "Store":
        """Open the store, which must exist."""
        from tam.store.store import Store

        path = path_of(self.store, "STORE")
        if not os.path.isfile(path):
            raise UserError(f"{path}: there is no such store; tam store put creates one")
        return Store(path)


@dataclass(frozen=True)
class _OfTask(_OfStore):
    """A command for a task of a store."""

    task: TaskName
    """Name of the task."""


@dataclass(frozen=True)
class Put(_OfTask):
    """Learn a task from examples, and store it under a name; creates the store if missing."""

    run_folder: Run
    """Folder of a finished run or a saved learner: the model of all tasks in the store."""
    examples: File
    """JSONL, one example per line: {"x": [tokens] or text, "y": label or [tokens]}."""
    notes: Notes = ""
    """Anything you want to remember about it."""
    replace: bool = False
    """Replace a task that already has this name."""
    primitives: Annotated[tuple[str, ...], optional("STR [STR ...]")] = ()
    """For a compositional model: the task's primitives, one of them unknown to the model."""

    def run(self) -> None:
        """Learn and store."""
        from tam.learner.learner import load
        from tam.store.store import Store

        path, file = path_of(self.store, "STORE"), path_of(self.examples, "FILE")
        learner = load(self.run_folder)
        rule, examples = adapt_from_file(learner, file, self.primitives, learner.text_)
        with Store(path, learner) as store:
            store.put(self.task, rule, examples, self.notes, replace=self.replace)
            count = counted(len(store), "task")
        learned = f"learned {self.task} from {counted(len(examples), 'example')}"
        print(f"{learned} with loss {rule.loss:.3f}; {path} has {count}")


@dataclass(frozen=True)
class List(_OfStore):
    """List the tasks of a store."""

    search: Annotated[str | None, optional("PATTERN")] = None
    """Only tasks whose name contains this text, or matches this pattern with * and ?."""

    def run(self) -> None:
        """Print a table."""
        from tam.report.table import table

        with self._open() as store:
            tasks, total = store.list(self.search), len(store)
        rows = [
            [one.name, one.examples, f"{one.loss:.3f}", one.created, one.weights[:8], _first_line(one.notes)]
            for one in tasks
        ]
        if rows:
            print(table(["task", "examples", "loss", "stored", "weights", "notes"], rows))
        if not rows or self.search:
            print(f"{len(rows)} of {total} tasks")


@dataclass(frozen=True)
class Get(_OfTask):
    """Show a task of a store, and write its task embedding for tam predict."""

    out: Annotated[str | None, optional("FILE")] = None
    """JSON file for the task embedding; replaces an earlier embedding, but no other file."""

    def run(self) -> None:
        """Print, and perhaps write."""
        from tam.cli.use import check_replaceable

        with self._open() as store:
            task = store.get(self.task)
        rule = task.embedding
        print(f"{task.name}   (stored {task.created}, loss {rule.loss:.3f}, weights {rule.model})")
        if task.notes:
            print(printable(task.notes))
        if rule.primitives:
            print(f"primitives: {', '.join(rule.primitives)}")
        for x, y in task.examples:
            print(printable(f"  {_words(x)}  →  {_words(y) if isinstance(y, list) else y}"))
        if self.out is not None:
            out = path_of(self.out, "--out")
            check_replaceable(out)
            rule.save(out)
            print(f"task embedding written to {out}")


@dataclass(frozen=True)
class NearestTasks(_OfTask):
    """Show the tasks of a store that are most similar to one of them."""

    count: int = 10
    """Number of tasks to show."""

    def run(self) -> None:
        """Print a table."""
        from tam.report.table import table

        with self._open() as store:
            nearest = store.nearest(self.task, self.count)
            alike = store.counts()[store.get(self.task).embedding.model]
            total = len(store)
        if nearest:
            print(table(["task", "similarity"], [[one.name, f"{one.similarity:.4f}"] for one in nearest]))
        else:
            print("there is no other task to compare it with")
        if alike < total:
            print(
                f"compared with {alike - 1} of {total - 1} tasks: the others were learned with other weights"
            )


@dataclass(frozen=True)
class Rename(_OfTask):
    """Rename a task of a store."""

    new: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="NEW")]
    """Its new name."""

    def run(self) -> None:
        """Rename."""
        with self._open() as store:
            store.rename(self.task, self.new)


@dataclass(frozen=True)
class Annotate(_OfTask):
    """Replace the notes of a task of a store."""

    notes: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TEXT")]
    """Its new notes."""

    def run(self) -> None:
        """Replace."""
        with self._open() as store:
            store.annotate(self.task, self.notes)


@dataclass(frozen=True)
class Remove(_OfStore):
    """Remove tasks from a store."""

    tasks: Annotated[tuple[str, ...], tyro.conf.Positional, several("TASK")]
    """Names of the tasks."""

    def run(self) -> None:
        """Remove."""
        if not self.tasks:
            raise UserError("give the name of at least one task")
        with self._open() as store:
            for name in self.tasks:
                store.remove(name)
                print(f"removed {printable(name)}")


@dataclass(frozen=True)
class ExportTasks(_OfStore):
    """Write all tasks of a store as JSONL."""

    out: File
    """JSONL file to write; replaces an existing file."""

    def run(self) -> None:
        """Write."""
        with self._open() as store:
            print(f"{counted(store.export(path_of(self.out, 'FILE')), 'task')} written to {self.out}")


@dataclass(frozen=True)
class Import(_OfStore):
    """Read tasks that tam store export wrote; creates the store if missing."""

    tasks: File
    """JSONL file to read."""
    replace: bool = False
    """Replace tasks that already have these names."""

    def run(self) -> None:
        """Read."""
        from tam.store.store import Store

        file = path_of(self.tasks, "FILE")
        if not os.path.isfile(file):
            raise UserError(f"{file}: there is no such file")
        with Store(path_of(self.store, "STORE")) as store:
            read = counted(store.import_file(file, replace=self.replace), "task")
            print(f"{read} read; {self.store} has {len(store)}")


@dataclass(frozen=True)
class Readapt(_OfStore):
    """Learn all tasks of a store again, from their examples, with another model; continues if interrupted."""

    run_folder: Run
    """Folder of a finished run or a saved learner: the new model."""

    def run(self) -> None:
        """Learn."""
        from tam.learner.learner import load
        from tam.report.progress import progress

        with self._open() as store, progress("learning the tasks") as tell:
            count = store.readapt(load(self.run_folder), tell)
        print(f"{counted(count, 'task')} learned again; {self.store} now belongs to {self.run_folder}")


def _named(name: str) -> Any:
    return tyro.conf.subcommand(name, prefix_name=False)


@dataclass(frozen=True)
class StoreCommand:
    """Keep learned tasks: put, get, list, nearest, rename, annotate, remove, export, import, readapt."""

    action: (
        Annotated[Put, _named("put")]
        | Annotated[Get, _named("get")]
        | Annotated[List, _named("list")]
        | Annotated[NearestTasks, _named("nearest")]
        | Annotated[Rename, _named("rename")]
        | Annotated[Annotate, _named("annotate")]
        | Annotated[Remove, _named("remove")]
        | Annotated[ExportTasks, _named("export")]
        | Annotated[Import, _named("import")]
        | Annotated[Readapt, _named("readapt")]
    )

    def run(self) -> None:
        """Run the action."""
        self.action.run()


def _words(tokens: list[int | str]) -> str:
    return " ".join(map(str, tokens))


def _first_line(notes: str) -> str:
    line = printable(notes.partition("\n")[0])
    return line if len(line) <= 40 else f"{line[:39]}…"
