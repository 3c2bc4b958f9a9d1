"""Learners that are fitted once, for tests that only ask them."""

import pytest

import tam
from tests.learner.small import small_benchmark


@pytest.fixture(scope="session")
def classifier() -> tam.Learner:
    return tam.Learner(preset="smoke").fit(small_benchmark("classification"))


@pytest.fixture(scope="session")
def transducer() -> tam.Learner:
    return tam.Learner(preset="smoke").fit(small_benchmark("transduction"))
