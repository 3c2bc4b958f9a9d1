"""Tests run with every sort of model."""

import pytest

from tests.methods.small import DECODER, ENCODER, SPECS
from tests.models.conftest import run_with


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    run_with(SPECS, metafunc)
    if "plain_spec" in metafunc.fixturenames:
        metafunc.parametrize("plain_spec", [ENCODER, DECODER], ids=["encoder", "decoder"])
