"""A learner as if it had been fitted, and one with other weights for k = 5 than for k = 1."""

from collections.abc import Generator
from pathlib import Path

import pytest

import tam
from tests.learner.small import untrained
from tests.store.small import with_best


@pytest.fixture(scope="session")
def learner() -> tam.Learner:
    return untrained("tam")


@pytest.fixture(scope="session")
def by_k() -> tam.Learner:
    """A learner of two sets of weights."""
    return with_best(untrained("tam"), seed=1)


@pytest.fixture
def store(learner: tam.Learner, tmp_path: Path) -> Generator[tam.Store]:
    with tam.Store(tmp_path / "tasks.db", learner) as made:
        yield made
