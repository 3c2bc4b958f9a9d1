"""A text encoder as the backbone: a small BERT that is made here, in every use of a model."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import tam
from tam.config.config import Config
from tam.errors import UserError
from tam.models import Batch, Model, build_model
from tam.models.batch import collate
from tam.models.encoder import describe, load_pretrained
from tam.training.preflight import prepare
from tests import in_process

pytestmark = pytest.mark.slow
WORDS = ["red", "green", "blue", "cat", "dog", "bird", "runs", "sleeps", "eats", "now", "slowly", "here"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of an encoder as Hugging Face's tools write it, with random weights."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("encoder")
    tokenizer: Any = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=special)
    tokenizer.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size() + 2,  # as many encoders have
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
    )
    torch.manual_seed(0)
    BertModel(config).save_pretrained(folder)
    return str(folder)


def lines() -> list[str]:
    """Tasks that ask whether a word is there, as a table."""
    rows = ["task,x,y,split"]
    for number, split in enumerate(["train"] * 4 + ["valid", "test"]):
        for i in range(16):
            text = " ".join(WORDS[(number + i * j + j) % len(WORDS)] for j in range(1, 3 + i % 4))
            rows.append(f"{number},{text.capitalize()},{'yes' if i % 2 else 'no'},{split}")
    return rows


@pytest.fixture
def tasks(encoder: str, tmp_path: Path) -> tam.TaskSet:
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    return tam.tasks_from(str(file), text=encoder)


def made(encoder: str, tasks: tam.TaskSet, method: str = "tam", **values: Any) -> tuple[Model, Batch]:
    """The model before training, in float64, and a batch for it."""
    config = Config.from_preset("smoke", method, "mine", shots=(1,), encoder=encoder, **values)
    setup = prepare(config, tasks)
    model = build_model(setup.spec, torch.Generator().manual_seed(0))
    load_pretrained(model, encoder)
    some = [setup.splits["train"][0], setup.splits["train"][1]]
    return model.double(), collate(some, [np.arange(5)] * 2).trimmed()


def by_hand(encoder: str, model: Any, z: Tensor, batch: Batch, task: int, row: int) -> Tensor:
    """The features of one row, without padding, by the encoder as Hugging Face's tools read it."""
    from transformers import BertModel

    bert: Any = BertModel.from_pretrained(encoder).double().eval()
    words = bert.get_input_embeddings().weight
    x = batch.x[task, row, : batch.x_length[task, row]]
    own = model.backbone.scale * (model.places + z[task].view(-1, model.spec.width))
    sequence = torch.cat([words[[2]], own, words[x], words[[3]]])
    states = bert(inputs_embeds=sequence.unsqueeze(0)).last_hidden_state[0]
    count = len(own)
    others = torch.cat([states[:1], states[1 + count :]])
    both = torch.cat([states[1 : 1 + count].mean(0), others.mean(0)])
    return both + model.backbone.out(torch.nn.functional.gelu(model.backbone.inner(both)))


@pytest.mark.parametrize("task_tokens", [1, 2])
def test_the_encoder_reads_z_among_its_own_embeddings(
    encoder: str, tasks: tam.TaskSet, task_tokens: int
) -> None:
    model, batch = made(encoder, tasks, task_tokens=task_tokens)
    z = torch.randn(2, 1, model.task_size, dtype=torch.float64, requires_grad=True)
    found = model.outcomes(model.condition(z, batch), batch)
    for task in range(2):
        for row in range(5):
            logits = model.head(by_hand(encoder, model, z, batch, task, row))
            torch.testing.assert_close(found[task, row], logits.log_softmax(-1))
    (gradient,) = torch.autograd.grad(found[..., 0].sum(), z)
    assert gradient.abs().min() > 0


def test_tokens_and_ends_are_the_encoders_own(encoder: str, tasks: tam.TaskSet) -> None:
    described = describe(encoder, frozen=False)
    assert (described.spec.before, described.spec.after, described.spec.unknown) == ((2,), (3,), 1)
    assert described.vocabulary.tokens[:4] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    model, batch = made(encoder, tasks)
    assert model.spec.longest_x == 16 - 3
    unknown = model.spec.unknown_token
    torch.testing.assert_close(model.x.token[unknown], model.x.token[1])
    assert batch.x.max() < len(described.vocabulary)


