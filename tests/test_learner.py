"""Fit, adapt, predict, evaluate, save, load: as a user would."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch

import tam
from tam.commands.train import Train
from tam.config import Config
from tam.decoding import decode
from tam.evaluation import Choice
from tam.methods import METHODS, make_method
from tam.models import ModelSpec, build_model
from tam.presets import Preset
from tam.tasks.task import Sequences
from tam.tasks.vocabulary import Vocabulary
from tam.training.saved import Saved

_PARTS = ("network", "settings", "training", "protocol")
X = [3, 1, 4, 1, 5]


@pytest.fixture(scope="module")
def classifier() -> tam.Learner:
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    return tam.Learner(preset="smoke").fit(tasks)


@pytest.fixture(scope="module")
def transducer() -> tam.Learner:
    tasks = tam.benchmark("transduction", train=20, valid=2, test=2)
    return tam.Learner(preset="smoke").fit(tasks)


@pytest.fixture(scope="module")
def composer() -> tam.Learner:
    tasks = tam.benchmark("transduction", compositional=True, train=300, valid=2, test=2)
    return tam.Learner(preset="smoke").fit(tasks)


def untrained(method: str, kind: Any = "classification", **shape: Any) -> tam.Learner:
    """A learner of 12 tokens as if it had been fitted."""
    shape |= {"classes": 4} if kind == "classification" else {"max_y": 2}
    spec = ModelSpec(kind=kind, vocabulary=12, max_x=5, layers=1, width=8, heads=2, **shape)
    config = Config.from_preset("smoke", method)
    made = make_method(config)
    model = build_model(made.spec(spec, 3), torch.Generator().manual_seed(0))
    primitives = {str(number): number for number in range(spec.primitives)} or None
    choice = Choice(2, 0.1) if config.settings.by_steps else Choice(0, 0.0)
    choices = dict.fromkeys(config.protocol.shots, choice)
    return tam.Learner.of(Saved(config, model, Vocabulary(range(12)), primitives, choices))


def test_a_task_is_learned_from_the_users_own_labels(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, "odd"), ([2, 2, 2, 2, 2], "even"), ([1, 1, 1, 1, 1], "odd")])
    assert rule.labels == ("even", "odd")
    assert set(classifier.predict(rule, [X, [2, 4, 6, 8, 10]])) <= {"even", "odd"}
    for row in classifier.predict_proba(rule, [X]):
        assert sum(row.values()) == pytest.approx(1.0, abs=1e-5)
        assert set(row) == {"even", "odd"}


def test_the_embedding_fits_the_examples_better_than_a_blank_one(classifier: tam.Learner) -> None:
    examples = [(X, 1), ([2, 2, 2, 2, 2], 0), ([0, 0, 0, 0, 1], 1), ([9, 9, 9, 2, 2], 0)]
    rule = classifier.adapt(examples)
    before = {name: p.clone() for name, p in classifier.model_.named_parameters()}
    again = classifier.adapt(examples)
    assert np.linalg.norm(rule.vector) > 0
    assert again == rule, "adapting is deterministic"
    for name, parameter in classifier.model_.named_parameters():
        assert torch.equal(parameter, before[name]), "the network is frozen"


def test_tasks_learned_together_equal_tasks_learned_alone(classifier: tam.Learner) -> None:
    tasks = [[(X, 0), ([1] * 5, 1)], [(X, 1), ([1] * 5, 0), ([2] * 5, 0), ([3] * 5, 1)]]
    together = classifier.adapt_many(tasks)
    for rule, examples in zip(together, tasks, strict=True):
        assert np.allclose(rule.vector, classifier.adapt(examples).vector, atol=1e-5)


def test_rows_of_different_tasks_in_one_batch(classifier: tam.Learner) -> None:
    rules = classifier.adapt_many([[(X, "a"), ([1] * 5, "b")], [(X, 7), ([1] * 5, 8), ([2] * 5, 9)]])
    inputs = [[i % 12, 1, 2, 3, 4] for i in range(12)]
    mixed = classifier.predict_proba([rules[i % 2] for i in range(12)], inputs)
    for i, row in enumerate(mixed):
        (alone,) = classifier.predict_proba(rules[i % 2], [inputs[i]])
        assert row == pytest.approx(alone, abs=1e-5)


def test_sequences_are_decoded_to_their_end(transducer: tam.Learner) -> None:
    rule = transducer.adapt([(X, [5, 1, 4, 1, 3]), ([1, 2, 3], [3, 2, 1])])
    answers = transducer.predict(rule, [X, [], [1, 2]])
    assert all(isinstance(answer, list) and len(answer) <= 5 for answer in answers)
    (beams,) = transducer.predict_proba(rule, [X], beams=3)
    scores = list(beams.values())
    assert len(beams) == 3
    assert scores == sorted(scores, reverse=True)
    (greedy,) = transducer.predict_proba(rule, [X])
    assert scores[0] >= next(iter(greedy.values())) - 1e-7


def test_beam_search_finds_the_best_of_all_sequences(transducer: tam.Learner) -> None:
    """With as many beams as there are beginnings nothing is lost, so the best is the best there is."""
    rule = transducer.adapt([([1, 2], [3, 2])])
    model = transducer.model_
    state = torch.from_numpy(rule.vector)[None]
    task = transducer._intake.task("t", [([1, 2], [3])], ())  # pyright: ignore[reportPrivateUsage]
    from tam.models.collate import collate

    batch = collate([task], [np.arange(1)])
    (wide,) = decode(transducer.method, model, state, batch, beams=64)
    (narrow,) = decode(transducer.method, model, state, batch, beams=1)
    assert wide.log_probs[0] >= narrow.log_probs[0] - 1e-6
    assert len({tuple(s) for s in wide.sequences}) == 64, "beams never repeat a sequence"
    for sequence, value in zip(wide.sequences[:5], wide.log_probs[:5], strict=True):
        row = transducer._intake.task("t", [([1, 2], transducer.vocabulary_.decode(sequence))], ())  # pyright: ignore[reportPrivateUsage]
        scored = collate([row], [np.arange(1)])
        log_prob = model(state.unsqueeze(1), scored).sum()
        assert float(log_prob.detach()) == pytest.approx(value, abs=1e-4)


def test_a_compositional_task_has_one_unknown_primitive(composer: tam.Learner) -> None:
    known = list(composer.primitives_ or {})
    names = [next(n for n in known if n.startswith("mul")), "something new", "reverse"]
    names[2] = next(n for n in known if n.startswith(("sort", "swap", "shift", "reverse")))
    rule = composer.adapt([(X, X)], primitives=names)
    assert composer.predict(rule, [X])
    with pytest.raises(tam.UserError, match="exactly one"):
        composer.adapt([(X, X)], primitives=["new", "newer", names[2]])
    with pytest.raises(tam.UserError, match="needs the task's primitives"):
        composer.adapt([(X, X)])


@pytest.mark.parametrize(
    ("examples", "message"),
    [
        ([], "from one example or more, not from none"),
        ([([3, 99], 1)], "unknown token 99"),
        ([([1] * 6, 1)], "6 tokens; the model takes up to 5"),
        ([([1], label) for label in range(5)], "5 different labels, but the model knows 4"),
        ([([1], 1.5)], "a label, an integer or a string"),
        ([("12", 1)], "a list of tokens"),
        ([(1, 1)], "a list of tokens"),
        ([[1, 2, 3]], "a pair"),
    ],
)
def test_what_cannot_be_learned_says_why(
    classifier: tam.Learner, examples: list[tuple[object, object]], message: str
) -> None:
    with pytest.raises(tam.UserError, match=message):
        classifier.adapt(examples)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1] * 6, "6 tokens; the model takes up to 5"),
        ([1, 99], "unknown token 99: not one of the 12 tokens"),
        ("12", "expected a list of tokens, not '12'"),
    ],
)
def test_an_error_says_which_row_is_wrong(classifier: tam.Learner, row: Any, message: str) -> None:
    rule = classifier.adapt([(X, 0), ([1] * 5, 1)])
    with pytest.raises(tam.UserError, match=f"^input 2: {message}"):
        classifier.predict(rule, [X, X, row])
    with pytest.raises(tam.UserError, match=f"^task 1, example 3, x: {message}"):
        classifier.adapt_many([[(X, 0)], [(X, 0), (X, 1), (X, 1), (row, 0)]])


def test_one_example_and_a_thousand(classifier: tam.Learner) -> None:
    assert classifier.predict(classifier.adapt([(X, 3)]), [X]) == [3]
    many = [([i % 12, i // 12 % 12, 0, 1, 2], i % 4) for i in range(1000)]
    assert len(classifier.predict(classifier.adapt(many), [X] * 50)) == 50


@pytest.mark.parametrize("benchmark_name", ["classification", "transduction", "pathfinding"])
def test_a_benchmark_s_presets_are_those_of_the_command(
    benchmark_name: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the same learner is fitted again, to another benchmark."""
    trained: list[Config] = []

    def stop(config: Config, *_: Any) -> None:
        trained.append(config)
        raise InterruptedError

    monkeypatch.setattr("tam.learner.train", stop)
    tasks = tam.benchmark(benchmark_name, train=4, valid=2, test=2, examples=8)
    others = tam.benchmark("transduction", train=4, valid=2, test=2, examples=8)
    for preset in get_args(Preset):
        given: dict[str, Any]
        for given in ({}, {"inner_rate": 0.7}):
            learner = tam.Learner(preset=preset, **given)
            words = ["--preset", preset, "--out", "unused"]
            command: Any = Train.with_defaults_of([benchmark_name, *words])
            expected = Config(**{part: command.__dataclass_fields__[part].default for part in _PARTS})
            for fitted in (others, tasks):
                with pytest.raises(InterruptedError):
                    learner.fit(fitted)
            assert trained[-1] == expected.override(**given)
            learner.config = expected.override(seed=3)
            with pytest.raises(InterruptedError):
                learner.fit(others)
            assert trained[-1] == learner.config  # one's own config is not touched


