"""The network of the paper: a sequence model conditioned on a task embedding z.

z is an argument and is never kept in the module, so one network serves any number of tasks in a batch.

Shapes: B tasks, N rows of each, R = B · N, M copies of z (1 or N), S components of z, d width, X and Y
the padded widths of x and y, K places of the task, C classes, V tokens.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models import rotary
from tam.models.attention import Mask
from tam.models.batch import Batch
from tam.models.by_length import groups_of, score_by_length
from tam.models.conditioning import Condition, split_modulation, task_size
from tam.models.copying import Copier, Mixed, copied_outcomes, follow, of_targets
from tam.models.encoder import TextEncoder, freeze
from tam.models.fast import engine
from tam.models.layers import EMBEDDING_STD, Embedding, Linear, constant, normal, within
from tam.models.lstm import LSTM, matching_hidden
from tam.models.precision import Precision, in_own_precision
from tam.models.proposer import Proposer
from tam.models.rotary import Rotation
from tam.models.spec import ModelSpec
from tam.models.targets import log_softmax, target_log_prob, token_targets
from tam.models.transformer import Transformer

HEAD_STD = 0.02  # the first predictions are close to uniform
# z starts at 0 and is added to the vector of its place, which therefore starts smaller than other embeddings.
# 0.1 validated best of 0.3, 0.1, 0.03 and 0.01 on classification.
PLACE_STD = 0.1


class Placed(NamedTuple):
    """Input of the transformer."""

    vectors: Tensor  # [R, L, d]
    mask: Mask
    positions: Tensor | None  # [L], only if rotary


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
        self.copier = Copier(width, generator, spec.hints) if spec.copies else None
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
        in_x = _in_x(batch)
        vectors, positions = self._embedded_x(batch, in_x), self._positions([in_x])
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
        self._check(z, batch)
        if self.primitives is not None:
            tokens = self._primitive_tokens(self.primitives, z, batch)
            return Condition(batch.tasks, tokens.shape[1], tokens=tokens)
        if z is None:
            return Condition(batch.tasks, 1)
        if self.spec.conditioning == "token":
            return Condition(batch.tasks, z.shape[1], tokens=self._tokens(z))
        return Condition(batch.tasks, z.shape[1], modulation=split_modulation(z.flatten(0, 1), self.spec))

    def score(self, z: Tensor | None, batch: Batch) -> Tensor:
        """Log-probabilities of a batch's answers, part by part.

        Returns:
            Classification: of the class, `[B, N, 1]`.
            Transduction: of each token of y and the end token after it, `[B, N, Y + 1]`, 0 in the padding.
        """
        if (groups := groups_of(batch)) is not None:
            return score_by_length(self.score_together, z, batch, groups)
        return self.score_together(z, batch)

    @in_own_precision
    def score_together(self, z: Tensor | None, batch: Batch) -> Tensor:
        """`score` in one pass over all rows."""
        condition = self.condition(z, batch)
        condition.check(batch.tasks, batch.rows)
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
        end = self.spec.vocabulary + batch.x.shape[-1]
        target, scored = token_targets(batch, end)
        mixed, x, of_target = self._mixed(condition, batch), batch.x.flatten(0, 1), target.flatten(0, 1)
        log_prob = of_targets(mixed, x, _in_x(batch), of_target, end, self.spec.separator)
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
        condition.check(batch.tasks, batch.rows)
        if batch.y_length is None:
            log_prob = log_softmax(self._class_logits(condition, batch))
        elif self.copier is None:
            log_prob = log_softmax(self.head(self._decode(condition, batch)))
        else:
            mixed, x = self._mixed(condition, batch), batch.x.flatten(0, 1)
            log_prob = copied_outcomes(mixed, x, _in_x(batch), self.spec.separator)
        return log_prob.unflatten(0, (batch.tasks, batch.rows))

    def _check(self, z: Tensor | None, batch: Batch) -> None:
        """Raise an error unless z is what this model needs for the batch."""
        needed, reason = self.task_size > 0, f"with conditioning {self.spec.conditioning!r}"
        if self.spec.compositional:
            needed = batch.unknown is not None
            reason = f"{'with' if needed else 'without'} an unknown slot in the batch"
            slots = None if batch.primitives is None else batch.primitives.shape[1]
            if slots != self.spec.slots:
                raise ValueError(
                    f"each task must have {self.spec.slots} primitives in this model: got {slots}"
                )
        if needed != (z is not None):
            raise ValueError(f"z must {'not ' if needed else ''}be None {reason}")
        shapes = [(batch.tasks, copies, self.task_size) for copies in (1, batch.rows)]
        if z is not None and z.shape not in shapes:
            raise ValueError(f"z [B, M, S] must have one of the shapes {shapes}: got {tuple(z.shape)}")

    def _primitive_tokens(self, table: Tensor, z: Tensor | None, batch: Batch) -> Tensor:
        """The tokens of the primitives, with z for the unknown one: `[B, M, K, d]`."""
        assert batch.primitives is not None
        if z is None or batch.unknown is None:
            return self._tokens(F.embedding(batch.primitives, table).flatten(1).unsqueeze(1))
        slots = torch.arange(self.spec.slots, device=batch.device)
        is_unknown = slots == batch.unknown.unsqueeze(-1)  # [B, K]
        # The unknown slot's id may be anything, so row 0 is looked up; `where` makes its gradient exactly 0.
        known = F.embedding(batch.primitives.masked_fill(is_unknown, 0), table)
        rows = torch.where(is_unknown[:, None, :, None], z.unsqueeze(2), known.unsqueeze(1))
        return self._tokens(rows.flatten(2))

    def _tokens(self, embeddings: Tensor) -> Tensor:
        """Reshape `[B, M, K · d]` to `[B, M, K, d]`."""
        return embeddings.unflatten(2, (-1, self.spec.width))

    def _lead(self, condition: Condition, rows: int) -> Tensor:
        """The places of the task, after CLS if there is one: `[R, K or K + 1, d]`."""
        lead = _at_places(self.places, condition, rows)
        return lead if self.cls is None else torch.cat([self.cls.expand(len(lead), 1, -1), lead], dim=1)

    def _class_logits(self, condition: Condition, batch: Batch) -> Tensor:
        """The logits of the classes `[R, C]`, −∞ for those that the task does not have."""
        logits = self.head(self._features(condition, batch))
        if batch.classes is None:
            return logits
        has = within(batch.classes, self.spec.classes).unsqueeze(1).expand(-1, batch.rows, -1)
        return logits.masked_fill(~has.flatten(0, 1), -math.inf)

    def _features(self, condition: Condition, batch: Batch) -> Tensor:
        """A classifier's features of `[task, x…]`: `[R, features]`."""
        sequence = lead = self._lead(condition, batch.rows)
        if isinstance(self.backbone, TextEncoder):
            return self.backbone(self.x, lead, batch)
        in_x = _in_x(batch)
        if not batch.x_cache:
            sequence = torch.cat([lead, self._embedded_x(batch, in_x)], dim=1)
        seen = [in_x.new_ones(lead.shape[:2]), in_x]
        valid, positions = torch.cat(seen, dim=1), self._positions(seen, seen[0])
        if isinstance(self.backbone, LSTM):
            return self.backbone(sequence, valid)
        placed = Placed(sequence, Mask(valid, causal=False, padded=batch.padded), positions)
        return self._transform(placed, condition, batch, slice(0, 1)).squeeze(1)

    def _decode(self, condition: Condition, batch: Batch) -> Tensor:
        """Hidden states that predict y₁ and what follows each token of y: `[R, Y + 1, d]`.

        For copying, those of x and z come before them, unless x is cached.
        """
        assert self.y is not None
        assert batch.y_length is not None
        y, in_x = self._readable(batch.y.flatten(0, 1)), _in_x(batch)
        in_y, lead = within(batch.y_length.flatten(), y.shape[-1]), self._lead(condition, batch.rows)
        task = in_x.new_ones(lead.shape[:2])
        parts, seen = [lead, engine.embed(self.y, y, in_y)], [in_x, task, in_y]
        if not batch.x_cache:
            parts = [self._embedded_x(batch, in_x), *parts]
        if self.front_places is not None:
            parts, seen = [_at_places(self.front_places, condition, batch.rows), *parts], [task, *seen]
        positions = self._positions(seen, task)
        sequence, valid = torch.cat(parts, dim=1), torch.cat(seen, dim=1)
        front = valid.shape[1] - task.shape[1] - y.shape[1] if self.spec.x_mask == "full" else 0
        placed = Placed(sequence, Mask(valid, causal=True, front=front, padded=batch.padded), positions)
        read = slice(sequence.shape[1] - y.shape[1] - 1, None)
        if self.copier is not None and not batch.x_cache:
            read = slice(0 if self.front_places is None else len(self.front_places), None)
        return self._transform(placed, condition, batch, read)

    def _mixed(self, condition: Condition, batch: Batch) -> Mixed:
        """A decoder's next-token distribution: generated from the vocabulary, and copied from x."""
        assert self.copier is not None
        hidden, in_x = self._decode(condition, batch), _in_x(batch)
        if batch.x_cache:
            x_hidden = batch.x_cache[1].flatten(0, 1).to(hidden.dtype)
        else:
            x_hidden = hidden[:, : batch.x.shape[-1]]
            hidden = hidden[:, hidden.shape[1] - batch.y.shape[-1] - 1 :]
        rotations = followed = None
        if self.spec.positions == "rotary":  # y is counted from the task's last place, x from its start
            dtype = torch.promote_types(hidden.dtype, torch.float32)
            counts = torch.arange(hidden.shape[1], device=hidden.device), rotary.positions([in_x])
            rotations = tuple(Rotation.of(count, self.spec.width, dtype) for count in counts)
        if (separator := self.spec.separator) is not None and batch.x.shape[-1]:
            x, y = batch.x.flatten(0, 1), batch.y.flatten(0, 1)
            followed = follow(x, in_x, y, self.spec.hints, separator)
        log_prob = log_softmax(self.head(hidden))
        return self.copier(log_prob, hidden, x_hidden, in_x, rotations, followed)

    def _embedded_x(self, batch: Batch, in_x: Tensor) -> Tensor:
        """The vectors of x, `[R, X, d]`."""
        return engine.embed(self.x, self._readable(batch.x.flatten(0, 1)), in_x)

    def _readable(self, ids: Tensor) -> Tensor:
        """Replace ids that only mark what can be copied with the unknown token's id."""
        return ids if self.copier is None else ids.clamp(max=self.spec.vocabulary - 1)

    def _positions(self, parts: Sequence[Tensor], task: Tensor | None = None) -> Tensor | None:
        """See `rotary.positions`; None unless positions are rotary."""
        return None if self.spec.positions == "table" else rotary.positions(parts, task)

    def _transform(self, placed: Placed, condition: Condition, batch: Batch, read: slice) -> Tensor:
        """The transformer's hidden states at the places `read` of each row; undefined in padding."""
        assert isinstance(self.backbone, Transformer)
        cache = [part.flatten(0, 1) for part in batch.x_cache]
        if self.copier is not None:
            cache = cache[:1]
        vectors, mask, positions = placed
        return engine.transform(self.backbone, vectors, mask, condition.modulation, read, cache, positions)


def _in_x(batch: Batch) -> Tensor:
    """Mask of the places of x that hold a token, `[R, X]`."""
    return within(batch.x_length.flatten(), batch.x.shape[-1])


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


def _at_places(places: Tensor, condition: Condition, rows: int) -> Tensor:
    """Add the vectors of places `[K, d]` to the task's tokens: `[R, K, d]`."""
    vectors = places if condition.tokens is None else places + condition.tokens
    return vectors.expand(condition.tasks, rows, -1, -1).flatten(0, 1)
