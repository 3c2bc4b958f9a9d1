"""Tokens as a person types them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any


class Words:
    """Tokens as a person writes them: as words, and as a JSON list where words would mean others."""

    def __init__(self, tokens: Iterable[int | str]) -> None:
        self._tokens = set(tokens)
        self._integers = {str(token): token for token in self._tokens if isinstance(token, int)}

    def read(self, text: str) -> list[Any]:
        """The tokens; a word is an integer where the vocabulary has it as one."""
        from tam.tasks.jsonl_schema import FormatError, parse_json

        words = [self._integers.get(word, word) for word in text.split()]
        if not text.lstrip().startswith("[") or self._tokens.issuperset(words):
            return words
        try:
            value = parse_json(text)
        except FormatError:
            return words
        return value if isinstance(value, list) else words

    def show(self, tokens: Sequence[int | str]) -> str:
        """A text that is read as these tokens."""
        text = " ".join(map(str, tokens))
        is_option = text.startswith("-") and not text[1:2].isdigit()
        return text if self.read(text) == tokens and not is_option else json.dumps(tokens, ensure_ascii=False)
