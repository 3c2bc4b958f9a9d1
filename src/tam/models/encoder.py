"""A text encoder of Hugging Face's as the backbone, pretrained, its weights trained or frozen.

The encoder reads `[CLS, z, x…, SEP]`: z stands among its own embeddings of tokens, so that gradients reach
it. What is read are the mean state at z and the mean over all other places, side by side, plus what two
layers make of both: with a frozen encoder, these are where the task decides what counts.

Needs the extra `text`.

Shapes: R rows, X places of x, K of the task, E size of an embedding, H of a hidden state.
"""

import json
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tam.errors import UserError
from tam.models.attention import additive
from tam.models.batch import Batch
from tam.models.fast import context
from tam.models.layers import EMBEDDING_STD, Embedding, Linear, constant, within
from tam.models.spec import LONGEST, EncoderSpec, ModelSpec
from tam.tasks.text import read_tokenizer, tokenizer_file
from tam.tasks.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tam.models.model import Model

OUT_STD = 0.02  # so that the first features are nearly the encoder's own


class Described(NamedTuple):
    """What is known of an encoder before its weights are read."""

    spec: EncoderSpec
    vocabulary: Vocabulary
    sizes: dict[str, int]
    """Width, layers and heads, as `ModelSpec` has them."""


class TextEncoder(nn.Module):
    """An encoder of Hugging Face's and the layers that read it. Its table of tokens is the model's `x`."""

    def __init__(self, spec: ModelSpec, generator: torch.Generator) -> None:
        super().__init__()
        assert spec.encoder is not None
        self.spec = spec.encoder
        self.encoder: nn.Module = _without_tokens(_built(self.spec.config, generator))
        # Embeddings of tokens are of another size in every encoder; z is of the size that searches expect.
        self.scale = constant(generator, 1, value=1.0)
        features = 2 * self.spec.hidden
        self.inner = Linear(features, features, generator)
        self.out = Linear(features, features, generator, std=OUT_STD)
        self.encoder.to(generator.device)

    def train(self, mode: bool = True) -> "TextEncoder":
        """Stay as in use: dropout of the encoder's own would make losses of the same z differ."""
        return super().train(False)

    def forward(self, embedding: Embedding, task: Tensor, batch: Batch) -> Tensor:
        """The features of every row, `[R, 2 · H]`, given the vectors at the task's places `[R, K, E]`."""
        ids, in_x = self._with_end(batch)
        before = embedding.token[list(self.spec.before)].expand(len(ids), -1, -1)
        sequence = torch.cat([before, self.scale * task, embedding(ids, in_x)], dim=1)
        first, last = before.shape[1], before.shape[1] + task.shape[1]
        others = torch.cat([in_x.new_ones(len(ids), last), in_x], dim=1)
        mask = others.long()
        if context.in_transform():  # transformers looks at the numbers in a mask, unless it is one for scores
            mask = additive(others, sequence.dtype)[:, None, None].expand(-1, 1, others.shape[1], -1)
        states = self.encoder(inputs_embeds=sequence, attention_mask=mask).last_hidden_state
        at_task = states[:, first:last].mean(1)
        others[:, first:last] = False
        weights = others / others.sum(1, keepdim=True).clamp(min=1)
        mean = (weights.to(states.dtype).unsqueeze(1) @ states).squeeze(1)
        both = torch.cat([at_task, mean], dim=1)
        return both + self.out(F.gelu(self.inner(both)))

    def _with_end(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Inputs with the tokens that end a text right after them, and which places hold a token."""
        x, length, after = batch.x.flatten(0, 1), batch.x_length.flatten(), self.spec.after
        ids = F.pad(x, (0, len(after)))
        for place, token in enumerate(after):
            ids = ids.scatter(1, (length + place).unsqueeze(1), token)
        return ids, within(length + len(after), ids.shape[1])


def freeze(module: nn.Module) -> None:
    """Make all parameters buffers: they are saved and used as before, and nothing trains them."""
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            delattr(part, name)
            part.register_buffer(name, parameter.detach())


@torch.no_grad()
def load_pretrained(model: "Model", name: str) -> None:
    """Copy the weights of a pretrained encoder into a model's backbone and its table of tokens."""
    backbone, token = model.backbone, model.x.token
    assert isinstance(backbone, TextEncoder)
    with _transformers(name) as transformers:
        source = transformers.AutoModel.from_pretrained(name, dtype=torch.float32, use_safetensors=True)
    words = source.get_input_embeddings().weight
    token[: len(words)] = words.to(token.device)
    token[len(words) :] = words[backbone.spec.unknown].to(token.device)
    backbone.scale.fill_(float(words.std()) / EMBEDDING_STD)
    backbone.encoder.load_state_dict(_without_tokens(source).state_dict())


@lru_cache(maxsize=4)
def describe(name: str, *, frozen: bool) -> Described:
    """What an encoder is, by its config and its tokenizer: a folder, or a name on the Hugging Face hub."""
    with _transformers(name) as transformers:
        config = transformers.AutoConfig.from_pretrained(name)
    encoders = transformers.models.auto.modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if config.model_type not in encoders or getattr(config, "is_encoder_decoder", False):
        raise UserError(f"{name}: must be an encoder, such as BERT: got a model of type {config.model_type}")
    with _transformers(name), torch.device("meta"):
        network = transformers.AutoModel.from_config(config)
    tokens, width = network.get_input_embeddings().weight.shape
    tokenizer = read_tokenizer(tokenizer_file(name))
    by_id = {number: token for token, number in tokenizer.get_vocab(with_added_tokens=True).items()}
    vocabulary = Vocabulary(by_id.get(number, f"<{number}>") for number in range(tokens))
    example = tokenizer.encode("a")
    special = [bool(mask) for mask in example.special_tokens_mask]
    start = special.index(False) if False in special else len(special)
    end = len(special) - special[::-1].index(False) if False in special else len(special)
    named = [tokenizer.token_to_id(token) for token in ("[UNK]", "<unk>", "[PAD]", "<pad>")]
    spec = EncoderSpec(
        config=json.dumps(config.to_dict(), sort_keys=True),
        frozen=frozen,
        hidden=config.hidden_size,
        before=tuple(example.ids[:start]),
        after=tuple(example.ids[end:]),
        unknown=next((number for number in named if number is not None), 0),
        longest=_longest(config, network),
    )
    heads = getattr(config, "num_attention_heads", 1)
    sizes = {"width": width, "layers": config.num_hidden_layers, "heads": heads if width % heads == 0 else 1}
    return Described(spec, vocabulary, sizes)


def _longest(config: Any, network: nn.Module) -> int:
    """How many places an encoder has; in some the first positions of the table are not used."""
    places = getattr(config, "max_position_embeddings", None)
    if not isinstance(places, int) or places < 1:
        return LONGEST
    tables = (part for part in network.modules() if isinstance(part, nn.Embedding))
    skipped = [part.padding_idx + 1 for part in tables if len(part.weight) == places and part.padding_idx]
    return places - max(skipped, default=0)


def _built(config: str, generator: torch.Generator) -> Any:
    """An encoder with random weights."""
    values = json.loads(config)
    seed = int(torch.randint(2**31, (), generator=generator, device=generator.device))
    with torch.random.fork_rng(devices=[]), _transformers(values.get("model_type", "?")) as transformers:
        torch.manual_seed(seed)
        made = transformers.AutoConfig.for_model(values.pop("model_type"), **values)
        # Torch's own attention has no second derivative.
        return transformers.AutoModel.from_config(made, attn_implementation="eager")


def _without_tokens(encoder: Any) -> Any:
    """The encoder without its table of tokens, which is the model's, and its pooler, which is not used."""
    encoder.set_input_embeddings(nn.Identity())
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder.eval()


@contextmanager
def _transformers(name: str) -> Generator[Any]:
    """Transformers, without its notes and bars; what it raises about an encoder is an error of the user's."""
    try:
        import transformers
    except ImportError:
        raise UserError("a text encoder needs transformers: pip install 'tam-fewshot[text]'") from None
    logging = transformers.utils.logging
    before, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield transformers
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{name}: not an encoder that transformers can read: {reason}") from None
    finally:
        logging.set_verbosity(before)
        if bar:
            logging.enable_progress_bar()
