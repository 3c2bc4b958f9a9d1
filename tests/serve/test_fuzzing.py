"""Whatever the schema allows, and much that it does not, is answered as the schema says."""

from collections.abc import Generator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import tam
from tam.serve.app import make_app
from tam.serve.served import Served
from tests.serve.conftest import LIMITS
from tests.store.small import pairs

pytestmark = pytest.mark.slow

TOKEN = "a secret token"
CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
)


@pytest.fixture(scope="module")
def fuzzed(model: tam.Learner) -> Generator[schemathesis.BaseSchema]:
    served = Served(model, tam.Store(":memory:", model), LIMITS)
    for name in ("0", "a"):
        served.store.put(name, model.adapt(pairs(1)), pairs(1))
    yield schemathesis.openapi.from_asgi("/openapi.json", make_app({"labels": served}, LIMITS, TOKEN))
    served.close()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_answer_is_as_the_schema_says(mode: GenerationMode, fuzzed: schemathesis.BaseSchema) -> None:
    operations = [found.ok() for found in fuzzed.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == 13
    for operation in operations:
        if mode == GenerationMode.NEGATIVE and operation.path in ("/health", "/models", "/metrics"):
            continue  # there is nothing to get wrong

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=6,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=[
                HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large
            ],
        )  # fmt: skip
        def check(case: Any) -> None:
            case.call_and_validate(checks=list(CHECKS), headers={"Authorization": f"Bearer {TOKEN}"})

        check()
