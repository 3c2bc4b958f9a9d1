"""ONNX export: the prediction of a model as a file, for programs without torch.

The inputs are any number B of rows, each with the embedding of its own task:

- `z`, float32 `[B, D]`: `TaskEmbedding.vector`;
- `x`, int64 `[B, max_x]`: token ids, padded with zeros, and `x_length`, int64 `[B]`;
- classification: `classes`, int64 `[B]`, the number of labels of the row's task;
- sequences: `y`, int64 `[B, max_y]`, the tokens so far, padded with zeros, and `y_length`, int64 `[B]`.

The output `log_prob` is float32: `[B, classes]`, for the labels in the order of `TaskEmbedding.labels`; or
`[B, max_y + 1, ids]`, at position i for the token after the first i tokens of y; the last id is the end.

The file's metadata has `kind`, `vocabulary` (a JSON list: the token of each id), `max_x`, `max_y`, `classes`,
`model`, the identity that `TaskEmbedding.model` must equal, and the ids of unknown tokens, as in `TokenIds`:
`unknown`, and `copied`, to which a token's first place in x is added; each is empty if there are none.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Generator
from pathlib import Path

import torch
from torch import Tensor, nn

from tam.errors import UserError
from tam.io import json_text, replacing
from tam.methods import TAM, Method
from tam.methods.mixture import average
from tam.models import Batch, Model
from tam.models.fast import context
from tam.tasks.vocabulary import Vocabulary


class _Prediction(nn.Module):
    """Log-probabilities of the possible answers to rows, each the only row of its task."""

    def __init__(self, method: Method, model: Model) -> None:
        super().__init__()
        self.searches, self.model = method.searches, model

    def forward(self, z: Tensor, x: Tensor, x_length: Tensor, *answer: Tensor) -> Tensor:
        """See the top of this file."""
        x, x_length = x.unsqueeze(1), x_length.unsqueeze(1)
        if self.model.spec.kind == "classification":
            (classes,) = answer
            batch = Batch(x, x_length, torch.zeros_like(x_length), classes=classes)
        else:
            y, y_length = answer
            batch = Batch(x, x_length, y.unsqueeze(1), y_length.unsqueeze(1))
        if self.searches == 1:
            return self.model.outcomes(self.model.condition(z.unsqueeze(1), batch), batch).squeeze(1)
        # All searches in one pass, as consecutive rows, so that the file has the network only once.
        members = z.unflatten(1, (self.searches, -1)).transpose(0, 1)
        rows, each_z = batch.repeat(self.searches), members[..., 1:].reshape(-1, 1, self.model.task_size)
        each = self.model.outcomes(self.model.condition(each_z, rows), rows)
        each = each.unflatten(0, (self.searches, batch.tasks))
        return average(each, members[..., 0], batch).squeeze(1)


def write_onnx(path: Path, method: Method, model: Model, vocabulary: Vocabulary, identity: str) -> None:
    """Export the prediction of a model; see the top of this file."""
    try:
        import onnx
        import onnxscript  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError:
        raise UserError("the export needs onnx and onnxscript: pip install 'tam-fewshot[onnx]'") from None
    spec = model.spec
    if not isinstance(method, TAM) or spec.compositional or spec.encoder is not None:
        raise UserError("ONNX export is for models of method tam without primitives or a text encoder")
    if spec.hints:
        raise UserError(f"ONNX export is for models without hints: set hints to 0; got {spec.hints}")
    searches, size = method.searches, model.task_size
    widths = {"x": spec.max_x} | ({"y": spec.max_y} if spec.kind == "transduction" else {})
    parts = {"z": torch.zeros(2, searches * (1 + size) if searches > 1 else size)}
    for name, width in widths.items():
        parts[name] = torch.zeros(2, width, dtype=torch.int64)
        parts[f"{name}_length"] = torch.ones(2, dtype=torch.int64)
    if spec.kind == "classification":
        parts["classes"] = torch.full((2,), spec.classes)
    names = list(parts)
    if searches > 1:
        parts["z"].view(2, searches, -1)[:, :, 0] = 1 / searches  # the weights of the searches
    rows = torch.export.Dim("rows", min=1)
    prediction = _Prediction(method, model).eval()
    # The exporter expects the shapes of *answer as a tuple under that name.
    shapes = {name: {0: rows} for name in names[:3]} | {"answer": tuple({0: rows} for _ in names[3:])}
    with context.plain(), torch.no_grad(), _quiet():
        program = torch.onnx.export(
            prediction,
            tuple(parts.values()),
            input_names=names,
            output_names=["log_prob"],
            dynamic_shapes=shapes,
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    made = program.model_proto
    facts = {
        "kind": spec.kind,
        "vocabulary": json_text(list(vocabulary.tokens)),
        "max_x": str(spec.max_x),
        "max_y": str(spec.max_y),
        "classes": str(spec.classes),
        "model": identity,
        "unknown": "" if spec.unknown_token is None else str(spec.unknown_token),
        "copied": str(spec.vocabulary) if spec.unknown_tokens and spec.copies else "",
    }
    onnx.helper.set_model_props(made, facts)
    onnx.checker.check_model(made)
    with replacing(path) as temporary:
        temporary.write_bytes(made.SerializeToString())


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Hide the exporter's progress and its warnings about its own internals."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