@pytest.mark.parametrize("frozen", [False, True])
def test_what_training_moves(encoder: str, tasks: tam.TaskSet, frozen: bool, tmp_path: Path) -> None:
    values = {"encoder": encoder, "freeze_encoder": frozen, "shots": (1,)}
    learner: Any = tam.Learner(preset="smoke", **values).fit(tasks)
    before, _ = made(encoder, tasks, freeze_encoder=frozen)
    after = learner.model_.state_dict()
    moved = {
        name for name, weight in before.state_dict().items() if not torch.equal(weight.float(), after[name])
    }
    own = {name for name in after if name.startswith("backbone.encoder.") or name == "x.token"}
    assert own
    assert bool(own & moved) == (not frozen)
    assert {"head.weight", "backbone.inner.weight", "places"} <= moved
    examples = [(["cat", "runs"], "yes"), (["dog", "zzz"], "no")]
    rule = learner.adapt(examples)
    answers = learner.predict(rule, [["cat", "here"], []])
    learner.save(tmp_path / "model")
    again: Any = tam.load(tmp_path / "model")
    assert again.predict(again.adapt(examples), [["cat", "here"], []]) == answers
    with pytest.raises(UserError, match=r"14 tokens; the model takes up to 13$"):
        learner.predict(rule, [["cat"] * 14])


@pytest.mark.parametrize("method", ["maml", "prototypical", "multitask"])
def test_other_methods_train_it_too(encoder: str, tasks: tam.TaskSet, method: str) -> None:
    learner: Any = tam.Learner(method, "smoke", encoder=encoder, shots=(1,), steps=2, rows=12).fit(tasks)
    rule = learner.adapt([(["cat"], "yes"), (["dog"], "no")])
    assert learner.predict(rule, [["cat"]])[0] in ("yes", "no")


@pytest.mark.parametrize(
    ("method", "values", "about"),
    [
        ("snail", {}, "text encoder"),
        ("tam", {"conditioning": "norm"}, "conditioning"),
        ("tam", {"backbone": "lstm"}, "lstm"),
        ("tam", {"task_tokens": 11}, "at most 3 tokens .* got 5"),
        ("tam", {"dropout": 0.1}, "dropout"),
        ("tam", {"encoder": "/nowhere"}, "/nowhere"),
    ],
)
def test_what_does_not_go_with_an_encoder(
    encoder: str, tasks: tam.TaskSet, method: str, values: dict[str, Any], about: str
) -> None:
    given = {"encoder": encoder, "shots": (1,), **values}
    with pytest.raises(UserError, match=about):
        tam.Learner(method, "smoke", **given).fit(tasks)


def test_sequences_and_foreign_tokens_are_errors(encoder: str) -> None:
    rows = {name: [(["qqq", "vvv"], 1), (["vvv"], 0)] * 9 for name in "abcdef"}
    with pytest.raises(UserError, match="tokens of the training tasks are not the encoder's"):
        tam.Learner(preset="smoke", encoder=encoder, shots=(1,)).fit(tam.tasks_from(rows))
    with pytest.raises(UserError, match="a text encoder is for classification, not for transduction"):
        tam.Learner(preset="smoke", encoder=encoder).fit(
            tam.benchmark("transduction", train=4, valid=2, test=2)
        )


def test_a_run_folder_is_all_that_is_needed(
    encoder: str, tasks: tam.TaskSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Text is split by the encoder's tokenizer, and neither of them is needed after training."""
    gone, run = tmp_path / "gone", str(tmp_path / "run")
    shutil.copytree(encoder, gone)
    words = f"--encoder {gone} --freeze-encoder --preset smoke --shots 1 --steps 2 --supports 1".split()
    in_process.tam("train", str(tasks.options["path"]), "--out", run, *words)
    shutil.rmtree(gone)
    examples = tmp_path / "examples.jsonl"
    lines = [{"x": "The cat RUNS", "y": "yes"}, {"x": "Dog here", "y": "no"}]
    examples.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    rule = str(tmp_path / "rule.json")
    in_process.tam("adapt", run, str(examples), "--out", rule)
    capsys.readouterr()
    in_process.tam("predict", run, rule, "A cat sleeps", "green")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("A cat sleeps  →  ")
    assert second.startswith("green  →  ")
