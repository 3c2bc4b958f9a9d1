"""Tests run with every sort of model."""

import pytest

from tests.methods.small import DECODER, ENCODER, SPECS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `spec` runs with every sort of model; `plain_spec`, with one of each kind."""
    if "spec" in metafunc.fixturenames:
        metafunc.parametrize("spec", list(SPECS.values()), ids=list(SPECS))
    if "plain_spec" in metafunc.fixturenames:
        metafunc.parametrize("plain_spec", [ENCODER, DECODER], ids=["encoder", "decoder"])
    if "compositional_spec" in metafunc.fixturenames:
        chosen = {name: spec for name, spec in SPECS.items() if spec.compositional}
        metafunc.parametrize("compositional_spec", list(chosen.values()), ids=list(chosen))
