"""The sections of a config that all methods share: the network, its training, and the k-shot protocol.

This file imports nothing heavy: the command line is built from it.
"""

from dataclasses import dataclass
from typing import Literal

from tam.config.validate import check_numbers, check_types
from tam.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Network:
    """The model settings that do not follow from the tasks."""

    backbone: Literal["transformer", "lstm"] = "transformer"
    """The network; lstm is for classification only."""
    encoder: str | None = None
    """Use a pretrained Hugging Face text encoder as the network, for classification: a folder, or a name on
    the hub. Its tokenizer splits the text. Needs the extra text."""
    freeze_encoder: bool = False
    """Keep the encoder's own weights fixed, and train only the layers around it."""
    conditioning: Literal["token", "adapter", "norm"] = "token"
    """Where the task embedding enters: as tokens, in adapters, or in the layer norms."""
    layers: int = 4
    """Transformer blocks; an LSTM gets as many parameters as that transformer."""
    width: int = 128
    """Size of the hidden states and embeddings; must be a multiple of heads."""
    heads: int = 4
    """Attention heads."""
    bottleneck: int | None = None
    """Width inside an adapter; for conditioning by adapters only."""
    task_tokens: int = 1
    """Number of tokens in the task embedding, each of size width; for conditioning by tokens only."""
    task_first: bool = False
    """Decoder: put the task embedding before x too, [z, x…, z, y…] instead of [x…, z, y…]."""
    x_mask: Literal["causal", "full"] = "causal"
    """Decoder: whether a token of x attends only to earlier ones (causal) or to all of x (full)."""
    positions: Literal["table", "rotary"] = "table"
    """A table of positions, limited to the longest sequence of the tasks; or rotary positions, which let a
    trained model read longer ones. For your own tasks in quick: rotary."""
    use_primitives: bool | None = None
    """Give the model the tasks' primitives; None: if they have any and the method takes them."""
    mask_tokens: float = 0.0
    """Share of tokens, mostly rare ones, that training replaces by an unknown token, so that the model can
    read tokens that no training task has; with 0, these are an error. For your own tasks: 0.02."""

    copy: bool = False
    """Decoder: can also copy tokens of x into the answer, unknown ones included, by pointing at them.
    For your own tasks: True."""
    hints: int = 0
    """Number of hints that the model reads beside x: answers that a simple rule (the commonest edits, or
    words in common) finds in the support. For your own tasks: 2."""
    programs: int = 0
    """With hints, for sequences of integers: number of random list programs that the rule also tries; those
    that explain examples vote. For your own tasks: 100 000, if they explain any training task."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "layers", "width", "heads", "bottleneck", "task_tokens")
        check_numbers(self, "at least", 0, "mask_tokens", "hints", "programs")
        check_numbers(self, "below", 1, "mask_tokens")


@dataclass(frozen=True, kw_only=True)
class Training:
    """How θ is trained."""

    steps: int = 20_000
    """Outer steps; with 0 the weights stay as initialised."""
    tasks: int = 16
    """Tasks per outer step, B."""
    rows: int = 300
    """Examples per task in an outer step, N."""
    rate: float = 1e-3
    """Learning rate of Adam on θ after the warm-up; it then decays to 0 along a cosine."""
    warmup: int = 50
    """Outer steps over which the learning rate rises from 0."""
    clip: float = 1.0
    """Maximum norm of θ's gradient; larger gradients are scaled down to it."""
    validate_every: int = 500
    """Outer steps between validations."""
    checkpoint_every: int = 100
    """Outer steps between checkpoints."""
    stop_after: int | None = None
    """Stop once validation has not improved at any k for this many outer steps; None: never."""
    weight_decay: float = 0.0
    """Weight decay on the matrices of θ, scaled by the learning rate, as in AdamW."""
    dropout: float = 0.0
    """Dropout rate on what each transformer block adds to its input; makes steps slower."""
    label_smoothing: float = 0.0
    """Share of the target probability that is spread over all answers in training."""
    max_seconds: float | None = None
    """Stop after this many seconds of training, intermediate validations included; the learning rate then
    follows the steps or the time, whichever is further along. None: no limit."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of matrix products; weights and optimiser state are always float32. bfloat16 needs a GPU."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "tasks", "rows")
        check_numbers(self, "at least", 1, "validate_every", "checkpoint_every", "stop_after")
        check_numbers(self, "at least", 0, "steps", "rate", "warmup")
        check_numbers(self, "at least", 0, "weight_decay", "dropout", "label_smoothing")
        check_numbers(self, "below", 1, "dropout", "label_smoothing")
        check_numbers(self, "above", 0, "clip", "max_seconds")


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The k-shot protocol: see `tam.evaluation.protocol`."""

    shots: tuple[int, ...] = (1, 5, 10, 20)
    """Values of k: examples per task, or per class in classification."""
    supports: int = 4
    """Support sets drawn per task."""
    queries: int = 100
    """Maximum number of queries scored per support set."""
    adapt_steps: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 18, 25, 50, 100, 200)
    """Candidate numbers of inner steps; one is chosen on the validation tasks."""
    adapt_rates: tuple[float, ...] = (0.003, 0.01, 0.03, 0.1)
    """Candidate learning rates of these steps; one is chosen likewise."""
    support_seed: int = 0
    """Seed of the supports and queries."""
    choose_by: Literal["auto", "accuracy", "perplexity"] = "auto"
    """Metric by which the validation tasks choose steps, rate and weights: accuracy (for sequences: exact
    match) or perplexity; auto is accuracy for classes, perplexity for sequences."""

    def __post_init__(self) -> None:
        check_types(self)
        check_numbers(self, "at least", 1, "shots", "supports", "queries")
        check_numbers(self, "at least", 0, "adapt_steps", "adapt_rates")
        for name in ("shots", "adapt_steps", "adapt_rates"):
            if not getattr(self, name):
                raise SettingError(f"{name} must have one value or more: got ()")
