"""A pretrained Hugging Face text encoder as the backbone, frozen or trained along.

The encoder reads `[CLS, z, x…, SEP]`, where z is one of the token embeddings, so that gradients reach it. The
features are the mean state at z and the mean over all other places, concatenated, plus an MLP of both; with a
frozen encoder, only the MLP can learn how the task selects features.

Needs the extra `text`.

Shapes: R rows, X places of x, K places of the task, E size of an embedding, H size of a hidden state.
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

OUT_STD = 0.02  # small, so that the initial features are nearly the encoder's own


class Described(NamedTuple):
    """Description of an encoder, made without loading its weights."""

    spec: EncoderSpec
    vocabulary: Vocabulary
    sizes: dict[str, int]
    """Values of `ModelSpec` for width, layers and heads."""


class TextEncoder(nn.Module):
    """A Hugging Face encoder and the layers that read it. Its token embeddings are the model's `x`."""

    def __init__(self, spec: ModelSpec, generator: torch.Generator) -> None:
        super().__init__()
        assert spec.encoder is not None
        self.spec = spec.encoder
        self.encoder: nn.Module = _without_tokens(_built(self.spec.config, generator))
        # Scales z from the size that a search expects to the size of this encoder's token embeddings.
        self.scale = constant(generator, 1, value=1.0)
        features = 2 * self.spec.hidden
        self.inner = Linear(features, features, generator)
        self.out = Linear(features, features, generator, std=OUT_STD)
        self.encoder.to(generator.device)

    def train(self, mode: bool = True) -> "TextEncoder":
        """Stay in eval mode: the encoder's own dropout would make the loss at the same z vary."""
        return super().train(False)

    def forward(self, embedding: Embedding, task: Tensor, batch: Batch) -> Tensor:
        """Compute the features of every row, `[R, 2 · H]`, from the task's vectors `[R, K, E]` and x."""
        ids, in_x = self._with_end(batch)
        before = embedding.token[list(self.spec.before)].expand(len(ids), -1, -1)
        sequence = torch.cat([before, self.scale * task, embedding(ids, in_x)], dim=1)
        first, last = before.shape[1], before.shape[1] + task.shape[1]
        others = torch.cat([in_x.new_ones(len(ids), last), in_x], dim=1)
        mask = others.long()
        if context.in_transform():  # transformers branches on a mask's values, unless it is a 4-D bias
            mask = additive(others, sequence.dtype)[:, None, None].expand(-1, 1, others.shape[1], -1)
        states = self.encoder(inputs_embeds=sequence, attention_mask=mask).last_hidden_state
        at_task = states[:, first:last].mean(1)
        others[:, first:last] = False
        weights = others / others.sum(1, keepdim=True).clamp(min=1)
        mean = (weights.to(states.dtype).unsqueeze(1) @ states).squeeze(1)
        both = torch.cat([at_task, mean], dim=1)
        return both + self.out(F.gelu(self.inner(both)))

    def _with_end(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Append the tokens that end a text to each input; also return the mask of tokens."""
        x, length, after = batch.x.flatten(0, 1), batch.x_length.flatten(), self.spec.after
        ids = F.pad(x, (0, len(after)))
        for place, token in enumerate(after):
            ids = ids.scatter(1, (length + place).unsqueeze(1), token)
        return ids, within(length + len(after), ids.shape[1])


def freeze(module: nn.Module) -> None:
    """Turn all parameters into buffers: they are still saved and used, but not trained."""
    for part in module.modules():
        for name, parameter in list(part.named_parameters(recurse=False)):
            delattr(part, name)
            part.register_buffer(name, parameter.detach())


@torch.no_grad()
def load_pretrained(model: "Model", name: str) -> None:
    """Copy the weights of a pretrained encoder into a model's backbone and its token embeddings."""
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
    """Describe an encoder, a folder or a name on the Hugging Face hub, from its config and tokenizer."""
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
    own = [i for i, special in enumerate(example.special_tokens_mask) if not special] or [len(example.ids)]
    named = [tokenizer.token_to_id(token) for token in ("[UNK]", "<unk>", "[PAD]", "<pad>")]
    spec = EncoderSpec(
        config=json.dumps(config.to_dict(), sort_keys=True),
        frozen=frozen,
        hidden=config.hidden_size,
        before=tuple(example.ids[: own[0]]),
        after=tuple(example.ids[own[-1] + 1 :]),
        unknown=next((number for number in named if number is not None), 0),
        longest=_longest(config, network),
    )
    heads = getattr(config, "num_attention_heads", 1)
    sizes = {"width": width, "layers": config.num_hidden_layers, "heads": heads if width % heads == 0 else 1}
    return Described(spec, vocabulary, sizes)


def _longest(config: Any, network: nn.Module) -> int:
    """Number of places of an encoder; some encoders leave the first positions of the table unused."""
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
        # The attention of torch itself has no second derivative.
        return transformers.AutoModel.from_config(made, attn_implementation="eager")


def _without_tokens(encoder: Any) -> Any:
    """Remove the token embeddings, which the model holds, and the unused pooler."""
    encoder.set_input_embeddings(nn.Identity())
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder.eval()


@contextmanager
def _transformers(name: str) -> Generator[Any]:
    """Import transformers without its logs and progress bars; turn what it raises into a `UserError`."""
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
