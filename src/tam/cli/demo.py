"""`tam demo`: type examples of a rule, and see what a pretrained model makes of them."""

import os
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

from tam.cli.options import Name, optional
from tam.cli.use import error_in, split_text
from tam.cli.words import Words
from tam.errors import UserError, counted
from tam.io import path_of

if TYPE_CHECKING:
    from tam.learner.learner import Learner
    from tam.learner.task_embedding import TaskEmbedding

_ARROW = re.compile(r"\s*(?:->|=>|→)\s*")
_CELL = re.compile(r"\(?\s*(\d)\s*,\s*(\d)\s*\)?")
_SEARCHES = 2
"""Most searches to learn a rule with, as in the playground; all eight take longer."""
_GIVEN = {"classification": 40, "transduction": 8, "pathfinding": 5}
"""Most examples of a hidden rule that the model learns from."""
_ASKED = {"classification": 6, "transduction": 6, "pathfinding": 3}
_HELP = {
    "classification": 'Type an input and its label, "3 1 4 1 5 -> yes": {max_x} numbers from 0 to 11, and '
    "up to {classes} labels of your own.",
    "transduction": 'Type an input and its answer, "3 1 4 1 5 -> 5 1 4 1 3": {max_x} numbers from 0 to 11.',
    "pathfinding": 'Type a start and an end as row,column, "7,0 -> 1,4": the model sees 5 shortest paths,'
    "\nnothing else. Then type 8 obstacles of your own by top-left cell: 1,2 3,5 9,9 2,2 6,2 4,7 2,6 8,1",
}
_OWN = "Type an input and its answer, x -> y: an input has up to {max_x} tokens{split}."


@dataclass(frozen=True)
class Demo:
    """Type examples of a rule, and see the answers of a pretrained model; nothing is trained."""

    model: Name = "classification"
    """classification, transduction or pathfinding; or the folder of a run."""
    examples: Annotated[str | None, optional("FILE")] = None
    """Run without prompts: learn from a JSONL file, with one example {"x": [tokens], "y": label or [tokens]}
    per line, and answer its lines without "y"."""

    def run(self) -> None:
        """Answer inputs that are typed, or those in the file."""
        started = time.monotonic()
        import torch

        from tam.learner.learner import load

        torch.set_num_threads(1)  # more threads gain nothing on so few rows, and lose time on a busy machine
        learner = load(self.model)
        talk = _Talk(self.model, learner)
        weights = sum(weight.numel() for weight in learner.model_.parameters())
        seconds = time.monotonic() - started
        print(f"tam demo: {talk.benchmark}, {weights:,} weights, loaded in {seconds:.1f} s")
        if self.examples is not None:
            print()
            talk.answer_file(self.examples)
            return
        for line in chain([""] if talk.hidden else [], ["?"], _typed()):
            if line in ("q", "quit", "exit"):
                break
            try:
                talk.take(line)
            except UserError as error:
                print(f"   {error}")


def _typed() -> Iterator[str]:
    """Read lines until the end of the input, with a prompt on a terminal."""
    prompt = "> " if sys.stdin.isatty() else ""
    while True:
        try:
            yield input(prompt).strip()
        except EOFError:
            print()
            return


