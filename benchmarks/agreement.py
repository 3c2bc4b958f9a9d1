"""Measure the errors of the kernels and of plain code against plain code in float64."""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from tam.models import Transformer
from tam.models.attention import Mask
from tam.models.fast import context, gpu_blocks


class Case(NamedTuple):
    """Sequences on which to check the kernels."""

    rows: int
    length: int
    width: int = 128
    heads: int = 4
    layers: int = 4
    causal: bool = True
    masked: bool = True  # whether sequences differ in length
    first: int = 0  # first place to read
    last: int | None = None
    before: int = 0  # places before these, which kernels get as cached keys and values


class Example:
    """A freshly initialised transformer, except that no bias is 0, and random vectors."""

    def __init__(self, case: Case, device: str) -> None:
        self.case, self.read = case, slice(case.first, case.last)
        generator = torch.Generator().manual_seed(case.rows + case.length)
        sizes = {"layers": case.layers, "width": case.width, "heads": case.heads}
        self.model = Transformer(**sizes, bottleneck=None, generator=generator)
        for parameter in self.model.parameters():
            if parameter.dim() == 1:  # LayerNorms and biases, which start at 1 and 0
                parameter.data += 0.1 * torch.randn(parameter.shape, generator=generator)
        self.model.to(device)
        shape = (case.rows, case.before + case.length, case.width)
        self.hidden = torch.randn(shape, generator=generator).to(device)
        self.lengths, self.lengths_before = (
            torch.randint(least, most + 1, (case.rows,), generator=generator).to(device)
            if case.masked
            else torch.full((case.rows,), most, device=device)
            for least, most in ((1, case.length), (0, case.before))
        )
        shape = (*self.valid[:, self.read].shape, case.width)
        self.weights = torch.randn(shape, generator=generator).to(device)

    @property
    def valid(self) -> Tensor:
        """Which places hold a token, `[R, L]`."""
        return torch.arange(self.case.length, device=self.lengths.device) < self.lengths.unsqueeze(1)

    @property
    def valid_before(self) -> Tensor:
        """Which earlier places hold a token, `[R, before]`."""
        return torch.arange(self.case.before, device=self.lengths.device) < self.lengths_before.unsqueeze(1)

    @property
    def mask(self) -> Tensor:
        """Which place attends to which, over all places."""
        seen = torch.cat([self.valid_before, self.valid], dim=1)
        places = seen.shape[1]
        square = torch.ones(places, places, dtype=torch.bool, device=seen.device)
        seen = seen.unsqueeze(1) & square.tril(0 if self.case.causal else places)
        return seen | torch.eye(places, dtype=torch.bool, device=seen.device)

    def outputs(self, hidden: Tensor, kernels: bool) -> Tensor:
        """The hidden states at the places to read, by the kernels or by plain code."""
        before = self.case.before
        if not kernels:
            with context.plain():  # otherwise long sequences would use torch's kernel on a GPU
                return self.model(hidden, self.mask)[:, before:][:, self.read]
        cache: list[Tensor] = []
        if before:
            valid = self.valid_before if self.case.masked else None
            cache = [gpu_blocks.keys_values(self.model, hidden[:, :before], valid)]
        seen = torch.cat([self.valid_before, self.valid], dim=1)
        mask = Mask(seen, causal=self.case.causal, padded=self.case.masked)
        return gpu_blocks.transform(self.model, hidden[:, before:], mask, self.read, cache)

    def gradients(self, kernels: bool, half: bool) -> list[Tensor]:
        """The outputs, and the gradients of vectors and weights."""
        hidden = self.hidden.clone().requires_grad_()
        with torch.autocast(hidden.device.type, torch.bfloat16, enabled=half):
            out = self.outputs(hidden, kernels)
        out = out * self.valid[:, self.read].unsqueeze(2)  # outputs at padding do not matter
        gradients = torch.autograd.grad((out * self.weights).sum(), [hidden, *self.model.parameters()])
        return [out.detach(), *gradients]


def disagreement(case: Case, device: str, *, half: bool = False) -> dict[str, Any]:
    """Relative errors of kernels and plain code against float64: of outputs, and of the worst gradient."""
    example = Example(case, device)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    ours, plain = (example.gradients(kernels, half) for kernels in (True, False))
    example.model.double()
    example.hidden, example.weights = example.hidden.double(), example.weights.double()
    exact = example.gradients(False, False)
    torch.set_float32_matmul_precision(precision)

    def errors(values: list[Tensor]) -> list[float]:
        return [float((v.double() - e).norm() / e.norm()) for v, e in zip(values, exact, strict=True)]

    return {
        **{name: getattr(case, name) for name in ("rows", "length", "before", "causal", "masked", "heads")},
        "precision": "bfloat16" if half else "float32",
        "output": errors(ours)[0],
        "worst_gradient": max(errors(ours)[1:]),
        "plain_output": errors(plain)[0],
        "plain_worst_gradient": max(errors(plain)[1:]),
    }
