"""Run by test_fused.py in a process of its own, since Triton's interpreter is chosen when it is imported."""

import json
import sys
from typing import Any

import torch
import triton.runtime.interpreter as interpreter
from torch import Tensor

from tam.models.launch import embedding_gradients
from tam.models.transformer import Transformer


def let_loops_have_bounds() -> None:
    """A loop's bound is an array with one entry, which newer numpy does not take for a number."""
    patch = interpreter._patch_lang_tensor  # pyright: ignore[reportPrivateUsage]

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        tensor.__index__ = lambda self: self.handle.data.item()

    interpreter._patch_lang_tensor = patched  # pyright: ignore[reportPrivateUsage]


def errors(rows: int, length: int, width: int, layers: int, causal: bool, masked: bool, read: slice) -> float:
    """The largest relative error of outputs and gradients, against plain code in float64."""
    generator = torch.Generator().manual_seed(rows + length)
    model = Transformer(layers=layers, width=width, heads=width // 16, bottleneck=None, generator=generator)
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
    hidden = torch.randn(rows, length, width, generator=generator)
    lengths = torch.randint(1, length + 1, (rows, 1), generator=generator) if masked else length
    valid = (torch.arange(length) < lengths).expand(rows, length)
    mask = valid.unsqueeze(1) & torch.ones(length, length, dtype=torch.bool).tril(0 if causal else length)
    mask = mask | torch.eye(length, dtype=torch.bool)

    def gradients(network: Transformer, h: Tensor, fused: bool) -> list[Tensor]:
        h = h.clone().requires_grad_()
        if fused:
            out = network.fused_forward(h, valid if masked else None, read, causal=causal)
        else:
            out = network(h, mask, read=read)
        out = out * valid[:, read].unsqueeze(2)  # what is read of other places does not matter
        chance = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).to(out)
        return [out, *torch.autograd.grad((out * chance).sum(), [h, *network.parameters()])]

    ours = gradients(model, hidden, True)
    exact = gradients(model.double(), hidden.double(), False)
    return max(float((a.double() - b).norm() / b.norm()) for a, b in zip(ours, exact, strict=True))


def embedding_error(rows: int, length: int, tokens: int) -> float:
    """The largest error of the sums of gradients by token and by place, against torch."""
    generator = torch.Generator().manual_seed(rows)
    ids = torch.randint(tokens, (rows, length), generator=generator)
    g = torch.randn(rows, length + 2, 16, generator=generator)[:, 1:-1]
    found = embedding_gradients(g, ids, tokens).sum(0)
    g = g.double()
    expected = torch.zeros(tokens, 16).double().index_add_(0, ids.flatten(), g.flatten(0, 1))
    return float((found[: tokens + length] - torch.cat([expected, g.sum(0)])).abs().max())


if __name__ == "__main__":
    let_loops_have_bounds()
    print(max(embedding_error(*sizes) for sizes in ((1, 1, 2), (30, 5, 11), (3, 31, 3), (300, 60, 4))))
    for case in json.loads(sys.argv[1]):
        rows, length, width, layers, causal, masked, first, last = case
        print(errors(rows, length, width, layers, causal, masked, slice(first, last)))