class _Talk:
    """A conversation about one rule at a time."""

    def __init__(self, name: str, learner: "Learner") -> None:
        from tam.pretrained import resolve
        from tam.pretrained.card import read_packed

        self.learner, self.spec = learner, learner.model_.spec
        packed = read_packed(resolve(name))
        self.benchmark: str = packed.benchmark or self.spec.kind
        self.is_known = packed.benchmark is not None
        self.text = learner.text_
        self.words = Words(learner.vocabulary_, self.text)
        self.between = "" if self.text == "characters" else " "
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        self.hidden = list(packed.tasks)
        self.examples: list[tuple[list[Any], Any]] = []
        self.rule: TaskEmbedding | None = None

    def explain(self) -> None:
        """Explain what to type."""
        text = (_HELP[self.benchmark] if self.is_known else _OWN).format(
            max_x=self.spec.longest_x,
            classes=self.spec.classes,
            split=", separated by spaces" if self.text in (None, "words") else "",
        )
        enter = "Enter shows another hidden rule, " if self.hidden else ""
        print(f"\nYour turn. {text}")
        print(f"An input alone is answered; {enter}new forgets your examples, q quits.")

    def take(self, line: str) -> None:
        """Handle a typed line."""
        if not line:
            self.show_hidden_rule()
        elif line in ("?", "help"):
            self.explain()
        elif line == "new":
            self.examples, self.rule = [], None
            print("   forgotten: give examples of another rule")
        elif _ARROW.search(line):
            x, y = _ARROW.split(line, maxsplit=1)
            self._add(x, y)
        else:
            self._ask([self._input(line)])

    def _input(self, text: str) -> list[Any]:
        if self.benchmark == "pathfinding":
            return self._cells(text)
        return self.words.read(text)

    def _cells(self, text: str) -> list[int]:
        """Parse cells given as numbers or as row,column."""
        numbered = _CELL.sub(lambda match: f" {10 * int(match[1]) + int(match[2])} ", text)
        try:
            cells = [int(word) for word in numbered.split()]
        except ValueError:
            raise UserError(f'cells must be row,column from 0,0 to 9,9: got "{text}"') from None
        if bad := [cell for cell in cells if not 0 <= cell <= 99]:
            raise UserError(f"cells must be numbers from 0 to 99, or row,column: got {bad[0]}")
        return cells

    def _add(self, x: str, y: str) -> None:
        """Add an example, if the model can take it."""
        from tam.learner.inputs import ExamplesError

        if self.benchmark == "pathfinding":
            cells, path = self._cells(x), self._cells(y)
            if len(cells) == len(path) == 1:
                self._show_paths(cells[0], path[0])
                return
            example: tuple[list[Any], Any] = (cells, [100 + cell for cell in path])
        else:
            answer = self.words.read(y) if self.spec.kind == "transduction" else y.strip()
            if not answer:
                raise UserError('there is no answer after the arrow: type "input -> answer"')
            example = (self.words.read(x), answer)
        try:
            self.learner.intake.task("your rule", [*self.examples, example], ())
        except ExamplesError as error:
            raise UserError(error.problem) from None
        self.examples.append(example)
        self.rule = None
        count = len(self.examples)
        print(f"   {counted(count, 'example')}. Another, or an input to answer?")

    def _learn(self, examples: list[tuple[list[Any], Any]]) -> "TaskEmbedding":
        started = time.monotonic()
        rule = self.learner.adapt(examples, searches=_SEARCHES)
        fitted = ""
        if self.learner.method.fits_vector:
            fitted = f": {self.learner.model_.task_size} numbers were fitted; the network did not change"
        print(
            f"Learned from {counted(len(examples), 'example')} in {time.monotonic() - started:.1f} s{fitted}."
        )
        return rule

    def _ask(self, inputs: list[list[Any]], truths: list[Any] | None = None) -> int:
        """Answer inputs, and return how many answers equal the truths, if given."""
        from tam.report.demo import answer_line, grids, is_right

        if not self.examples:
            raise UserError('no examples yet: type one as "input -> answer" first')
        if self.rule is None:
            self.rule = self._learn(self.examples)
        chances: list[dict[Any, float]] = self.learner.predict_proba(self.rule, inputs)
        answers: list[Any] = [max(each, key=lambda answer: each[answer]) for each in chances]
        each_truth: list[Any] = [None] * len(inputs) if truths is None else truths
        if self.benchmark != "pathfinding":
            for x, chance, truth in zip(inputs, chances, each_truth, strict=True):
                print(answer_line(x, chance, truth, self.between))
        else:
            print(grids(inputs, answers, colour=self.colour))
            for answer, truth in zip(answers, each_truth, strict=True):
                if truth is not None and not is_right(answer, truth):
                    print(f"   ✗ the shortest path is {' '.join(str(cell - 100) for cell in truth)}")
        return sum(is_right(answer, truth) for answer, truth in zip(answers, each_truth, strict=True))

    def show_hidden_rule(self) -> None:
        """Let the model learn a test task, and reveal its rule at the end."""
        if not self.hidden:
            print("   there are no more hidden rules: give examples of your own")
            return
        name, examples = self.hidden.pop(0)
        asked = min(_ASKED[self.benchmark], max(1, len(examples) // 3))
        given = min(_GIVEN[self.benchmark], len(examples) - asked)
        print(f"\nA rule that training never showed, from {counted(given, 'example')}, such as")
        kept = self.examples, self.rule
        try:
            self._show_rule(examples[:given], examples[given : given + asked])
        finally:
            self.examples, self.rule = kept
        print(f'The rule was: "{name}".')

    def _show_paths(self, start: int, end: int) -> None:
        """Let the model learn a start and an end from shortest paths around random obstacles."""
        given = _GIVEN["pathfinding"]
        examples = _random_paths(start, end, given + _ASKED["pathfinding"])
        print(f"The model is shown {given} shortest paths, such as")
        self._show_rule(examples[:given], examples[given:])

    def _show_rule(self, given: list[tuple[list[Any], Any]], asked: list[tuple[list[Any], Any]]) -> None:
        from tam.report.demo import grids
        from tam.report.words import example_lines

        if self.benchmark == "pathfinding":
            print(grids([x for x, _ in given[:3]], [y for _, y in given[:3]], colour=self.colour))
        else:
            print(example_lines(given[:5], indent=3, between=self.between))
        self.examples, self.rule = given, None
        right = self._ask([x for x, _ in asked], [y for _, y in asked])
        print(f"{right} of {len(asked)} new inputs right.")

    def answer_file(self, name: str) -> None:
        """Learn from the examples in a file, and answer its lines without y; if it has none, the examples."""
        from tam.learner.inputs import ExamplesError, InputError
        from tam.tasks.jsonl import read_questions

        file = path_of(name, "--examples")
        by_line, questions = read_questions(file)
        self.examples = split_text(by_line.values(), self.text, self.learner)
        try:
            if questions:
                inputs = split_text(((x, None) for x in questions.values()), self.text, self.learner)
                self._ask([x for x, _ in inputs])
            else:
                print("Every line has y: answering the examples themselves.")
                right = self._ask([x for x, _ in self.examples], [y for _, y in self.examples])
                print(f"{right} of {len(self.examples)} right.")
        except ExamplesError as error:
            raise error_in(file, list(by_line), error) from None
        except InputError as error:
            raise UserError(f"{file}:{list(questions)[error.number]}: x: {error.problem}") from None


def _random_paths(start: int, end: int, count: int) -> list[tuple[list[Any], Any]]:
    """Random layouts of 8 obstacles that leave these cells free, each with the shortest path."""
    import random

    from tam.tasks.pathfinding import BLOBS, CELLS, OFFSET, blob, shortest_path

    if start == end:
        raise UserError("start and end must be different cells")
    free = [cell for cell in range(CELLS) if not {start, end}.intersection(blob(cell))]
    examples: list[tuple[list[Any], Any]] = []
    while len(examples) < count:
        layout = random.choices(free, k=BLOBS)
        if path := shortest_path(layout, start, end):
            examples.append((layout, [OFFSET + cell for cell in path]))
    return examples
