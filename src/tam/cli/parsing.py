"""How the words of the command line become numbers and paths, or an error that says what was expected."""

from dataclasses import replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
    UnsupportedTypeAnnotationError,
)

from tam.errors import shown
from tam.io import path_of

REGISTRY = ConstructorRegistry()
"""The rules of all commands."""

_Spec = PrimitiveConstructorSpec[Any]

_ONE = {int: "an integer", float: "a number"}
_MANY = {int: "integers", float: "numbers"}


def path(option: str, metavar: str) -> _Spec:
    """A path that must have a name; of an option that may be left out, too."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: path_of(words[0], option),
        is_instance=lambda value: value is None or isinstance(value, Path),
        str_from_instance=lambda value: [str(value)],
    )


def _expected(given: Any) -> str | None:
    """What a type of numbers takes, in words; None if it is none.

    >>> _expected(tuple[int, int] | None)
    '2 integers, or None'
    """
    if get_origin(given) is UnionType and NoneType in get_args(given):
        (some,) = set(get_args(given)) - {NoneType}
        return f"{found}, or None" if (found := _expected(some)) else None
    if get_origin(given) is tuple and get_args(given)[0] in _MANY:
        first, *rest = get_args(given)
        return _MANY[first] if rest == [Ellipsis] else f"{1 + len(rest)} {_MANY[first]}"
    return _ONE.get(given)


@REGISTRY.primitive_rule
def _numbers(
    info: PrimitiveTypeInfo,
) -> _Spec | UnsupportedTypeAnnotationError | None:
    """As tyro reads numbers, with an error in words: tyro's own is in terms of Python's types."""
    if info.type in _being_asked or (expected := _expected(info.type)) is None:
        return None
    _being_asked.append(info.type)
    try:
        spec = ConstructorRegistry.get_primitive_spec(info)
    finally:
        _being_asked.pop()
    if isinstance(spec, UnsupportedTypeAnnotationError):
        return spec

    def read(words: list[str]) -> Any:
        try:
            return spec.instance_from_str(words)
        except ValueError:
            raise ValueError(f"expected {expected}, not {shown(' '.join(words))}") from None

    return replace(spec, instance_from_str=read)


_being_asked: list[Any] = []
"""The types that tyro is asked about, where our rule gives way to its own."""
