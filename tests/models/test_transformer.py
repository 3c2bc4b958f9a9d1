"""The blocks against PyTorch's own encoder layer, and fused attention against plain."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tam.models import Batch, Model, ModelSpec, Transformer
from tam.models.transformer import Block, transformer_parameters

LAYERS, WIDTH, HEADS, ROWS, LENGTH = 3, 12, 3, 5, 7


def transformer() -> Transformer:
    generator = torch.Generator().manual_seed(1)
    return Transformer(layers=LAYERS, width=WIDTH, heads=HEADS, bottleneck=None, generator=generator).double()


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
@pytest.mark.parametrize("fused", [False, True])
def test_it_equals_pytorchs_layers(causal: bool, fused: bool) -> None:
    ours, expected = transformer(), hidden()
    ours.fused = fused
    with torch.no_grad():
        for parameter in ours.parameters():  # no bias is zero and no scale one any more
            parameter += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(3))
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    mask = mask.tril() if causal else mask
    for block in ours.blocks:
        expected = reference_layer(block)(expected, src_mask=~mask)
    norm = ours.norm
    expected = nn.functional.layer_norm(expected, (WIDTH,), norm.scale, norm.bias)
    torch.testing.assert_close(ours(hidden(), mask), expected)


def test_without_a_mask_all_see_all() -> None:
    everything = torch.ones(1, 1, LENGTH, dtype=torch.bool)
    torch.testing.assert_close(transformer()(hidden()), transformer()(hidden(), everything))


@pytest.mark.parametrize("read", [slice(0, 1), slice(-2, None), slice(3, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_reading_some_places_changes_nothing_else(read: slice, full: bool) -> None:
    mask = torch.ones(ROWS, LENGTH if full else 1, LENGTH, dtype=torch.bool).tril(diagonal=2)
    mask[:, :, 0] = True
    ours = transformer()
    torch.testing.assert_close(ours(hidden(), mask, read=read), ours(hidden(), mask)[:, read])


def test_the_number_of_parameters() -> None:
    assert sum(p.numel() for p in transformer().parameters()) == transformer_parameters(LAYERS, WIDTH)


def test_fused_equals_plain(
    transformer_spec: ModelSpec,
    make_model: Callable[..., Model],
    make_batch: Callable[..., Batch],
    make_z: Callable[..., Any],
) -> None:
    model, batch = make_model(transformer_spec), make_batch(transformer_spec)
    z = make_z(model, batch)
    leaves = [] if z is None else [z.requires_grad_()]
    results: list[list[Tensor]] = []
    for fused in (False, True):
        model.fused = fused
        assert model.fused is fused
        log_prob = model(z, batch)
        score = log_prob.exp().square().sum()
        results.append([log_prob, *torch.autograd.grad(score, [*leaves, *model.parameters()])])
    torch.testing.assert_close(*results)


def test_the_lstm_has_nothing_to_fuse(make_model: Callable[..., Model]) -> None:
    spec = ModelSpec(kind="classification", vocabulary=5, classes=2, max_x=3, width=4, backbone="lstm")
    model = make_model(spec)
    model.fused = False
    assert not model.fused
    with pytest.raises(ValueError, match="the LSTM has none"):
        model.fused = True
