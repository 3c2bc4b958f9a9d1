"""The log-probabilities of a batch's answers, with kernels for every step from the tokens on.

Shapes: B tasks, N rows of each, R = B · N, Q parts of an answer, K places of the task, d width.
"""

from typing import TYPE_CHECKING

from torch import Tensor

from tam.models.attention import Mask
from tam.models.batch import Batch
from tam.models.conditioning import Condition
from tam.models.fast import gpu_blocks, gpu_sequence
from tam.models.fast.gpu_launch import XCache
from tam.models.fast.gpu_reading import MOST_OUTCOMES, ScoredAnswers, Weights, read
from tam.models.fast.gpu_sequence import Layout, Parts, Tokens, layout_of, vectors_of
from tam.models.layers import Embedding
from tam.models.transformer import Transformer

if TYPE_CHECKING:
    from tam.models.model import Model


def takes(model: "Model", condition: Condition, batch: Batch) -> bool:
    """Whether `score` supports these: a transformer with z as a token or no z, and small vocabularies."""
    backbone, spec = model.backbone, model.spec
    if not isinstance(backbone, Transformer) or backbone.has_adapters or condition.modulation is not None:
        return False
    decodes = spec.kind == "transduction"
    if spec.purpose != "answer" or spec.outputs > MOST_OUTCOMES or (decodes and spec.x_mask == "full"):
        return False
    embeddings = [(model.x, batch.x), (model.y, batch.y)][: 1 + decodes]
    if not all(e is not None and gpu_sequence.takes(e, ids.shape[-1]) for e, ids in embeddings):
        return False
    if batch.x_cache and not decodes:
        return False
    rows, length = batch.tasks * batch.rows, sum(_sizes(model, batch))
    vectors = model.places[:1].expand(rows, length, -1)
    cache = [part.flatten(0, 1) for part in batch.x_cache]
    return gpu_blocks.takes(backbone, vectors, Mask(vectors, causal=decodes), cache)


def score(model: "Model", condition: Condition, batch: Batch) -> Tensor:
    """The log-probabilities, `[B, N, Q]`: of the class, or of each token of y and its end; 0 in padding."""
    backbone, sizes = model.backbone, _sizes(model, batch)
    assert isinstance(backbone, Transformer)
    x_length, y_length = (  # kernels need contiguous rows, and rows cut from a batch are not
        batch.x_length.flatten().contiguous(),
        None if batch.y_length is None else batch.y_length.flatten().contiguous(),
    )
    layout = Layout(len(x_length), sizes)
    if batch.padded and (sizes[1] or sizes[3]):
        layout = layout_of(sizes, x_length if sizes[1] else None, y_length if sizes[3] else None)
    vectors = vectors_of(layout, _parts(model, condition, batch))
    first = 0 if y_length is None else sum(sizes[:3]) - 1
    cache = XCache(batch.x_cache[0].flatten(0, 1).float(), x_length.int()) if batch.x_cache else None
    hidden = gpu_blocks.run(
        backbone,
        vectors.view(layout.sequences, layout.length, -1),
        layout.packing,
        slice(first, 1 if y_length is None else None),
        causal=y_length is not None,
        x_cache=cache,
    )
    reads = 1 if y_length is None else batch.y.shape[-1] + 1
    among = (layout.length, first) if layout.packing else (reads, 0)
    count = layout.count if layout.packing else layout.sequences * reads
    answers = ScoredAnswers(
        batch.y.flatten(0, 1).contiguous(), y_length, batch.classes, layout.source, count, *among, reads
    )
    norm, head = backbone.norm, model.head
    scored = read(hidden, Weights(norm.scale, norm.bias, head.weight, head.bias), answers)
    return scored.unflatten(0, (batch.tasks, batch.rows))


def _sizes(model: "Model", batch: Batch) -> tuple[int, int, int, int]:
    """Places of the front, x, the lead and y."""
    task, x = len(model.places), batch.x.shape[-1]
    if batch.y_length is None:
        return task + (model.cls is not None), x, 0, 0
    front = 0 if model.front_places is None else task
    return front, 0 if batch.x_cache else x, task, batch.y.shape[-1]


def _parts(model: "Model", condition: Condition, batch: Batch) -> Parts:
    """The parts of the sequences."""
    x = None if batch.x_cache else _tokens(model.x, batch.x)
    front, lead = model.front(condition), model.lead(condition).flatten(0, 1)
    if batch.y_length is None:
        return Parts(front=lead, x=x)
    assert model.y is not None
    return Parts(None if front is None else front.flatten(0, 1), x, lead, _tokens(model.y, batch.y))


def _tokens(embedding: Embedding, ids: Tensor) -> Tokens | None:
    ids = ids.flatten(0, 1).contiguous()
    if not ids.shape[1]:
        return None
    assert embedding.position is not None
    return Tokens(ids, embedding.token, embedding.position)
