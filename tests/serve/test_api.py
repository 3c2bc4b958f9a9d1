"""What is asked over HTTP is what the learner says, and mistakes have a status and a reason."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import tam
from tam.pretrained.card import Packed, ShownTask
from tam.serve.app import make_app
from tam.serve.served import Served
from tests.learner.small import untrained
from tests.serve.conftest import LIMITS
from tests.store.small import another, pairs

X = [[1, 2, 3], [], [4]]


def examples(number: int, k: int = 1) -> list[dict[str, Any]]:
    return [{"x": x, "y": y} for x, y in pairs(number, k)]


def learn(http: TestClient, name: str, number: int = 1, k: int = 1, **more: Any) -> Any:
    return http.post("/tasks", json={"name": name, "examples": examples(number, k), **more})


def test_tasks_are_learned_kept_and_used_in_one_batch(http: TestClient, model: tam.Learner) -> None:
    """Also where the model has other weights for a task."""
    for name, k in (("one", 1), ("five", 5)):
        answer = learn(http, name, k=k, notes=f"k = {k}")
        assert answer.status_code == 201
        assert answer.json()["examples"] == examples(1, k)
        assert answer.json()["embedding"]["model"] == model.identities_[k]
    rows = [{"task": name, "x": x} for x in X for name in ("one", "five")]
    found = http.post("/predict", json={"rows": rows, "answers": 2}).json()["rows"]
    rules = {"one": model.adapt(pairs(1)), "five": model.adapt(pairs(1, 5))}
    for row, got in zip(rows, found, strict=True):
        (expected,) = model.predict_proba(rules[row["task"]], [row["x"]])
        probabilities = {one["answer"]: one["probability"] for one in (got, *got["others"])}
        assert probabilities == pytest.approx(expected, abs=1e-5)
        assert got["probability"] == max(probabilities.values())
    nearest = http.get("/nearest", params={"task": "one"}).json()
    assert nearest == {"task": "one", "nearest": [], "compared": 0, "total": 2}
    maps = http.get("/map").json()["maps"]
    assert {tuple(one["shots"]): [place["name"] for place in one["tasks"]] for one in maps} == {
        (1,): ["one"], (5,): ["five"],
    }  # fmt: skip


def test_a_trial_keeps_nothing(http: TestClient, model: tam.Learner) -> None:
    found = http.post("/adapt", json={"examples": examples(2), "inputs": X}).json()
    rule = model.adapt(pairs(2))
    assert found["loss"] == pytest.approx(rule.loss, abs=1e-5)
    assert [row["answer"] for row in found["rows"]] == model.predict(rule, X)
    assert tam.TaskEmbedding.from_json(found["embedding"]).labels == (0, 1)
    assert http.get("/tasks").json() == {"tasks": [], "total": 0}


def test_text_is_split_and_booleans_are_labels(http: TestClient) -> None:
    given = [{"x": "1 2 3", "y": True}, {"x": [4], "y": False}]
    learned = http.post("/tasks", json={"name": "text", "examples": given}).json()
    assert learned["examples"] == [{"x": [1, 2, 3], "y": "true"}, {"x": [4], "y": "false"}]
    rows = [{"task": "text", "x": x} for x in ("3 2 1", [3, 2, 1])]
    of_text, of_tokens = http.post("/predict", json={"rows": rows}).json()["rows"]
    assert of_text == of_tokens


def test_another_model_is_used_by_its_name(http: TestClient, served: dict[str, Served]) -> None:
    body = {"model": "sequences", "examples": [{"x": [1, 2], "y": [2]}], "inputs": [[3]], "answers": 3}
    (row,) = http.post("/adapt", json=body).json()["rows"]
    assert isinstance(row["answer"], list)
    assert len(row["others"]) == 2
    learned = {"model": "sequences", "name": "a", "examples": body["examples"]}
    assert http.post("/tasks", json=learned).status_code == 201
    assert http.get("/tasks/a", params={"model": "sequences"}).status_code == 200
    assert http.get("/tasks/a").status_code == 404
    for beams in (1, 3):
        asked = {"model": "sequences", "rows": [{"task": "a", "x": [3]}], "answers": beams}
        assert len(http.post("/predict", json=asked).json()["rows"][0]["others"]) == beams - 1
    first, second = http.get("/models").json()["models"]
    assert (first["name"], first["kind"], first["shots"]) == ("labels", "classification", [1, 5])
    facts = [second[name] for name in ("name", "max_y", "in_memory", "tasks")]
    assert facts == ["sequences", 2, True, 1]


def test_lists_changes_and_removals(http: TestClient) -> None:
    names = ["a/b c", "ä?#", "beta"]
    for number, name in enumerate(names):
        assert learn(http, name, number).status_code == 201
    listed = http.get("/tasks", params={"search": "B*", "limit": 5}).json()
    assert ([one["name"] for one in listed["tasks"]], listed["total"]) == (["beta"], 3)
    for name in names:
        path = f"/tasks/{quote(name, safe='')}"
        assert http.get(path).json()["name"] == name
        assert http.patch(path, json={"notes": "n", "name": f"{name}!"}).json()["notes"] == "n"
        assert http.get(path).status_code == 404
        assert http.delete(f"/tasks/{quote(name + '!', safe='')}").status_code == 204
    assert http.get("/tasks").json()["total"] == 0
    assert [learn(http, name).status_code for name in "ab"] == [201, 201]
    assert learn(http, "a", 2).status_code == http.patch("/tasks/b", json={"name": "a"}).status_code == 409
    assert learn(http, "a", 2, replace=True).json()["examples"] == examples(2)


BAD: list[tuple[str, Any, int, str]] = [
    ("/predict", {"rows": [{"task": "none", "x": [1]}]}, 404, "there is no task 'none'"),
    ("/predict", {"rows": [{"task": "a", "x": [99]}]}, 422, "input 0: unknown token 99"),
    ("/predict", {"rows": [{"task": "a", "x": [1] * 6}]}, 422, "input 0: 6 tokens; the model takes up to 5"),
    ("/predict", {"rows": [{"task": "a", "x": [1]}] * 65}, 422, "at most 64 rows: got 65"),
    ("/predict", {"rows": [{"task": "a", "x": [1.5]}]}, 422, "rows.0.x.0: Input should be a valid"),
    ("/tasks", {"name": "b", "examples": [{"x": [1], "y": 1.5}]}, 422, "y: Input should be"),
    ("/predict", {"rows": [{"task": "\ud800", "x": [1]}]}, 404, "there is no task"),
    ("/predict", {"rows": [{"task": "a", "x": [1]}], "model": "none"}, 404, "there is no model 'none'"),
    ("/tasks", {"name": "b", "examples": examples(1) * 33}, 422, "at most 64 examples: got 66"),
    ("/tasks", {"name": "b", "examples": [{"x": [1], "y": [1]}]}, 422, "example 0: y: expected a label"),
    ("/tasks", {"name": "a\nb", "examples": examples(1)}, 422, "printable"),
    ("/tasks", {"name": "b", "examples": examples(1), "primitives": ["p"]}, 422, "takes no primitives"),
    ("/tasks", {"name": "x" * 30_000, "examples": []}, 413, "at most 20000 bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "status", "reason"), BAD)
def test_mistakes_have_a_status_and_a_reason(
    path: str, body: Any, status: int, reason: str, http: TestClient
) -> None:
    learn(http, "a")
    answer = http.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text
    assert reason in answer.json()["error"]
    assert http.get("/tasks").json()["total"] == 1


def test_bodies_that_are_not_json(http: TestClient) -> None:
    for content in (b"{]", b"\xff", b"[" * 5_000, b'{"rows": ' + b"9" * 5_000 + b"}"):
        answer = http.post("/predict", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]
    untyped = http.post("/predict", content=b"{}")  # as by curl -d
    assert (untyped.status_code, "Content-Type" in untyped.json()["error"]) == (422, True)
    parts = (b"x" * 9_000 for _ in range(4))  # without a length
    assert http.post("/predict", content=parts).status_code == 413


def test_a_store_of_another_model_is_told(http: TestClient, model: tam.Learner, tmp_path: Path) -> None:
    learn(http, "a")
    with tam.Store(tmp_path / "tasks.db") as store:
        store.readapt(another(model, seed=7))
    answer = http.post("/predict", json={"rows": [{"task": "a", "x": [1]}]})
    assert (answer.status_code, "restart" in answer.json()["error"]) == (409, True)
    assert learn(http, "b").status_code == 409


def test_tokens(served: dict[str, Served]) -> None:
    app = make_app(served, LIMITS, token="a secret token")
    with TestClient(app, base_url="http://example.org") as http:
        assert http.get("/health").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic abc"}):
            for path in ("/tasks", "/metrics", "/models", "/nearest?task=a"):
                answer = http.get(path, headers=headers)
                assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
                assert "error" in answer.json()
            assert http.post("/predict", json={}, headers=headers).status_code == 401
        assert http.get("/tasks", headers={"Authorization": "Bearer a secret token"}).status_code == 200


def test_without_a_token_only_this_machine_is_answered(http: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example:80", ""):
        assert http.get("/tasks", headers={"Host": host}).status_code == 421
    for host in ("localhost", "127.0.0.1:8000", "[::1]:8000", "[::1]"):
        assert http.get("/tasks", headers={"Host": host}).status_code == 200


def test_metrics_count(http: TestClient) -> None:
    learn(http, "a")
    http.get("/tasks/a")
    http.get("/tasks/none")
    http.post("/predict", json={"rows": [{"task": "a", "x": [1]}] * 3})
    text = http.get("/metrics").text
    assert 'tam_requests_total{method="GET",path="/tasks/{name:path}",status="404"} 1.0' in text
    assert 'tam_tasks{model="labels"} 1.0' in text
    assert "tam_request_seconds_bucket" in text


def test_the_description_needs_no_network(http: TestClient) -> None:
    page = http.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "//" not in page.text, "everything that it shows is in it"
    schema = http.get("/openapi.json").json()
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page.text
            assert operation["summary"] in page.text
    for target in re.findall(r'href="#(.*?)"', page.text):
        assert f'id="{target}"' in page.text
    assert http.get("/redoc").status_code == 404


def test_fewer_searches_take_part_in_learning() -> None:
    """And are answered together with tasks that all of them learned; a trial is not learned twice."""
    learner = untrained("tam", starts=4)
    seen: list[tuple[str, int]] = []
    packed = Packed("classification", (ShownTask("a rule", pairs(1)),))
    store = tam.Store(":memory:", learner)
    served = Served(learner, store, LIMITS, lambda *one: seen.append(one), packed)
    with TestClient(make_app({"m": served}, LIMITS), base_url="http://127.0.0.1") as http:
        for name, searches in (("two", 2), ("all", None), ("many", 64)):
            found = learn(http, name, searches=searches).json()
            assert found["embedding"]["searches"] == min(searches or 4, 4)
        rows = [{"task": name, "x": X[0]} for name in ("two", "all", "many")]
        assert http.post("/predict", json={"rows": rows}).status_code == 200
        seen.clear()
        for inputs in (X[:1], X[1:]):
            trial = {"examples": examples(2), "inputs": inputs, "searches": 2}
            found = http.post("/adapt", json=trial).json()
            assert found["embedding"]["searches"] == 2
            rule = tam.TaskEmbedding.from_json(found["embedding"])
            assert [row["answer"] for row in found["rows"]] == learner.predict(rule, inputs)
        assert seen == [("adapt", 2), ("predict", 1), ("predict", 2)]
        assert learn(http, "one", searches=1).status_code == 422
        (model,) = http.get("/models").json()["models"]
        assert (model["searches"], model["benchmark"], model["hidden"]) == (4, "classification", 1)
        assert http.get("/hidden/0").json() == {"name": "a rule", "examples": examples(1)}
        assert http.get("/hidden/1").status_code == 404
