"""Tokens as a person types them."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tam.errors import UserError, shown

if TYPE_CHECKING:
    from tam.tasks.vocabulary import Vocabulary

_MOST_SHOWN = 5


def note_unknown(
    vocabulary: "Vocabulary", rows: Iterable[Sequence[int | str]], where: str = "", model: str = "the model"
) -> None:
    """Note on standard error how many tokens of these rows a model does not know, and some of them."""
    tokens = [token for row in rows for token in row]
    if unknown := [token for token in tokens if token not in vocabulary]:
        some = ", ".join(map(shown, list(dict.fromkeys(unknown))[:_MOST_SHOWN]))
        count = f"{len(unknown)} of {len(tokens)} tokens{where}"
        print(f"note: {count} are unknown to {model}: {some}", file=sys.stderr)


class Words:
    """Reads and shows tokens as words, or as a JSON list where words would be ambiguous."""

    def __init__(self, vocabulary: "Vocabulary", text: str | None = None) -> None:
        from tam.tasks.text import text_splitter

        self._vocabulary = vocabulary
        self._split = None if text in (None, "words") else text_splitter(text)

    def is_one_word(self, text: str) -> bool:
        """Whether this is a single word, perhaps one token of an unquoted input."""
        return self._split is None and len(text.split()) == 1 and not text.lstrip().startswith(("[", "{"))

    def read_input(self, text: str, where: str) -> list[Any]:
        """Read the tokens of an input, which may be a JSON object with x."""
        from tam.tasks.jsonl_schema import FormatError, parse_json

        if not text.lstrip().startswith("{"):
            return self.read(text)
        try:
            value = parse_json(text)
        except FormatError as error:
            if text.lstrip().startswith('{"'):
                raise UserError(f"{where}: {error}; inputs are text, lists or objects with x") from None
            return self.read(text)
        if not isinstance(value, dict) or "x" not in value:
            raise UserError(f"{where}: no field 'x'")
        return self.read(value["x"]) if isinstance(value["x"], str) else value["x"]

    def read(self, text: str) -> list[Any]:
        """Read tokens, or a JSON list of them; words become integers as in `Vocabulary.of_words`."""
        from tam.tasks.jsonl_schema import FormatError, parse_json

        if self._split is not None:
            tokens: list[Any] = self._split(text)
        else:
            tokens = self._vocabulary.of_words(text.split())
        if not text.lstrip().startswith("[") or all(token in self._vocabulary for token in tokens):
            return tokens
        try:
            value = parse_json(text)
        except FormatError:
            return tokens
        return value if isinstance(value, list) else tokens

    def show(self, tokens: Sequence[int | str]) -> str:
        """Write tokens as text that `read` turns back into them."""
        if self._split is not None and self.read(joined := "".join(map(str, tokens))) == tokens:
            return joined
        text = " ".join(map(str, tokens))
        is_option = text.startswith("-") and not text[1:2].isdigit()
        return text if self.read(text) == tokens and not is_option else json.dumps(tokens, ensure_ascii=False)
