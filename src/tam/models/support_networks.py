"""Networks that read the support: `PairsModel` answers from it, the others compare or embed inputs.

The sequence of `PairsModel` is the pairs of the support, x₁ y₁ x₂ y₂ …, followed by the query as in `Model`.
The support attends to itself; the query attends to the support and itself. The support's hidden states are
therefore the same for all queries of a task and computed once: exactly the same numbers as with one long
sequence per query, at a fraction of the cost.

Positions are counted within a pair, so the support is a set. Two things mark which tokens form a pair: the
mean vector of its answer is added to each token of an input, and vice versa; and a learned number per layer
and head is added to the attention scores within a pair. Both help the network to start using the support,
before which it learns nothing.

Shapes: B tasks, N queries of each, R = B · N, M pairs of each task, S places of the support, L places of a
query, P of them read, H heads, D = d / H, d width.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.attention import ALL, Mask, additive, for_places, plain_attention
from tam.models.batch import Batch
from tam.models.conditioning import Condition
from tam.models.dropout import drop
from tam.models.fast import engine
from tam.models.layers import EMBEDDING_STD, constant, normal
from tam.models.model import Model
from tam.models.precision import in_own_precision
from tam.models.spec import ModelSpec, Purpose
from tam.models.transformer import Block, Transformer

# Initial bonus of every second head: a place of the same pair counts exp(3) times as much as another.
SAME_PAIR = 3.0


class PairsModel(Model):
    """log p(y | x, the support; θ)."""

    tables = (*Model.tables, "labels")

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__(spec, generator)
        self.labels: nn.Parameter | None = None
        if spec.kind == "classification":
            self.labels = normal(generator, spec.classes, spec.width, std=EMBEDDING_STD)
        self.same_pair = constant(generator, spec.layers, spec.heads, value=0.0)
        with torch.no_grad():
            self.same_pair[:, ::2] = SAME_PAIR

    def _transform(
        self,
        vectors: Tensor,
        mask: Mask,
        positions: Tensor | None,
        read: slice,
        condition: Condition,
        batch: Batch,
    ) -> Tensor:
        assert batch.support is not None, "this model answers from pairs"
        assert isinstance(self.backbone, Transformer)
        context, valid, pair, context_positions = self._context(condition, batch.support)
        sequence = vectors
        rotation = self.backbone.rotation(positions, sequence)
        context_rotation = self.backbone.rotation(context_positions, context)
        itself = torch.eye(len(pair), dtype=torch.bool, device=pair.device)
        within_context = additive(valid.unsqueeze(1) | itself, sequence.dtype).unsqueeze(1)  # [B, 1, S, S]
        to_context = additive(valid, sequence.dtype)[:, None, None]  # [B, 1, 1, S]
        own_mask = mask._replace(padded=True).matrix(sequence.shape[1])
        assert own_mask is not None
        to_query = additive(own_mask, sequence.dtype).unsqueeze(1)  # [R, 1, 1 or L, L]
        same = (pair == pair.unsqueeze(1)).to(sequence.dtype)  # [S, S]
        last = len(self.backbone.blocks) - 1
        for index, module in enumerate(self.backbone.blocks):
            block = cast(Block, module)
            places = read if index == last else ALL
            bonus = self.same_pair[index].view(-1, 1, 1)  # [H, 1, 1]
            normed, normed_context = block.attention_norm(sequence), block.attention_norm(context)
            keys, values = block.attention.keys_values(normed_context, context_rotation)
            attended = attend_to_both(
                block.attention.queries(normed[:, places], None if rotation is None else rotation.at(places)),
                (keys, values, to_context),
                (*block.attention.keys_values(normed, rotation), for_places(to_query, places) + bonus),
            )
            sequence = _finish(block, sequence[:, places], attended)
            if index < last:
                queries = block.attention.queries(normed_context, context_rotation)
                attended = plain_attention(queries, keys, values, within_context + bonus * same)
                context = _finish(block, context, attended)
        return self.backbone.norm(sequence)

    def _context(self, condition: Condition, support: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The support's vectors `[B, S, d]`, their mask `[B, S]`, and their pairs and positions `[S]`.

        The tokens of the primitives, if any, come before the pairs, as a pair of their own.
        """
        x, in_x = support.x.flatten(0, 1), support.in_x.flatten(0, 1)
        present = in_x.new_ones(len(x)) if support.present is None else support.present.flatten()
        in_x = in_x & present.unsqueeze(1)
        answer, in_answer = self._answer(support, present)
        vectors = engine.embed(self.x, self._readable(x), in_x)
        tokens = [vectors + _mean(answer, in_answer), answer + _mean(vectors, in_x)]
        pairs = torch.cat(tokens, dim=1)  # [B · M, places of a pair, d]
        valid = torch.cat([in_x, in_answer], dim=1)
        number = torch.arange(support.rows, device=x.device).repeat_interleave(pairs.shape[1])
        positions = self._positions([in_x, in_answer])
        positions = None if positions is None else positions.repeat(support.rows)
        vectors, valid = (t.unflatten(0, (support.tasks, -1)).flatten(1, 2) for t in (pairs, valid))
        if condition.tokens is not None:
            task = (self.places + condition.tokens).squeeze(1)  # [B, K, d]
            vectors = torch.cat([task, vectors], dim=1)
            valid = F.pad(valid, (task.shape[1], 0), value=True)
            number = F.pad(number, (task.shape[1], 0), value=-1)
            positions = None if positions is None else F.pad(positions, (task.shape[1], 0))
        return vectors, valid, number, positions

    def _answer(self, support: Batch, present: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of the answers `[B · M, 1 or Y, d]`, and their mask."""
        y = support.y.flatten(0, 1)
        if support.y_length is None:
            assert self.labels is not None
            return F.embedding(y.masked_fill(~present, 0), self.labels).unsqueeze(1), present.unsqueeze(1)
        assert self.y is not None
        in_y = support.in_y.flatten(0, 1) & present.unsqueeze(1)
        return engine.embed(self.y, self._readable(y), in_y), in_y


def _mean(vectors: Tensor, valid: Tensor) -> Tensor:
    """The mean of the valid vectors, `[B · M, 1, d]`."""
    weights = valid / valid.sum(1, keepdim=True).clamp(min=1)
    return weights.to(vectors.dtype).unsqueeze(1) @ vectors


def attend_to_both(
    asked: Tensor, context: tuple[Tensor, Tensor, Tensor], own: tuple[Tensor, Tensor, Tensor]
) -> Tensor:
    """Attend from every query to its task's support and to itself, in one softmax: `[R, H, P, D]`.

    Args:
        asked: Attention queries, `[R, H, P, D]`.
        context: Keys and values of the support `[B, H, S, D]`, shared by a task's queries, and their bias,
            `[B, 1, 1, S]`.
        own: Keys and values of each query `[R, H, L, D]`, and their bias.
    """
    tasks, (rows, heads, places, _) = len(context[0]), asked.shape
    by_row = (tasks, rows // tasks)
    asked = asked * asked.shape[-1] ** -0.5
    together = asked.unflatten(0, by_row).transpose(1, 2).flatten(2, 3)  # [B, H, N · P, D]
    to_context = together @ context[0].transpose(-2, -1) + context[2]
    to_own = (asked @ own[0].transpose(-2, -1) + own[2]).unflatten(0, by_row).transpose(1, 2)
    scores = torch.cat([to_context, to_own.flatten(2, 3)], dim=-1)  # [B, H, N · P, S + L]
    weights = scores.softmax(dim=-1).to(own[1].dtype)
    of_context, of_own = weights.split([to_context.shape[-1], to_own.shape[-1]], dim=-1)

    def apart(mixed: Tensor) -> Tensor:
        return mixed.unflatten(2, (by_row[1], places)).transpose(1, 2).reshape(rows, heads, places, -1)

    return apart(of_context @ context[1]) + apart(of_own) @ own[1]


def _finish(block: Block, hidden: Tensor, attended: Tensor) -> Tensor:
    """The rest of a block after its attention: output projection and MLP."""
    hidden = hidden + drop(block.attention.join(attended))
    return hidden + drop(block.mlp(block.mlp_norm(hidden)))


class CompareModel(Model):
    """Scores a pair (x, x′), read at the first place of `[…, x, x′]`.

    x and x′ share token embeddings, but not position embeddings; with rotary positions, one learned vector
    marks x′.
    """

    tables = (*Model.tables, "position")

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__(spec, generator)
        places = spec.max_x if spec.positions == "table" else 1
        self.position = normal(generator, places, spec.width, std=EMBEDDING_STD)

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """Score every input against every input of the support, `[B, N, M]`; answers are not read."""
        condition, support = self.condition(z, batch), batch.support
        assert support is not None, "this model compares inputs"
        in_x, in_other = batch.in_x, support.in_x
        if support.present is not None:
            in_other = in_other & support.present.unsqueeze(-1)
        x = engine.embed(self.x, batch.x.flatten(0, 1), in_x.flatten(0, 1)).unflatten(0, in_x.shape[:2])
        other = F.embedding(support.x.masked_fill(~in_other, 0), self.x.token)
        other = other + self.position[: other.shape[-2]]
        lead = self.lead(condition).unsqueeze(1)  # [B, 1, 1, K or K + 1, d]
        parts = [lead, x.unsqueeze(2), other.unsqueeze(1)]
        seen = [lead.new_ones(lead.shape[:-1], dtype=torch.bool), in_x.unsqueeze(2), in_other.unsqueeze(1)]
        shape = (batch.tasks, batch.rows, support.rows)
        sequence = torch.cat([part.expand(*shape, -1, -1) for part in parts], dim=3).flatten(0, 2)
        valid = torch.cat([part.expand(*shape, -1) for part in seen], dim=3).flatten(0, 2)
        mask, positions = Mask(valid, causal=False), self._positions(seen, seen[0])
        hidden = self._transform(sequence, mask, positions, slice(0, 1), condition, batch)
        # A constant added to all scores has no effect, but in bfloat16 the rounded gradients of a query's
        # scores do not sum to 0, so Adam would move it until scores are too large to differ after rounding.
        with torch.autocast(hidden.device.type, enabled=False):
            return self.head(hidden.to(self.head.weight.dtype)).view(shape)


class EmbedModel(Model):
    """Maps x to the features from which `Model` would read its class."""

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """Compute the features of every input, `[B, N, d]`."""
        features = self._features(self.condition(z, batch), batch)
        return features.unflatten(0, (batch.tasks, batch.rows))


_MODELS: dict[Purpose, type[Model]] = {
    "answer": Model,
    "answer from pairs": PairsModel,
    "compare": CompareModel,
    "embed": EmbedModel,
}


def build_model(spec: ModelSpec, generator: torch.Generator) -> Model:
    """Build a model on the generator's device, drawing every weight from the generator."""
    return _MODELS[spec.purpose](spec, generator)
