"""A model that is served in this process, and the folder of one for servers of their own."""

from collections.abc import Generator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import tam
from tam.serve.app import make_app
from tam.serve.limits import Limits
from tam.serve.metrics import Metrics
from tam.serve.served import Served
from tests.learner.small import untrained
from tests.store.small import with_best

LIMITS = Limits(max_body=20_000, max_rows=64, max_queue=2_000)


@pytest.fixture(scope="session")
def model() -> tam.Learner:
    """With other weights for k = 5 than for k = 1."""
    return with_best(untrained("tam"), seed=1)


@pytest.fixture
def served(model: tam.Learner, tmp_path: Path) -> dict[str, Served]:
    first = Served(model, tam.Store(tmp_path / "tasks.db", model), LIMITS)
    sequences = untrained("tam", "transduction")
    second = Served(sequences, tam.Store(":memory:", sequences), LIMITS)
    return {"labels": first, "sequences": second}


@pytest.fixture
def http(served: dict[str, Served]) -> Generator[TestClient]:
    app = make_app(served, LIMITS, metrics=Metrics())
    with TestClient(app, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture(scope="session")
def folder(model: tam.Learner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "labels"
    model.save(place)
    return place
