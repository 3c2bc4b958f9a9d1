"""The vocabulary: tokens as the user writes them, and the ids that arrays hold."""

import operator
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tam.errors import UserError, shown

Token = int | str


def sort_key(value: Token) -> tuple[bool, Token]:
    """Sorts integers by value, then strings."""
    return isinstance(value, str), value


def plain_token(value: Any) -> Token | None:
    """Convert an integer or string of any library to Python's own; None for anything else.

    >>> plain_token(np.int64(3)), plain_token(True), plain_token(3.0)
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


def is_integer(word: Token) -> bool:
    """Whether a word is an integer as Python writes it: `03` and `+3` are not."""
    digits = str(word).removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 1000 and str(int(word)) == word


def plain_label(value: Any) -> Token | None:
    """Convert a label as `plain_token` does; a boolean becomes "true" or "false"."""
    return str(bool(value)).lower() if isinstance(value, bool | np.bool_) else plain_token(value)


def listed(value: Any) -> list[Any] | None:
    """Convert an array or any other ordered iterable to a list; None for anything else."""
    if isinstance(value, str | bytes | Mapping | set | frozenset):
        return None
    try:
        return list(value)
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
            raise ValueError("the tokens of a vocabulary must differ")

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
        """The ids of these tokens, all of which must be in the vocabulary."""
        try:
            return [self._ids[token] for token in tokens]
        except KeyError as error:
            token = shown(error.args[0])
            raise UserError(
                f"unknown token {token}: not one of the {len(self)} tokens of the vocabulary"
            ) from None

    def id_of(self, token: Token, default: int) -> int:
        """The id of a token, or the default for one that is not in the vocabulary."""
        return self._ids.get(token, default)

    def decode(self, ids: Iterable[int] | NDArray[np.integer[Any]]) -> list[Token]:
        """The tokens with these ids."""
        return [self.tokens[index] for index in ids]

    @cached_property
    def _only_integers(self) -> bool:
        return all(isinstance(token, int) for token in self.tokens)

    def of_words(self, words: Iterable[Token]) -> list[Token]:
        """Words as tokens: an integer if the vocabulary has that one, or has only integers.

        >>> Vocabulary([1, 2]).of_words(["1", "57", "x"]), Vocabulary([1, "x"]).of_words(["1", "57"])
        ([1, 57, 'x'], [1, '57'])
        """
        return [
            int(word) if is_integer(word) and (self._only_integers or int(word) in self) else word
            for word in words
        ]

    def like(self, other: "Vocabulary") -> "Vocabulary":
        """This vocabulary, with integers for their digits or the reverse, where `other` has only those.

        >>> Vocabulary(["1", "a"]).like(Vocabulary([1, 2])).tokens
        (1, 'a')
        """
        forms = {str(token): token for token in other.tokens}
        others = (token if token in other else forms.get(str(token), token) for token in self.tokens)
        pairs = zip(self.tokens, others, strict=True)
        return Vocabulary(token if form in self else form for token, form in pairs)

    def ids_of(self, other: "Vocabulary") -> NDArray[np.int64]:
        """This vocabulary's id for each token of another, in its order; -1 for unknown tokens.

        >>> Vocabulary(["a", "b"]).ids_of(Vocabulary(["b", "c"])).tolist()
        [1, -1]
        """
        return np.array([self._ids.get(token, -1) for token in other.tokens], dtype=np.int64)
