"""A network that looks at pairs of an input and its answer while it answers.

The sequence is the pairs of the support, x₁ y₁ x₂ y₂ …, and then the query as in `Model`. The support's
places see the support, the query's places see the support and the query. The support's hidden states are
therefore the same for all queries of a task, and computed once for all of them: exactly the same numbers as
one long sequence for each query, at a fraction of the cost.

Positions are counted inside a pair, so that the support is a set. Two things tell which tokens make a pair:
each token of an input has the mean vector of its answer added, and each token of an answer that of its
input; and a learned number for each layer and head is added to the attention scores between places of one
pair. Both shorten the way to the first use of the support, before which such a network learns nothing.

Shapes: B tasks, N queries of each, R = B · N, M pairs of each task, S places of the support, L of a query,
P of them read, H heads, D = d / H, d width.
"""

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.models.attention import ALL, Mask, additive, plain_attention
from tam.models.batch import Batch
from tam.models.conditioning import Condition
from tam.models.dropout import drop
from tam.models.fast import engine
from tam.models.layers import EMBEDDING_STD, constant, normal, within
from tam.models.model import Model, Placed
from tam.models.precision import Precision, in_own_precision
from tam.models.spec import ModelSpec, Purpose
from tam.models.transformer import Block, Transformer

# What every second head starts with: a place of its own pair counts exp(3) times as much as another.
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

    def _transform(self, placed: Placed, condition: Condition, batch: Batch, read: slice) -> Tensor:
        if batch.support is None:
            raise ValueError("this model answers from pairs: give the batch a support")
        assert isinstance(self.backbone, Transformer)
        context, valid, pair, context_positions = self._context(condition, batch.support)
        sequence, mask, positions = placed
        turn = self.backbone.rotation(positions, sequence)
        context_turn = self.backbone.rotation(context_positions, context)
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
            own = to_query if to_query.shape[-2] == 1 else to_query[..., places, :]
            asking, shown = block.attention_norm(sequence), block.attention_norm(context)
            keys, values = block.attention.keys_values(shown, context_turn)
            found = attend_to_both(
                block.attention.queries(asking[:, places], None if turn is None else turn.at(places)),
                (keys, values, to_context),
                (*block.attention.keys_values(asking, turn), own + bonus),
            )
            sequence = _finish(block, sequence[:, places], found)
            if index < last:
                queries = block.attention.queries(shown, context_turn)
                mixed = plain_attention(queries, keys, values, within_context + bonus * same)
                context = _finish(block, context, mixed)
        return self.backbone.norm(sequence)

    def _context(self, condition: Condition, support: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """The support's vectors `[B, S, d]`, which are there `[B, S]`, and their pairs and positions `[S]`.

        The tokens of the primitives, if there are some, stand before the pairs, as a pair of their own.
        """
        x = support.x.flatten(0, 1)
        present = support.x_length.new_ones(len(x), dtype=torch.bool)
        if support.present is not None:
            present = support.present.flatten()
        in_x = within(support.x_length.flatten(), x.shape[-1]) & present.unsqueeze(1)
        answer, in_answer = self._answer(support, present)
        given = engine.embed(self.x, self._readable(x), in_x)
        tokens = [given + _mean(answer, in_answer), answer + _mean(given, in_x)]
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
        """The vectors of the answers `[B · M, 1 or Y, d]`, and which of them are there."""
        y = support.y.flatten(0, 1)
        if support.y_length is None:
            assert self.labels is not None
            return F.embedding(y.masked_fill(~present, 0), self.labels).unsqueeze(1), present.unsqueeze(1)
        assert self.y is not None
        in_y = within(support.y_length.flatten(), y.shape[-1]) & present.unsqueeze(1)
        return engine.embed(self.y, self._readable(y), in_y), in_y


def _mean(vectors: Tensor, valid: Tensor) -> Tensor:
    """The mean of the vectors that are there, `[B · M, 1, d]`."""
    weights = valid / valid.sum(1, keepdim=True).clamp(min=1)
    return weights.to(vectors.dtype).unsqueeze(1) @ vectors


def attend_to_both(
    asked: Tensor, context: tuple[Tensor, Tensor, Tensor], own: tuple[Tensor, Tensor, Tensor]
) -> Tensor:
    """Attention of every query to its task's support and to itself, in one softmax: `[R, H, P, D]`.

    Args:
        asked: `[R, H, P, D]`.
        context: Keys and values of the support `[B, H, S, D]`, shared by a task's queries, and what to add
            to the scores, `[B, 1, 1, S]`.
        own: Keys and values of each query `[R, H, L, D]`, and what to add to the scores.
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


def _finish(block: Block, hidden: Tensor, found: Tensor) -> Tensor:
    """What a block does with what its attention found."""
    hidden = hidden + drop(block.attention.join(found))
    return hidden + drop(block.mlp(block.mlp_norm(hidden)))


class CompareModel(Model):
    """(x, x′) ↦ a score, read in front of `[…, x, x′]`. Tokens are shared, places each input's own.

    With rotary positions one vector tells x′ from x.
    """

    tables = (*Model.tables, "position")

    def __init__(self, spec: ModelSpec, generator: torch.Generator):
        super().__init__(spec, generator)
        places = spec.max_x if spec.positions == "table" else 1
        self.position = normal(generator, places, spec.width, std=EMBEDDING_STD)

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """The score of every input with every input of the support, `[B, N, M]`, whatever the answers."""
        condition, support = self.condition(z, batch), batch.support
        if support is None:
            raise ValueError("this model compares inputs: give the batch a support")
        in_x = within(batch.x_length, batch.x.shape[-1])
        in_other = within(support.x_length, support.x.shape[-1])
        if support.present is not None:
            in_other = in_other & support.present.unsqueeze(-1)
        x = engine.embed(self.x, batch.x.flatten(0, 1), in_x.flatten(0, 1)).unflatten(0, in_x.shape[:2])
        other = F.embedding(support.x.masked_fill(~in_other, 0), self.x.token)
        other = other + self.position[: other.shape[-2]]
        lead = self._lead(condition, 1)[:, None, None]  # [B, 1, 1, K or K + 1, d]
        parts = [lead, x.unsqueeze(2), other.unsqueeze(1)]
        seen = [lead.new_ones(lead.shape[:-1], dtype=torch.bool), in_x.unsqueeze(2), in_other.unsqueeze(1)]
        shape = (batch.tasks, batch.rows, support.rows)
        sequence = torch.cat([part.expand(*shape, -1, -1) for part in parts], dim=3).flatten(0, 2)
        valid = torch.cat([part.expand(*shape, -1) for part in seen], dim=3).flatten(0, 2)
        placed = Placed(sequence, Mask(valid, causal=False), self._positions(seen, seen[0]))
        hidden = self._transform(placed, condition, batch, slice(0, 1))
        # What all scores share counts for nothing. In bfloat16 the rounded gradients of a query's scores do
        # not sum to 0, so Adam moves that number on and on, until scores so large are rounded to the same.
        with torch.autocast(hidden.device.type, enabled=False):
            return self.head(hidden.to(self.head.weight.dtype)).view(shape)

    def outcomes(self, condition: object, batch: Batch) -> Tensor:
        """An error: what the scores say about answers is the method's to tell."""
        raise ValueError("a network to compare gives scores, and no answers")


class EmbedModel(Model):
    """x ↦ its features: what `Model` reads its class from, without the layer that makes a class of it."""

    @in_own_precision
    def forward(self, z: Tensor | None, batch: Batch) -> Tensor:
        """The features of every input, `[B, N, d]`."""
        features = self._features(self.condition(z, batch), batch)
        return features.unflatten(0, (batch.tasks, batch.rows))

    def outcomes(self, condition: object, batch: Batch) -> Tensor:
        """An error: what the features say about answers is the method's to tell."""
        raise ValueError("a network to embed gives features, and no answers")


_MODELS: dict[Purpose, type[Model]] = {
    "answer": Model,
    "answer from pairs": PairsModel,
    "compare": CompareModel,
    "embed": EmbedModel,
}


def build_model(spec: ModelSpec, generator: torch.Generator) -> Model:
    """Build a model on the generator's device, every weight drawn from the generator."""
    return _MODELS[spec.purpose](spec, generator)


def place_model(model: Model, device: torch.device | str, precision: Precision) -> Model:
    """Move a model to its device and set how it computes there: in training and in every later use.

    On a GPU this allows TF32 in float32 products. A device with a number also becomes the current one, since
    Triton launches kernels there.
    """
    device = torch.device(device)
    model.precision = precision
    if device.type == "cuda":
        if ":" in str(device):
            torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    return model.to(device)
