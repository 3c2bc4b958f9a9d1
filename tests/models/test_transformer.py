"""The blocks against PyTorch's own encoder layer, and torch's attention against plain."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tam.models import Transformer, attention
from tam.models.transformer import Block

LAYERS, WIDTH, HEADS, ROWS, LENGTH = 3, 12, 3, 5, 7


def transformer() -> Transformer:
    generator = torch.Generator().manual_seed(1)
    return Transformer(layers=LAYERS, width=WIDTH, heads=HEADS, generator=generator).double()


def hidden() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(ROWS, LENGTH, WIDTH, dtype=torch.float64, generator=generator)


def reference_layer(block: nn.Module) -> nn.TransformerEncoderLayer:
    """PyTorch's layer with the weights of a block."""
    assert isinstance(block, Block)
    layer = nn.TransformerEncoderLayer(
        WIDTH, HEADS, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    ).double()
    attention = block.attention
    weights = {
        "self_attn.in_proj_weight": torch.cat([attention.query.weight, attention.key_value.weight]),
        "self_attn.in_proj_bias": torch.cat([attention.query.bias, attention.key_value.bias]),
        "self_attn.out_proj.weight": attention.out.weight,
        "self_attn.out_proj.bias": attention.out.bias,
        "linear1.weight": block.mlp.inner.weight,
        "linear1.bias": block.mlp.inner.bias,
        "linear2.weight": block.mlp.out.weight,
        "linear2.bias": block.mlp.out.bias,
        "norm1.weight": block.attention_norm.scale,
        "norm1.bias": block.attention_norm.bias,
        "norm2.weight": block.mlp_norm.scale,
        "norm2.bias": block.mlp_norm.bias,
    }
    layer.load_state_dict(weights)
    return layer


@pytest.mark.parametrize("causal", [False, True])
def test_it_equals_pytorchs_layers(causal: bool) -> None:
    ours, expected = transformer(), hidden()
    with torch.no_grad():
        for parameter in ours.parameters():  # no bias is zero and no scale one any more
            parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril() if causal else None
    for block in ours.blocks:
        expected = reference_layer(block)(expected, src_mask=None if mask is None else ~mask)
    norm = ours.norm
    expected = nn.functional.layer_norm(expected, (WIDTH,), norm.scale, norm.bias)
    torch.testing.assert_close(ours(hidden(), mask), expected)


@pytest.mark.parametrize("masked", [False, True])
def test_torchs_attention_is_used_for_long_sequences_only_and_equals_plain(
    masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    torchs = attention.torch_attention

    def noted(*given: Any) -> Tensor:
        calls.append(given[1].shape[2])
        return torchs(*given)

    ours = transformer()
    for length in (attention.LONG, attention.LONG + 1):
        vectors = torch.randn(
            2, length, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
        )
        mask = torch.ones(length, length, dtype=torch.bool).tril() if masked else None
        expected = ours(vectors, mask)
        with monkeypatch.context() as patch:
            patch.setattr(attention, "torch_attention", noted)
            patch.setattr(attention, "once_differentiable_on_gpu", lambda _: True)
            torch.testing.assert_close(ours(vectors, mask), expected)
    assert calls == [attention.LONG + 1] * LAYERS