@pytest.mark.parametrize("method", ["matching", "prototypical"])
def test_methods_for_classification_say_so(method: str) -> None:
    tasks = tam.benchmark("pathfinding", train=4, valid=2, test=2, examples=8)
    with pytest.raises(tam.UserError, match=f"^{method} is for classification only, .*snail, nearest$"):
        tam.Learner(method, "smoke").fit(tasks)


def test_options_without_effect_are_errors(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, 3)])
    given: Any
    for given in (0, 2, 7, 1.5, "1", None):
        for ask in (classifier.predict, classifier.predict_proba):
            with pytest.raises(tam.UserError, match=f"beams has no effect on classification.*{given!r}"):
                ask(rule, [X], beams=given)
    with pytest.raises(tam.UserError, match="2 inputs but 1 task embeddings"):
        classifier.predict([rule], [X, X])
    with pytest.raises(tam.UserError, match="did you mean 'steps'"):
        tam.Learner(step=3)


def test_saved_and_loaded_in_a_fresh_process(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path / "m")
    rule = classifier.adapt([(X, "a"), ([1] * 5, "b")])
    rule.save(tmp_path / "rule.json")
    code = (
        "import tam, sys; l = tam.load(sys.argv[1]); r = tam.TaskEmbedding.load(sys.argv[2]);"
        "print(l.predict_proba(r, [[3, 1, 4, 1, 5]])[0]['a'])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "m"), str(tmp_path / "rule.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    (expected,) = classifier.predict_proba(rule, [X])
    assert float(done.stdout) == pytest.approx(expected["a"], abs=1e-6)
    assert tam.TaskEmbedding.load(tmp_path / "rule.json") == rule


def test_rules_are_plain_values(classifier: tam.Learner, transducer: tam.Learner) -> None:
    one = classifier.adapt([(X, 0), ([1] * 5, 1)])
    two = classifier.adapt([(X, 0), ([2] * 5, 1)])
    mean = tam.TaskEmbedding.mean([one, two])
    assert np.allclose(mean.vector, (one.vector + two.vector) / 2, atol=1e-6)
    assert one.similarity(one) == pytest.approx(1.0, abs=1e-5)
    assert classifier.predict(mean, [X])[0] in (0, 1)
    other = transducer.adapt([(X, X)])
    with pytest.raises(tam.UserError, match="different models"):
        one.similarity(other)
    with pytest.raises(tam.UserError, match="belongs to the model"):
        transducer.predict(one, [X])


@pytest.mark.parametrize("method", ["snail", "matching", "nearest"])
def test_rules_that_are_examples_have_no_mean_and_no_similarity(method: str, tmp_path: Path) -> None:
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    shots = {} if method == "nearest" else {"shots": (1,), "rows": 32}
    learner = tam.Learner(method, preset="smoke", **shots).fit(tasks)
    rule = learner.adapt([(X, 0), ([1] * 5, 1)])
    rule.save(tmp_path / "rule.json")
    for one in (rule, tam.TaskEmbedding.load(tmp_path / "rule.json")):
        assert one == rule
        assert learner.predict(one, [X]) == learner.predict(rule, [X])
        with pytest.raises(tam.UserError, match="hold the examples themselves"):
            tam.TaskEmbedding.mean([one])
        with pytest.raises(tam.UserError, match="hold the examples themselves"):
            one.similarity(rule)


def test_rules_of_older_files_are_read(classifier: tam.Learner) -> None:
    rule = classifier.adapt([(X, 0), ([1] * 5, 1)])
    values = rule.to_json()
    assert values.pop("is_support") is False
    assert tam.TaskEmbedding.from_json(values) == rule
    with pytest.raises(tam.UserError, match="is_support is true or false"):
        tam.TaskEmbedding.from_json(values | {"is_support": "no"})


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _foreign(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 something else")


def _wrong_shape(path: Path) -> None:
    description = path.with_name("learner.json")
    description.write_text(description.read_text().replace('"width": 16', '"width": 32'))


def _no_json(path: Path) -> None:
    path.with_name("learner.json").write_text("{]")


def _no_field(path: Path) -> None:
    path.with_name("learner.json").write_text('{"format": 2}')


def _changed(**values: Any) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        description = path.with_name("learner.json")
        description.write_text(json.dumps(json.loads(description.read_text()) | values))

    return change


DAMAGES = {
    "truncated": _truncate,
    "foreign": _foreign,
    "shape": _wrong_shape,
    "no JSON": _no_json,
    "no field": _no_field,
    "gone": Path.unlink,
    "format": _changed(format=1),
    "no choices": _changed(choices={}),
    "steps": _changed(choices={"1": [-1, 0.1]}),
    "half a step": _changed(choices={"1": [1.5, 0.1]}),
    "no rate": _changed(choices={"1": [1, math.inf]}),
    "vocabulary": _changed(vocabulary=list(range(1000))),
    "tokens": _changed(vocabulary="abcdefghij"),
    "primitives": _changed(primitives=[1]),
}


def test_a_loaded_learner_has_the_config_it_was_trained_with(classifier: tam.Learner, tmp_path: Path) -> None:
    classifier.save(tmp_path)
    assert tam.load(tmp_path).config == classifier.config
    with pytest.raises(tam.UserError, match="torch finds no GPU here"):
        tam.load(tmp_path, device="cuda")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_model_gets_a_clear_error(
    classifier: tam.Learner, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    classifier.save(tmp_path)
    damage(tmp_path / "model.safetensors")
    with pytest.raises(tam.UserError, match=str(tmp_path)):
        tam.load(tmp_path)


def test_evaluate_uses_the_choice_made_on_validation_tasks(classifier: tam.Learner) -> None:
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    scores = classifier.evaluate(tasks.test, shots=(1, 5))
    assert [score.k for score in scores] == [1, 5]
    assert [score.choice for score in scores] == [classifier.choices_[1], classifier.choices_[5]]
    assert all(0 <= score.accuracy <= 1 and score.perplexity >= 1 for score in scores)


def test_evaluate_takes_tasks_in_other_ids(classifier: tam.Learner) -> None:
    """The same tasks, with the tokens in another order and more of them, have the same scores."""
    test = tam.benchmark("classification", train=20, valid=2, test=2).test
    other = Vocabulary(["more", *reversed(test[0].vocabulary.tokens)])
    turned = [replace(task, vocabulary=other, x=Sequences(12 - task.x.ids, task.x.lengths)) for task in test]
    assert [list(task) for task in turned] == [list(task) for task in test]
    assert classifier.evaluate(turned, np.array([1])) == classifier.evaluate(test, [1])


@pytest.mark.parametrize("shots", [5, [], "5", [1.5], [None], {1: 2}, [0], [10**400]])
def test_shots_are_values_of_k(classifier: tam.Learner, shots: Any) -> None:
    test = tam.benchmark("classification", train=20, valid=2, test=2).test
    with pytest.raises(tam.UserError, match=r"^shots "):
        classifier.evaluate(test, shots)


def test_evaluate_takes_the_tasks_of_a_split(classifier: tam.Learner) -> None:
    with pytest.raises(tam.UserError, match=r"such as tasks\.test"):
        classifier.evaluate(tam.benchmark("classification", train=20, valid=2, test=2))  # pyright: ignore[reportArgumentType]


def test_a_learner_that_knows_nothing_says_so(tmp_path: Path) -> None:
    learner, rule = tam.Learner(), tam.TaskEmbedding(np.zeros(2, np.float32), (), "", 0.0)
    for use in (
        lambda: learner.adapt([(X, 3)]),
        lambda: learner.adapt_many([]),
        lambda: learner.predict(rule, [X]),
        lambda: learner.predict_proba(rule, []),
        lambda: learner.evaluate([]),
        lambda: learner.save(tmp_path),
    ):
        with pytest.raises(tam.UserError, match="call fit first"):
            use()


def test_what_is_no_list_says_so(transducer: tam.Learner) -> None:
    learner: Any = transducer
    rule = learner.adapt(pair for pair in [(iter(X), np.array([5, 1]))])
    answers = learner.predict(rule, [X, X])
    assert learner.predict((one for one in (rule, rule)), (iter(x) for x in (X, X))) == answers
    assert learner.predict(rule, np.array([X, X]), beams=np.int64(1)) == answers
    assert learner.adapt_many([]) == learner.predict([], []) == learner.predict(rule, []) == []
    for use, message in (
        (lambda: learner.adapt(None), "^task 0: expected pairs of an input and its answer, not None"),
        (lambda: learner.adapt_many(None), "^expected a list with the examples of each task, not None"),
        (lambda: learner.adapt_many([None]), "^task 0: expected pairs"),
        (lambda: learner.adapt_many([[(X, X)]], [(), ()]), "^1 tasks have as many lists of primitives"),
        (lambda: learner.adapt_many([[(X, X)]], 3), "^1 tasks have as many lists of primitives, not 3"),
        (lambda: learner.predict(rule, None), "^inputs are a list"),
        (lambda: learner.predict(None, [X]), "^expected a task embedding, .* or a list of them, not None"),
        (lambda: learner.predict("rule.json", [X]), "^expected a task embedding, .*, not 'rule.json'"),
        (lambda: learner.predict([rule, None], [X, X]), "^expected a task embedding"),
        (lambda: learner.predict(rule, [X], 1.5), "^beams is an integer from 1 to 1000, not 1.5"),
        (lambda: learner.predict_proba(rule, [X], "2"), "^beams is an integer from 1 to 1000, not '2'"),
        (lambda: learner.predict_proba(rule, [X], 0), "^beams is an integer from 1 to 1000, not 0"),
        (lambda: learner.predict_proba(rule, [X], 10**30), r"^beams is an integer from 1 to 1000, not 1000"),
        (lambda: learner.predict_proba(rule, [X], 1001), "^beams is an integer from 1 to 1000, not 1001"),
        (lambda: learner.predict_proba(rule, [X], True), "^beams is an integer from 1 to 1000, not True"),
    ):
        with pytest.raises(tam.UserError, match=message):
            use()


FOREIGN: list[tuple[str, dict[str, Any], str]] = [
    ("tam", {"model": "another"}, "belongs to the model that it was fitted with"),
    ("tam", {"vector": [1.0] * 3}, "the vector has 8 numbers in this model, not 3"),
    ("tam", {"vector": []}, "the vector has 8 numbers in this model, not 0"),
    ("tam", {"labels": []}, "a task has 1 to 4 labels in this model, not 0"),
    ("tam", {"labels": list("abcde")}, "a task has 1 to 4 labels in this model, not 5"),
    ("tam", {"is_support": True}, "is_support is false for this model"),
    ("tam", {"primitives": ["a"]}, "its task: the model takes no primitives"),
    ("maml", {"vector": [1.0] * 3}, "the vector has .* numbers in this model, not 3"),
    ("prototypical", {"vector": [1.0] * 31}, "the vector has 32 numbers in this model, not 31"),
    ("snail", {"is_support": False}, "is_support is true for this model"),
    ("nearest", {"vector": []}, "the vector has 8 numbers an example in this model, not 0"),
    ("snail", {"vector": [1.0] * 9}, "the vector has 8 numbers an example in this model, not 9"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 12, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, -1, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 0.5, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 6, 0, 0, 0, 0, 0, 0]}, "the vector holds numbers that are no examples"),
    ("snail", {"vector": [1.0, 5, 0, 0, 0, 0, 0, 2]}, "the vector holds numbers that are no examples"),
    ("nearest", {"vector": [0.0] * 8}, "the vector holds numbers that are no examples"),
]


@pytest.mark.parametrize(("method", "change", "message"), FOREIGN)
def test_a_rule_that_the_model_did_not_make(method: str, change: dict[str, Any], message: str) -> None:
    learner = untrained(method)
    shots = learner.config.protocol.shots[0]
    rule = learner.adapt([([1] * 5, 0), ([2] * 5, 1)] * shots)
    assert learner.predict(rule, [X])
    changed = tam.TaskEmbedding.from_json(rule.to_json() | change)
    with pytest.raises(tam.UserError, match=f"^(a task embedding )?{message}"):
        learner.predict(changed, [X])
    with pytest.raises(tam.UserError, match=f"^task embedding 1: (a task embedding )?{message}"):
        learner.predict([rule, changed], [X, X])


@pytest.mark.parametrize("method", list(METHODS))
@pytest.mark.parametrize("kind", ["classification", "transduction"])
def test_every_method_takes_its_own_rules(method: str, kind: str) -> None:
    """Also compositional ones; with the rules of a model that was read anew, which has adapted to nothing."""
    for form in ({}, {"primitives": 3, "slots": 2}):
        if (METHODS[method].classification_only and kind == "transduction") or (
            method == "agnostic" and form
        ):
            continue
        learner, again = untrained(method, kind, **form), untrained(method, kind, **form)
        shots = learner.config.protocol.shots[0]
        pairs: list[Any] = [([1] * 5, 0), ([2], 1)] if kind == "classification" else [(X, [1, 2])]
        rule = learner.adapt(pairs * shots, primitives=["new", "1"] if form else ())
        assert again.predict_proba(rule, [X, []]) == learner.predict_proba(rule, [X, []])


@pytest.mark.parametrize(
    ("primitives", "message"),
    [(["0", "1"], "not 0 of"), (["new"], "2 primitives in this model, not 1"), ([], "needs the task's")],
)
def test_a_rule_has_one_unknown_primitive(primitives: list[str], message: str) -> None:
    learner = untrained("tam", primitives=3, slots=2)
    with pytest.raises(tam.UserError, match=f"^task 0: .*{message}"):
        learner.adapt([(X, 0)], primitives)
    rule = learner.adapt([(X, 0)], ["new", "1"])
    with pytest.raises(tam.UserError, match=f"^its task: .*{message}"):
        learner.predict(tam.TaskEmbedding.from_json(rule.to_json() | {"primitives": primitives}), [X])


@pytest.mark.parametrize("method", ["snail", "matching", "nearest"])
def test_rules_are_the_same_whatever_they_are_learned_beside(method: str) -> None:
    learner = untrained(method)
    shots = learner.config.protocol.shots[0]
    few: list[Any] = [([1] * 5, 0), ([2], 1)] * shots
    many: list[Any] = [*few, *[([3, 4], 2), ([5], 3)] * shots]
    assert learner.adapt_many([few, many]) == [learner.adapt(few), learner.adapt(many)]


def test_what_cannot_be_written_says_so(classifier: tam.Learner, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    for folder in (file, file / "below"):
        with pytest.raises(tam.UserError, match=f"^{folder}: cannot be written: "):
            classifier.save(folder)
        with pytest.raises(tam.UserError, match=f"^{folder}: cannot be written: "):
            tam.Learner(preset="smoke").fit(tasks, folder)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a\0b", r"^'a\\x00b': no name of a file has the character \\0"),
        ("", "^a path is the name of a file or folder, not ''$"),
        ("x" * 300, "^x{300}(/learner.json)?: (cannot be|there is no)"),
    ],
)
def test_names_that_no_file_has(
    name: str, message: str, classifier: tam.Learner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rule = classifier.adapt([(X, 0)])
    tasks = tam.benchmark("classification", train=20, valid=2, test=2)
    for use in (
        lambda: classifier.save(name),
        lambda: tam.load(name),
        lambda: tam.Learner(preset="smoke").fit(tasks, name),
        lambda: rule.save(name),
        lambda: tam.TaskEmbedding.load(name),
        lambda: tasks.write(name),
        lambda: tam.read_tasks(name),
    ):
        with pytest.raises(tam.UserError, match=message):
            use()
    assert not list(tmp_path.iterdir())


def test_fit_takes_tasks_not_their_name() -> None:
    with pytest.raises(tam.UserError, match=r"fit takes tasks: tam.benchmark\('classification'\)"):
        tam.Learner(preset="smoke").fit("classification")  # pyright: ignore[reportArgumentType]
