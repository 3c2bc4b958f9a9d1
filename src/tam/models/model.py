"""The network of the paper: a sequence model conditioned on a task embedding z.

z is an argument and is never kept in the module, so one network serves any number of tasks in a batch.

Shapes: B tasks, N rows of each, R = B · N, M copies of z (1 or N), S components of z, d width, X and Y
the padded widths of x and y, K places of the task, C classes, V tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models import rotary
from tam.models.attention import Mask
from tam.models.batch import Batch, target_log_prob, token_targets
from tam.models.by_length import length_groups, score_by_length
from tam.models.conditioning import (
    Condition,
    check_embeddings,
    primitive_embeddings,
    split_modulation,
    task_size,
)
from tam.models.copying import Copier, Mixed
from tam.models.encoder import TextEncoder, freeze
from tam.models.fast import engine
from tam.models.layers import EMBEDDING_STD, Embedding, Linear, constant, normal, within
from tam.models.lstm import LSTM, matching_hidden
from tam.models.precision import Precision, in_own_precision
from tam.models.proposer import Proposer
from tam.models.spec import ModelSpec
from tam.models.transformer import Transformer

HEAD_STD = 0.02  # the first predictions are close to uniform
# z starts at 0 and is added to the vector of its place, which therefore starts smaller than other embeddings.
# 0.1 validated best of 0.3, 0.1, 0.03 and 0.01 on classification.
PLACE_STD = 0.1


class Model(nn.Module):
    """log p(y | x, z; θ). Made by `build_model`.

    A classifier reads the class at z in `[z, x…]`. A decoder is causal and predicts the next token of y at
    each place of `[x…, z, y…]` from z on. In a compositional model the tokens of the primitives replace z,
    which is now the unknown one, and a classifier reads the class at a CLS token in front of them. If z is
    not a token at all, a learned token takes its place. z may take several places (`task_tokens`), and a
    decoder may also have it in front of x: `[z, x…, z, y…]` (`task_first`). See `tam.models.rotary` for how
    rotary positions are counted.

    Attributes:
        precision: Precision of matrix products on a GPU; on a CPU always float32.
        task_size: Number of components S of a task embedding; see `tam.models.task_size`.
        task_embeddings: The training tasks' embeddings `[tasks, S]`, for a method that keeps them in θ.
        kept: The training tasks' last embeddings `[tasks, S]`; a buffer.
        unknown: The embedding that all unknown primitives share, `[1, S]`.
        token_weights: For hints, `[V]`: the weight of each token, for sequences 1 for one class and 0 for the
            other; a buffer.
        memory: Training examples that hints look up, `[examples, …]`; a buffer.
    """

    tables: ClassVar[tuple[str, ...]] = ("primitives", "unknown", "task_embeddings")

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__()
        self.spec, self.task_size = spec, task_size(spec)
        self.precision: Precision = "float32"
        width, decodes, size = spec.width, spec.kind == "transduction", self.task_size
        max_x, max_y = spec.x_places, spec.max_y
        if spec.positions == "rotary" or spec.encoder is not None:
            max_x = max_y = None
        self.x = Embedding(spec.vocabulary, max_x, width, generator)
        self.y = Embedding(spec.vocabulary, max_y, width, generator) if decodes else None
        # Position embeddings of the task's tokens. At z = 0, or without such tokens, they are learned tokens.
        places = spec.task_places, width
        self.places = normal(generator, *places, std=PLACE_STD)
        first = decodes and spec.task_first
        self.front_places = normal(generator, *places, std=PLACE_STD) if first else None
        composed, read_at_cls = spec.compositional, spec.compositional and not decodes
        self.primitives = normal(generator, spec.primitives, size, std=EMBEDDING_STD) if composed else None
        self.cls = normal(generator, 1, width, std=EMBEDDING_STD) if read_at_cls else None
        self.task_embeddings = constant(generator, spec.tasks, size, value=0.0) if spec.tasks else None
        self.unknown = constant(generator, 1, size, value=0.0) if spec.unknown else None
        self.kept: Tensor | None
        self.register_buffer("kept", self.blank(spec.kept) if spec.kept else None)
        self.backbone, features = _backbone(spec, generator)
        if isinstance(self.backbone, TextEncoder) and self.backbone.spec.frozen:
            freeze(self.backbone.encoder)
            freeze(self.x)
        self.head = Linear(features, spec.outputs, generator, std=HEAD_STD)
        self.copier = Copier(spec, generator) if spec.copies else None
        self.proposer = Proposer(spec, size, generator) if spec.proposer else None
        self.token_weights: Tensor | None
        weighted = spec.token_classes or (spec.hints > 0 and not decodes)
        weights = self.places.new_ones(spec.vocabulary) if weighted else None
        self.register_buffer("token_weights", weights)
        self.memory: Tensor | None
        rows = spec.memory, 3 + spec.max_x + spec.max_y
        memory = self.places.new_zeros(rows, dtype=torch.int32) if spec.memory else None
        self.register_buffer("memory", memory)

    def blank(self, tasks: int) -> Tensor:
        """Initial task embeddings: zeros `[tasks, S]`."""
        if self.task_size == 0:
            raise ValueError(f"conditioning {self.spec.conditioning!r} has no task embedding")
        return self.places.new_zeros(tasks, self.task_size)

    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """`log_prob` under `condition(z, batch)`; the entry point of `torch.func.functional_call`."""
        return self.log_prob(self.condition(z, batch), batch)

    @in_own_precision
    def with_x_cache(self, batch: Batch) -> Batch:
        """Cache in the batch what the network computes for x alone.

        The cache is valid until the weights change, and needs z to be a token, or absent. In a decoder x
        comes first and does not see z, so its keys and values are cached; in a classifier, what the first
        block computes for each place of x separately. Where that does not help, the batch is unchanged.
        """
        spec, encodes = self.spec, self.spec.kind == "classification"
        independent = spec.purpose == "answer" and spec.conditioning in ("token", "none")
        independent = independent and self.front_places is None and batch.x.shape[-1] > 0
        if not independent or not isinstance(self.backbone, Transformer):
            return batch
        if encodes and engine.engine(self.places) != "cpu":
            return batch
        in_x = batch.in_x.flatten(0, 1)
        vectors, positions = self._embedded_x(batch), self._positions([in_x])
        front = in_x.shape[1] if spec.x_mask == "full" else 0
        mask = Mask(in_x, causal=not encodes, front=front, padded=batch.padded)
        if not (cache := engine.x_cache(self.backbone, vectors, mask, positions)):
            return batch
        if self.copier is not None:  # it reads the hidden states of x
            cache = (*cache, engine.transform(self.backbone, vectors, mask, positions=positions))
        return replace(batch, x_cache=tuple(part.unflatten(0, batch.x.shape[:2]) for part in cache))

    @in_own_precision
    def propose(self, batch: Batch, rows: Tensor | None = None) -> Tensor:
        """Propose task embeddings from examples, `[B, S]`; see `Proposer`."""
        assert self.proposer is not None
        return self.proposer(batch, rows)

    def condition(self, z: Tensor | None, batch: Batch) -> Condition:
        """Embed the tasks of a batch as the network reads them: z, or their primitives.

        Args:
            z: Task embeddings `[B, M, S]`. M is 1, or N: one copy per row, so that one backward pass gives
                a gradient per row. None if there is nothing to embed: with conditioning "none", and in a
                compositional model if no slot is unknown.
            batch: The tasks. Only their primitives are read.
        """
        check_embeddings(z, batch, self.spec)
        if self.primitives is not None:
            z = primitive_embeddings(self.primitives, z, batch)
        if z is None:
            return Condition(batch.tasks, 1)
        if self.spec.conditioning == "token":
            return Condition(batch.tasks, z.shape[1], tokens=z.unflatten(2, (-1, self.spec.width)))
        return Condition(batch.tasks, z.shape[1], modulation=split_modulation(z.flatten(0, 1), self.spec))

    def score(self, z: Tensor | None, batch: Batch) -> Tensor:
        """Log-probabilities of a batch's answers, part by part.

        Returns:
            Classification: of the class, `[B, N, 1]`.
            Transduction: of each token of y and the end token after it, `[B, N, Y + 1]`, 0 in the padding.
        """
        if (groups := length_groups(batch)) is not None:
            return score_by_length(self.score_together, z, batch, groups)
        return self.score_together(z, batch)

    @in_own_precision
    def score_together(self, z: Tensor | None, batch: Batch) -> Tensor:
        """`score` in one pass over all rows."""
        condition = self.condition(z, batch)
        if (scored := engine.score(self, condition, batch)) is not None:
            return scored
        log_prob = self.log_prob(condition, batch)
        if batch.y_length is not None:
            return log_prob
        loss = F.nll_loss(log_prob.flatten(0, 1), batch.y.flatten(), reduction="none")
        return -loss.view(batch.tasks, batch.rows, 1)

    @in_own_precision
    def log_prob(self, condition: Condition, batch: Batch) -> Tensor:
        """Log-probabilities of all classes, or of the tokens of the answers.

        Returns:
            Classification: of every class, `[B, N, C]`, −∞ for classes that the task does not have.
            Transduction: of each token of y and the end token after it, `[B, N, Y + 1]`, 0 in the padding.
        """
        if self.copier is None or batch.y_length is None:
            outcomes = self.outcomes(condition, batch)
            return outcomes if batch.y_length is None else target_log_prob(outcomes, batch)
        condition.check(batch.tasks, batch.rows)
        target, scored = token_targets(batch, end=self.spec.vocabulary + batch.x.shape[-1])
        log_prob = self._mixed(condition, batch).of_targets(target.flatten(0, 1))
        return log_prob.unflatten(0, (batch.tasks, batch.rows)).masked_fill(~scored, 0.0)

    @in_own_precision
    def outcomes(self, condition: Condition, batch: Batch) -> Tensor:
        """Log-probabilities of every class, or of every next token.

        Returns:
            Classification: of every class, `[B, N, C]`, −∞ for classes that the task does not have.
            Transduction: of every token and the end token, at y₁ and after each token of y given those before
            it: `[B, N, Y + 1, V + 1]`, or with copying `[B, N, Y + 1, V + X + 1]`, see `copying`.
        """
        kind = "classification" if batch.y_length is None else "transduction"
        if kind != self.spec.kind:
            raise ValueError(f"the batch must be for {self.spec.kind}, as the model is: got {kind}")
        if self.spec.purpose in ("compare", "embed"):
            raise ValueError(f"a network to {self.spec.purpose} has no outcomes: its method makes them")
        condition.check(batch.tasks, batch.rows)
        if batch.y_length is None:
            logits = self.head(self._features(condition, batch))
            if batch.classes is not None:
                has = within(batch.classes, self.spec.classes).unsqueeze(1).expand(-1, batch.rows, -1)
                logits = logits.masked_fill(~has.flatten(0, 1), -math.inf)
            log_prob = _log_softmax(logits)
        elif self.copier is None:
            log_prob = _log_softmax(self.head(self._decode(condition, batch)))
        else:
            log_prob = self._mixed(condition, batch).outcomes()
        return log_prob.unflatten(0, (batch.tasks, batch.rows))

    def lead(self, condition: Condition) -> Tensor:
        """The places of the task, after CLS if there is one: `[B, M, K or K + 1, d]`, B = M = 1 without z."""
        lead = _at_places(self.places, condition)
        if self.cls is None:
            return lead
        return torch.cat([self.cls.expand(*lead.shape[:2], -1, -1), lead], dim=2)

    def front(self, condition: Condition) -> Tensor | None:
        """The places of the task before x, if there are any, as in `lead`."""
        return None if self.front_places is None else _at_places(self.front_places, condition)

    def _features(self, condition: Condition, batch: Batch) -> Tensor:
        """A classifier's features of `[task, x…]`: `[R, features]`."""
        sequence = lead = _in_rows(self.lead(condition), batch)
        if isinstance(self.backbone, TextEncoder):
            return self.backbone(self.x, lead, batch)
        if not batch.x_cache:
            sequence = torch.cat([lead, self._embedded_x(batch)], dim=1)
        in_x = batch.in_x.flatten(0, 1)
        seen = [in_x.new_ones(lead.shape[:2]), in_x]
        valid, positions = torch.cat(seen, dim=1), self._positions(seen, seen[0])
        if isinstance(self.backbone, LSTM):
            return self.backbone(sequence, valid)
        mask, read = Mask(valid, causal=False, padded=batch.padded), slice(0, 1)
        return self._transform(sequence, mask, positions, read, condition, batch).squeeze(1)

    def _decode(self, condition: Condition, batch: Batch) -> Tensor:
        """Hidden states that predict y₁ and what follows each token of y: `[R, Y + 1, d]`.

        For copying, those of x and z come before them, unless x is cached.
        """
        assert self.y is not None
        y, in_y = self._readable(batch.y.flatten(0, 1)), batch.in_y.flatten(0, 1)
        in_x = batch.in_x.flatten(0, 1)
        front, lead = self.front(condition), _in_rows(self.lead(condition), batch)
        task = in_x.new_ones(lead.shape[:2])
        parts, seen = [lead, engine.embed(self.y, y, in_y)], [in_x, task, in_y]
        if not batch.x_cache:
            parts = [self._embedded_x(batch), *parts]
        if front is not None:
            parts, seen = [_in_rows(front, batch), *parts], [task, *seen]
        positions = self._positions(seen, task)
        sequence, valid = torch.cat(parts, dim=1), torch.cat(seen, dim=1)
        before = valid.shape[1] - task.shape[1] - y.shape[1] if self.spec.x_mask == "full" else 0
        mask = Mask(valid, causal=True, front=before, padded=batch.padded)
        read = slice(sequence.shape[1] - y.shape[1] - 1, None)
        if self.copier is not None and not batch.x_cache:
            read = slice(0 if front is None else task.shape[1], None)
        return self._transform(sequence, mask, positions, read, condition, batch)

    def _mixed(self, condition: Condition, batch: Batch) -> Mixed:
        """A decoder's next-token distribution: generated from the vocabulary, and copied from x."""
        assert self.copier is not None
        hidden = self._decode(condition, batch)
        if batch.x_cache:
            x_hidden = batch.x_cache[1].flatten(0, 1).to(hidden.dtype)
        else:
            x_hidden = hidden[:, : batch.x.shape[-1]]
            hidden = hidden[:, hidden.shape[1] - batch.y.shape[-1] - 1 :]
        return self.copier(_log_softmax(self.head(hidden)), hidden, x_hidden, batch)

    def _embedded_x(self, batch: Batch) -> Tensor:
        """The vectors of x, `[R, X, d]`."""
        return engine.embed(self.x, self._readable(batch.x.flatten(0, 1)), batch.in_x.flatten(0, 1))

    def _readable(self, ids: Tensor) -> Tensor:
        """Replace ids that only mark what can be copied with the unknown token's id."""
        return ids if self.copier is None else ids.clamp(max=self.spec.vocabulary - 1)

    def _positions(self, parts: Sequence[Tensor], task: Tensor | None = None) -> Tensor | None:
        """See `rotary.positions`; None unless positions are rotary."""
        return None if self.spec.positions == "table" else rotary.positions(parts, task)

    def _transform(
        self,
        vectors: Tensor,
        mask: Mask,
        positions: Tensor | None,
        read: slice,
        condition: Condition,
        batch: Batch,
    ) -> Tensor:
        """The transformer's hidden states at the places `read` of each row; undefined in padding."""
        assert isinstance(self.backbone, Transformer)
        cache = [part.flatten(0, 1) for part in batch.x_cache]
        if self.copier is not None:
            cache = cache[:1]
        return engine.transform(self.backbone, vectors, mask, condition.modulation, read, cache, positions)


def _backbone(spec: ModelSpec, generator: torch.Generator) -> tuple[Transformer | LSTM | TextEncoder, int]:
    """The backbone, and the size of the features that the head reads."""
    if spec.encoder is not None:
        return TextEncoder(spec, generator), 2 * spec.encoder.hidden
    if spec.backbone == "lstm":
        hidden = matching_hidden(spec)
        return LSTM(spec.width, hidden, generator), 2 * hidden
    transformer = Transformer(
        layers=spec.layers,
        width=spec.width,
        heads=spec.heads,
        bottleneck=spec.bottleneck,
        generator=generator,
    )
    return transformer, spec.width


def _at_places(places: Tensor, condition: Condition) -> Tensor:
    """Add the vectors of places `[K, d]` to the task's tokens: `[B, M, K, d]`."""
    return places[None, None] if condition.tokens is None else places + condition.tokens


def _in_rows(vectors: Tensor, batch: Batch) -> Tensor:
    """Expand vectors of tasks `[B, M, K, d]` to one copy per row: `[R, K, d]`."""
    return vectors.expand(batch.tasks, batch.rows, -1, -1).flatten(0, 1)


def _log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities, in at least float32 even if the network computes in bfloat16."""
    return F.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
