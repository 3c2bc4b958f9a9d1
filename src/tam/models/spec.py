"""What a model is: its kind of task, its sizes, and where the task embedding enters."""

from collections.abc import Mapping
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
"""How sure a hint about a class can be."""
MOST_LAYERS = 1000
"""Building more would take minutes, however narrow they are."""
LONGEST = 4096
"""Tokens of a sequence that a network with rotary positions takes; memory grows with their square."""


@dataclass(frozen=True, kw_only=True)
class EncoderSpec:
    """A text encoder of Hugging Face's, up to its weights; see `tam.models.encoder`.

    Attributes:
        config: Its config in JSON.
        frozen: Whether its weights and embeddings stay as they are in training.
        hidden: Size of its hidden states.
        before: Ids of the tokens that begin a text.
        after: Ids of those that end it.
        unknown: Id of the unknown token.
        longest: Most places of a sequence.
    """

    config: str
    frozen: bool
    hidden: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    unknown: int
    longest: int


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """The sizes and choices that determine a network up to its weights.

    Attributes:
        kind: What is predicted: a class, or a sequence.
        copies: Whether a decoder can also answer with tokens of x, by pointing at their places.
        vocabulary: Number of token ids V. The end of a predicted sequence has the id V.
        unknown_tokens: Whether the last id, V − 1, stands for any token that the model does not know.
        hints: How many answers that a simple rule finds are read beside x, see `tam.models.hints`. They take
            up ids before the unknown one: one that separates them from x, or those of all classes and levels.
        memory: How many training examples hints look up; for sequences only.
        programs: How many random programs hints try, see `tam.tasks.lists.search`; for lists of integers.
        classes: Number of classes C; classification only.
        max_x: Longest input of the tasks; see `longest_x`.
        max_y: Longest answer of them, without its end token; transduction only. See `longest_y`.
        primitives: Rows of the table of primitive embeddings; 0 if tasks are not compositional.
        slots: Primitives that compose one task; with `primitives` only.
        backbone: The network. The LSTM classifies only, conditioned by a token or not at all.
        encoder: The text encoder that is the backbone instead; it classifies only, conditioned by a token or
            not at all. Width, layers and heads are then its own.
        conditioning: Where the task embedding enters: as a token of the sequence, as an offset on the
            weights of adapters, as an offset on the LayerNorms, or nowhere.
        layers: Blocks of the transformer. The LSTM has as many parameters as that transformer.
        width: Size of an embedding and of the transformer's hidden states.
        heads: Attention heads of the transformer.
        bottleneck: Width inside an adapter; 8 unless told, and None for any other conditioning.
        task_tokens: Tokens that one task embedding takes, or the embedding of one primitive.
        task_first: Whether a decoder has the task's tokens in front of x as well as after it.
        x_mask: Whether places of x in a decoder see only those before them ("causal"), or all places up to
            the end of x ("full").
        positions: Whether a token's position is a vector of a table that is added to it, or an angle by
            which queries and keys are rotated ("rotary", see `tam.models.rotary`). The LSTM then has none.
        purpose: What the network is for. "answer": to answer an input. "answer from pairs": to answer it
            while it looks at pairs of an input and its answer. "compare": to score how alike an input and
            a labelled one are. "embed": to give the features of an input. The last two classify only, and
            the middle two are transformers.
        proposer: Whether there is an encoder of examples that proposes a task embedding; not with primitives.
        tasks: Rows of the table of training tasks' embeddings, for a method that learns one for each;
            0 for none. A compositional model has its primitives' table instead.
        kept: Rows of the table that keeps training tasks' last embeddings, which are no weights; 0 for none.
        unknown: Whether there is a learned embedding that stands for any unknown primitive; with
            `primitives` only.
    """

    kind: Kind
    vocabulary: int
    classes: int = 0
    max_x: int
    max_y: int = 0
    primitives: int = 0
    slots: int = 0
    backbone: Backbone = "transformer"
    conditioning: Conditioning = "token"
    layers: int = 4
    width: int = 128
    heads: int = 4
    bottleneck: int | None = None
    task_tokens: int = 1
    task_first: bool = False
    x_mask: XMask = "causal"
    positions: Positions = "table"
    purpose: Purpose = "answer"
    proposer: bool = False
    tasks: int = 0
    kept: int = 0
    unknown: bool = False
    unknown_tokens: bool = False
    copies: bool = False
    encoder: EncoderSpec | None = None
    hints: int = 0
    memory: int = 0
    programs: int = 0

    def __post_init__(self) -> None:
        if self.conditioning == "adapter" and self.bottleneck is None:
            object.__setattr__(self, "bottleneck", DEFAULT_BOTTLENECK)
        self._check_choices()
        self._check_sizes()
        self._check_compositional()
        self._check_tables()
        self._check_backbone()
        self._check_encoder()
        self._check_purpose()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "ModelSpec":
        """From what `dataclasses.asdict` made of one."""
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
        """Longest input that the network takes, without hints."""
        if self.encoder is not None:
            around = len(self.encoder.before) + len(self.encoder.after)
            return max(0, self.encoder.longest - around - self.task_places)
        return max(self.max_x, LONGEST) if self._extends else self.max_x

    @property
    def longest_y(self) -> int:
        """Longest answer that the network takes, without its end token."""
        return max(self.max_y, LONGEST) if self._extends else self.max_y

    @property
    def _extends(self) -> bool:
        """Whether sequences may be longer than those of the tasks; a kept support has a fixed width."""
        return self.positions == "rotary" and self.purpose in ("answer", "embed")

    @property
    def hint_tokens(self) -> int:
        """Number of ids that hints take up."""
        return hint_tokens(self.kind, self.classes, self.hints)

    @property
    def named(self) -> int:
        """Number of ids that stand for a token of the vocabulary, those below all others."""
        return self.vocabulary - self.unknown_tokens - self.hint_tokens

    @property
    def codes(self) -> int | None:
        """The first id of tokens that the model does not know, each with its own until hints are added.

        None where the model does not copy them from hints.
        """
        copies_hints = self.hints and self.copies and self.unknown_tokens
        return self.vocabulary + self.most_places if copies_hints else None

    @property
    def separator(self) -> int | None:
        """The id that separates hints about sequences from x; None if there are none."""
        return self.named if self.hints and self.kind == "transduction" else None

    @property
    def starts_as_rule(self) -> bool:
        """Whether an untrained model answers as a rule does: from hints about sequences, which it copies."""
        return self.separator is not None and self.copies

    @property
    def x_places(self) -> int:
        """Places of the longest x of the tasks with its hints."""
        return self.max_x + self.hints * (1 if self.kind == "classification" else 1 + self.max_y)

    @property
    def most_places(self) -> int:
        """Places of the longest x that the network takes, with its hints."""
        return self.longest_x + self.hints * (1 if self.kind == "classification" else 1 + self.longest_y)

    @property
    def outputs(self) -> int:
        """Number of logits: one a class, or one a token and one for the end; a single score; or none."""
        if self.purpose == "compare":
            return 1
        if self.purpose == "embed":
            return 0
        return self.classes if self.kind == "classification" else self.vocabulary + 1

    def without_embedding(self) -> "ModelSpec":
        """The same network with no task embedding, for a method that has none."""
        if self.conditioning in ("adapter", "norm"):
            raise ValueError(f"conditioning {self.conditioning!r} has no effect: there is no task embedding")
        return replace(self, conditioning="none", task_tokens=1, task_first=False)

    def _check_choices(self) -> None:
        options = {
            "kind": Kind,
            "backbone": Backbone,
            "conditioning": Conditioning,
            "purpose": Purpose,
            "x_mask": XMask,
            "positions": Positions,
        }
        for name, choices in options.items():
            if getattr(self, name) not in get_args(choices):
                raise ValueError(
                    f"{name} must be one of {list(get_args(choices))}: got {getattr(self, name)!r}"
                )

    def _check_sizes(self) -> None:
        smallest = {"vocabulary": 1, "max_x": 0, "layers": 1, "width": 1, "heads": 1, "task_tokens": 1}
        smallest |= {
            "classes" if self.kind == "classification" else "max_y": 1,
            "tasks": 0,
            "hints": 0,
            "memory": 0,
            "programs": 0,
        }
        for name, least in (smallest | ({} if self.bottleneck is None else {"bottleneck": 1})).items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}: got {getattr(self, name)}")
        if self.width % self.heads:
            raise ValueError(f"width must be a multiple of heads: got width={self.width}, heads={self.heads}")
        if self.layers > MOST_LAYERS:
            raise ValueError(f"layers must be at most {MOST_LAYERS}: got {self.layers}")
        if self.conditioning != "adapter" and self.bottleneck is not None:
            raise ValueError(
                f"bottleneck is the width of an adapter: leave it out with conditioning {self.conditioning!r}"
            )

    @property
    def task_places(self) -> int:
        """Places that the task's tokens take; one, of a learned token, where it has none."""
        return max(self.slots, 1) * (self.task_tokens if self.conditioning == "token" else 1)

    def _check_compositional(self) -> None:
        if self.primitives < 0 or self.slots < 0 or (self.primitives > 0) != (self.slots > 0):
            raise ValueError(
                "a compositional model needs both primitives and slots, any other model neither: "
                f"got primitives={self.primitives}, slots={self.slots}"
            )
        if self.compositional and self.conditioning != "token":
            raise ValueError(f"with primitives, conditioning must be 'token': got {self.conditioning!r}")

    def _check_tables(self) -> None:
        if self.tasks and (self.compositional or self.conditioning == "none"):
            without = "composed of primitives" if self.compositional else "with conditioning 'none'"
            raise ValueError(f"tasks {without} have no embeddings of their own; leave tasks out")
        if self.proposer and self.compositional:
            raise ValueError("a proposer must see tasks without primitives: set use_primitives to False")
        if self.copies and self.kind != "transduction":
            raise ValueError("copies is for decoders: it needs kind transduction")
        if self.unknown and not self.compositional:
            raise ValueError("unknown stands for a primitive, and there are none; leave it out")

    def _check_backbone(self) -> None:
        if self.backbone == "transformer":
            if self.positions == "rotary" and self.width // self.heads % 2:
                raise ValueError(
                    "width must be an even multiple of heads with rotary positions: "
                    f"got width={self.width}, heads={self.heads}; or set positions to table"
                )
            return
        if self.kind != "classification":
            raise ValueError(f"the LSTM is for classification, not for {self.kind}")
        if self.conditioning not in ("token", "none"):
            raise ValueError(f"the LSTM's conditioning must be 'token' or 'none': got {self.conditioning!r}")
        if self.compositional:
            raise ValueError("the LSTM has no primitives; leave primitives and slots out")

    def _check_encoder(self) -> None:
        if self.encoder is None:
            return
        if self.kind != "classification":
            raise ValueError(f"a text encoder is for classification, not for {self.kind}")
        if self.backbone != "transformer" or self.purpose not in ("answer", "embed"):
            what = "backbone lstm" if self.backbone == "lstm" else f"a network to {self.purpose}"
            raise ValueError(f"{what} has no text encoder: leave encoder out")
        if self.conditioning not in ("token", "none"):
            raise ValueError(f"with a text encoder, conditioning must be 'token': got {self.conditioning!r}")
        if self.compositional or self.proposer:
            what = "use_primitives" if self.compositional else "proposer"
            raise ValueError(f"with a text encoder, {what} must be False")
        if self.max_x > self.longest_x:
            raise ValueError(
                f"inputs must have at most {self.longest_x} tokens for this encoder: got {self.max_x}"
            )

    def _check_purpose(self) -> None:
        if self.purpose == "answer":
            return
        if self.conditioning != ("token" if self.compositional else "none"):
            raise ValueError(
                f"a network to {self.purpose} has no task embedding: conditioning must be 'none', or 'token' "
                f"with primitives; got {self.conditioning!r}"
            )
        if self.purpose in ("compare", "embed") and self.kind != "classification":
            raise ValueError(f"a network to {self.purpose} is for classification, not for {self.kind}")
        if self.purpose != "embed" and self.backbone != "transformer":
            raise ValueError(f"a network to {self.purpose} is a transformer, not an {self.backbone.upper()}")


def hint_tokens(kind: Kind, classes: int, hints: int) -> int:
    """Number of ids that hints take up."""
    if not hints:
        return 0
    return 1 if kind == "transduction" else classes * HINT_LEVELS
