"""The command `tam` in the process of the tests."""

import sys

import pytest

from tam.__main__ import main


def tam(*words: str) -> None:
    """Run it with these words as a person would; an error that it tells is a SystemExit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tam", *words])
        main()
