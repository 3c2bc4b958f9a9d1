"""Split text into tokens: characters, words, or the pieces of a tokenizer."""

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from tam.errors import UserError, shown
from tam.tasks.vocabulary import Token

TOKENIZER = "tokenizer.json"
TextSplitter = Callable[[str], list[Token]]
_WORD = re.compile(r"[^\W\d_]{2,}")


def text_splitter(text: str) -> TextSplitter:
    """Return a function that splits text into tokens.

    Args:
        text: `characters`, `words` (separated by white space), or a Hugging Face file `tokenizer.json`, or a
            folder that has one.

    >>> text_splitter("characters")("tea")
    ['t', 'e', 'a']
    >>> text_splitter("words")("a cup of  tea")
    ['a', 'cup', 'of', 'tea']
    """
    if text == "characters":
        return list
    if text == "words":
        return lambda value: list[Token](value.split())
    if (file := tokenizer_named(text)) is None:
        raise UserError(
            f"text must be 'characters', 'words' or a file tokenizer.json, and there is no file {shown(text)}"
        )
    tokenizer = read_tokenizer(file)
    return lambda value: tokenizer.encode(value, add_special_tokens=False).tokens


def is_prose(inputs: Sequence[Any]) -> bool:
    """Whether half of these inputs or more are text with several words, not lists or symbols.

    >>> is_prose(["my card was stolen", "help!"]), is_prose(["5 a 2", "[5, 2]"]), is_prose([["a", "list"]])
    (True, False, False)
    """
    return 2 * sum(map(_has_words, inputs)) >= max(1, len(inputs))


def _has_words(value: Any) -> bool:
    if not isinstance(value, str) or value.lstrip().startswith("["):
        return False
    return sum(_WORD.search(word) is not None for word in value.split()) > 1


def tokenizer_named(text: object) -> str | None:
    """The tokenizer file that `text` names, directly or by its folder; None if it names neither."""
    if text in ("characters", "words") or not isinstance(text, str | os.PathLike):
        return None
    file = os.path.join(text, TOKENIZER) if os.path.isdir(text) else str(text)
    return file if os.path.isfile(file) else None


def tokenizer_file(encoder: str) -> str:
    """The tokenizer file of a Hugging Face encoder: in a folder, or downloaded by its name on the hub."""
    try:
        from transformers.utils.hub import cached_file
    except ImportError:
        raise UserError("a text encoder needs transformers: pip install 'tam-fewshot[text]'") from None
    if os.path.isabs(encoder) and not os.path.isdir(encoder):
        raise UserError(f"{encoder}: there is no such folder")
    try:
        file = cached_file(encoder, TOKENIZER)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{encoder}: has no tokenizer of a text encoder: {reason}") from None
    assert file is not None
    return file


def read_tokenizer(file: str) -> Any:
    """Read a Hugging Face tokenizer."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise UserError("a tokenizer file needs tokenizers: pip install 'tam-fewshot[text]'") from None
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # tokenizers raises nothing more specific
        raise UserError(f"{file}: not the file of a tokenizer: {error}") from None
