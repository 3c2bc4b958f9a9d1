"""Adaptation with PEFT, by prompt tuning.

Lester, Al-Rfou, Constant: The Power of Scale for Parameter-Efficient Prompt Tuning, EMNLP 2021.
"""

from copy import deepcopy
from importlib import import_module

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from contenders.problem import Problem, Step
from tam.models import Model, Transformer
from tam.models.attention import Mask
from tam.models.fast import engine


def peft_adapt(p: Problem) -> Step:
    """PEFT's prompt tuning: one adapter with one virtual token per task, one after another, on one network.

    The network is tam's, with the token embeddings where PEFT looks for them, so that both adapt the same
    vector at the same place. Adapters are created before the clock starts and set to zero afterwards. The
    network gets no mask, which saves PEFT some work that tam does.
    """
    peft = import_module("peft")
    network = PromptNetwork(deepcopy(p.model))
    config = peft.PromptTuningConfig(
        task_type="FEATURE_EXTRACTION",
        num_virtual_tokens=1,
        token_dim=p.sizes.width,
        num_layers=p.sizes.layers,
        num_attention_heads=p.sizes.heads,
    )
    names = [f"task{place}" for place in range(p.sizes.new_tasks)]
    model = peft.get_peft_model(network, config, adapter_name=names[0])
    for name in names[1:]:
        model.add_adapter(name, config)
    model.to(next(p.model.parameters()).dtype)

    def step() -> list[Tensor]:
        embeddings: list[Tensor] = []
        for name, x, y in zip(names, p.new.x, p.new.y, strict=True):
            model.set_adapter(name)
            prompt = model.prompt_encoder[name].embedding.weight
            with torch.no_grad():
                prompt.zero_()
            inner = torch.optim.Adam([prompt], lr=p.sizes.rate)
            for _ in range(p.sizes.inner_steps):
                inner.zero_grad()
                F.cross_entropy(model(input_ids=x), y).backward()
                inner.step()
            embeddings.append(prompt.detach()[0].clone())
        return embeddings

    return step


class PromptNetwork(nn.Module):
    """The network in the form that PEFT needs: it maps embedded tokens, after the prompt, to logits."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model
        self.config = {"model_type": "custom"}
        self.embeddings = nn.Module()
        self.embeddings.word_embeddings = nn.Embedding.from_pretrained(model.x.token.detach(), freeze=False)

    @property
    def device(self) -> torch.device:
        return self.model.x.token.device

    def forward(self, inputs_embeds: Tensor, **_: object) -> Tensor:
        model = self.model
        assert model.x.position is not None
        places = torch.cat([model.places, model.x.position[: inputs_embeds.shape[1] - 1]])
        assert isinstance(model.backbone, Transformer)
        vectors = inputs_embeds + places
        mask = Mask(vectors.new_ones(vectors.shape[:2], dtype=torch.bool), causal=False, padded=False)
        return model.head(engine.transform(model.backbone, vectors, mask, read=slice(0, 1)).squeeze(1))
