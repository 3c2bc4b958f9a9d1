"""The vocabulary: tokens as the user writes them, and the ids that the arrays hold."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError, shown

Token = int | str


def sort_key(value: Token) -> tuple[bool, Token]:
    """Integers by value, then strings: an order that mixed values have."""
    return isinstance(value, str), value


def plain(value: Any) -> Token | None:
    """An integer or a string of any library as Python's own; None for anything else.

    >>> plain(np.int64(3)), plain(True), plain(3.0)
    (3, None, None)
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


class Vocabulary:
    """Tokens in the order of their ids.

    >>> letters = Vocabulary(["a", "b"])
    >>> letters.encode(["b", "a"])
    [1, 0]
    """

    def __init__(self, tokens: Iterable[Token]) -> None:
        self.tokens = tuple(tokens)
        self._ids = {token: index for index, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            raise ValueError("a vocabulary has every token once")

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: Token) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Vocabulary) and self.tokens == other.tokens)

    def __hash__(self) -> int:
        return hash(self.tokens)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self)} tokens"

    def encode(self, tokens: Iterable[Token]) -> list[int]:
        """The ids of these tokens; a token that is not in the vocabulary is an error."""
        try:
            return [self._ids[token] for token in tokens]
        except KeyError as error:
            raise UserError(
                f"unknown token {shown(error.args[0])}: not one of the {len(self)} tokens of the vocabulary"
            ) from None

    def decode(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[Token]:
        """The tokens with these ids."""
        return [self.tokens[int(index)] for index in ids]

    def ids_of(self, other: "Vocabulary") -> NDArray[np.int64]:
        """The id here of each token of another vocabulary, in the order of its ids there; −1 if it has none.

        >>> Vocabulary(["a", "b"]).ids_of(Vocabulary(["b", "c"])).tolist()
        [1, -1]
        """
        return np.array([self._ids.get(token, -1) for token in other.tokens], dtype=np.int64)
