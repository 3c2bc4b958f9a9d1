"""The spec of a model: its kind of task, its sizes, and where the task embedding enters."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tam.tasks.task import Kind

Backbone = Literal["transformer", "lstm"]
Conditioning = Literal["token", "adapter", "norm", "none"]
Purpose = Literal["answer", "answer from pairs", "compare", "embed"]
XMask = Literal["causal", "full"]
Positions = Literal["table", "rotary"]

DEFAULT_BOTTLENECK = 8
HINT_LEVELS = 8
"""Confidence levels of a hint about a class."""
MOST_LAYERS = 1000
"""Building more would take minutes, however narrow they are."""
LONGEST = 4096
"""Most tokens of a sequence with rotary positions; memory grows with their square."""

_CHOICES = {
    "kind": Kind,
    "backbone": Backbone,
    "conditioning": Conditioning,
    "purpose": Purpose,
    "x_mask": XMask,
    "positions": Positions,
}
_AT_LEAST_0 = ("max_x", "tasks", "hints", "memory", "programs")
_AT_LEAST_1 = ("vocabulary", "layers", "width", "heads", "task_tokens", "bottleneck")


@dataclass(frozen=True, kw_only=True)
class EncoderSpec:
    """A Hugging Face text encoder without its weights; see `tam.models.encoder`."""

    config: str
    """Its config in JSON."""
    frozen: bool
    """Whether training leaves its weights and embeddings unchanged."""
    hidden: int
    """Size of its hidden states."""
    before: tuple[int, ...]
    """Ids of the tokens that begin a text."""
    after: tuple[int, ...]
    """Ids of the tokens that end a text."""
    unknown: int
    """Id of the unknown token."""
    longest: int
    """Most places of a sequence."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """The sizes and choices that determine a network up to its weights."""

    kind: Kind
    """What is predicted: a class, or a sequence."""
    vocabulary: int
    """Number of token ids V. The end of a predicted sequence has the id V."""
    classes: int = 0
    """Number of classes C; classification only."""
    max_x: int
    """Longest input of the tasks; see `longest_x`."""
    max_y: int = 0
    """Longest answer of the tasks, without its end token; transduction only. See `longest_y`."""

    # The network
    backbone: Backbone = "transformer"
    """The LSTM is for classification only, conditioned by a token or not at all."""
    layers: int = 4
    """Blocks of the transformer. The LSTM has as many parameters as that transformer."""
    width: int = 128
    """Size of an embedding and of the transformer's hidden states."""
    heads: int = 4
    """Attention heads of the transformer."""
    x_mask: XMask = "causal"
    """Attention of x in a decoder: each place sees those before it ("causal"), or all of x ("full")."""
    positions: Positions = "table"
    """Learned vectors added to the tokens ("table"), or angles by which queries and keys are rotated
    ("rotary", see `tam.models.rotary`); the LSTM then has no positions."""
    encoder: EncoderSpec | None = None
    """A text encoder to use as the backbone. It is for classification only, conditioned by a token or not at
    all. Width, layers and heads are then the encoder's."""
    purpose: Purpose = "answer"
    """What the network computes. "answer": the answer to an input. "answer from pairs": the answer, attending
    to the support's inputs and answers. "compare": how similar an input and a labelled one are. "embed": the
    features of an input. The last two are for classification only, the middle two are transformers."""

    # The task embedding
    conditioning: Conditioning = "token"
    """Where the task embedding enters: as tokens of the sequence, as an offset on the weights of adapters or
    on the LayerNorms, or nowhere."""
    bottleneck: int | None = None
    """Width inside an adapter, by default 8; None for any other conditioning."""
    task_tokens: int = 1
    """Tokens per task embedding, or per embedding of a primitive."""
    task_first: bool = False
    """Whether a decoder has the task's tokens before x as well as after it."""
    primitives: int = 0
    """Rows of the table of primitive embeddings; 0 if tasks are not compositional."""
    slots: int = 0
    """Primitives that compose one task; with `primitives` only."""

    # What a method adds
    proposer: bool = False
    """Whether there is an encoder of examples that proposes a task embedding; not with primitives."""
    tasks: int = 0
    """Rows of the table of training tasks' embeddings, for a method that learns one per task; 0 for none. A
    compositional model has a table of primitives instead."""
    kept: int = 0
    """Rows of the buffer with the training tasks' last embeddings; 0 for none."""
    unknown: bool = False
    """Whether unknown primitives share a learned embedding; with `primitives` only."""

    # Unknown tokens, copying and hints
    unknown_tokens: bool = False
    """Whether the last id, V − 1, stands for any token that the model does not know."""
    copies: bool = False
    """Whether a decoder can also answer with tokens of x, by pointing at their places."""
    hints: int = 0
    """Number of hints read beside x, see `tam.models.hints`. They take up ids below the unknown one: a
    separator, or one per class and level."""
    memory: int = 0
    """Number of training examples that hints look up; for sequences only."""
    token_classes: bool = False
    """Whether hints about sequences know which tokens alternate with the others, see `SeparateEdits`."""
    programs: int = 0
    """Number of random programs that hints try, see `tam.tasks.lists.search`; for lists of integers."""

    def __post_init__(self) -> None:
        if self.conditioning == "adapter" and self.bottleneck is None:
            object.__setattr__(self, "bottleneck", DEFAULT_BOTTLENECK)
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in get_args(choices):
                raise ValueError(f"{name} must be one of {list(get_args(choices))}: got {value!r}")
        answers = "classes" if self.kind == "classification" else "max_y"
        for least, names in enumerate((_AT_LEAST_0, (*_AT_LEAST_1, answers))):
            for name in names:
                if (value := getattr(self, name)) is not None and value < least:
                    raise ValueError(f"{name} must be at least {least}: got {value}")
        for wrong, message in self._rules():
            if wrong:
                raise ValueError(message)

    def _rules(self) -> Iterator[tuple[object, str]]:
        """Invalid combinations of settings: whether each one applies, and its error message."""
        classify, simple = self.kind == "classification", self.conditioning in ("token", "none")
        sizes = f"got width={self.width}, heads={self.heads}"
        conditioning, what = f"got {self.conditioning!r}", f"a network to {self.purpose}"
        yield self.width % self.heads, f"width must be a multiple of heads: {sizes}"
        yield self.layers > MOST_LAYERS, f"layers must be at most {MOST_LAYERS}: got {self.layers}"
        if self.compositional:
            yield (
                self.conditioning != "token",
                f"with primitives, conditioning must be 'token': {conditioning}",
            )
        if self.backbone == "lstm":
            yield not classify, f"the LSTM is for classification, not for {self.kind}"
            yield not simple, f"the LSTM's conditioning must be 'token' or 'none': {conditioning}"
            yield self.compositional, "the LSTM has no primitives: set use_primitives to False"
            yield self.purpose in ("answer from pairs", "compare"), f"{what} is a transformer, not an LSTM"
        elif self.positions == "rotary":
            even = "width must be an even multiple of heads with rotary positions"
            yield self.width // self.heads % 2, f"{even}: {sizes}; or set positions to table"
        if self.encoder is not None:
            longest = f"inputs must have at most {self.longest_x} tokens for this encoder"
            yield not classify, f"a text encoder is for classification, not for {self.kind}"
            yield self.backbone == "lstm", "backbone lstm has no text encoder: leave encoder out"
            yield self.purpose not in ("answer", "embed"), f"{what} has no text encoder: leave encoder out"
            yield not simple, f"with a text encoder, conditioning must be 'token': {conditioning}"
            yield self.compositional, "with a text encoder, use_primitives must be False"
            yield self.proposer, "with a text encoder, proposer must be False"
            yield self.max_x > self.longest_x, f"{longest}: got {self.max_x}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ModelSpec":
        """The inverse of `dataclasses.asdict`."""
        if (encoder := values.get("encoder")) is None:
            return cls(**values)
        ends = {name: tuple(encoder[name]) for name in ("before", "after")}
        return cls(**{**values, "encoder": EncoderSpec(**{**encoder, **ends})})

    @property
    def compositional(self) -> bool:
        """Whether tasks are composed of primitives."""
        return self.primitives > 0

    @property
    def unknown_token(self) -> int | None:
        """The id that stands for any token that the model does not know; None if there is none."""
        return self.vocabulary - 1 if self.unknown_tokens else None

    @property
    def longest_x(self) -> int:
        """Longest input that the network accepts, without hints."""
        if self.encoder is not None:
            around = len(self.encoder.before) + len(self.encoder.after)
            return max(0, self.encoder.longest - around - self.task_places)
        return max(self.max_x, LONGEST) if self._extends else self.max_x

    @property
    def longest_y(self) -> int:
        """Longest answer that the network accepts, without its end token."""
        return max(self.max_y, LONGEST) if self._extends else self.max_y

    @property
    def _extends(self) -> bool:
        """Whether sequences may be longer than those of the tasks; a kept support has a fixed width."""
        return self.positions == "rotary" and self.purpose in ("answer", "embed")

    @property
    def named(self) -> int:
        """Number of ids of known tokens, which come before all other ids."""
        return self.vocabulary - self.unknown_tokens - hint_tokens(self.kind, self.classes, self.hints)

    @property
    def codes(self) -> int | None:
        """First id of the codes, one for each unknown token, that are used until hints are added.

        None unless the model copies unknown tokens from hints.
        """
        copies_hints = self.hints and self.copies and self.unknown_tokens
        return self.vocabulary + self.most_places if copies_hints else None

    @property
    def separator(self) -> int | None:
        """The id that separates hints about sequences from x; None if there are none."""
        return self.named if self.hints and self.kind == "transduction" else None

    @property
    def starts_as_rule(self) -> bool:
        """Whether an untrained model answers like the rule, by copying hints about sequences."""
        return self.separator is not None and self.copies

    @property
    def x_places(self) -> int:
        """Places of the tasks' longest x with its hints."""
        return self.max_x + self.hints * (1 if self.kind == "classification" else 1 + self.max_y)

    @property
    def most_places(self) -> int:
        """Places of the longest x that the network accepts, with its hints."""
        return self.longest_x + self.hints * (1 if self.kind == "classification" else 1 + self.longest_y)

    @property
    def outputs(self) -> int:
        """Number of logits: one per class, or one per token and one for the end; a single score; or none."""
        if self.purpose == "compare":
            return 1
        if self.purpose == "embed":
            return 0
        return self.classes if self.kind == "classification" else self.vocabulary + 1

    def without_embedding(self) -> "ModelSpec":
        """The same network without a task embedding, for a method that has none."""
        if self.conditioning in ("adapter", "norm"):
            raise ValueError(f"conditioning {self.conditioning!r} has no effect: there is no task embedding")
        return replace(self, conditioning="none", task_tokens=1, task_first=False)

    @property
    def task_places(self) -> int:
        """Places of the task's tokens; 1, for a learned token, if it has none."""
        return max(self.slots, 1) * (self.task_tokens if self.conditioning == "token" else 1)


def hint_tokens(kind: Kind, classes: int, hints: int) -> int:
    """Number of ids that hints take up."""
    if not hints:
        return 0
    return 1 if kind == "transduction" else classes * HINT_LEVELS
