"""What GPUs run compiled is traced here too, and gives what the plain functions give."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tam.methods import losses, search, tam
from tam.methods.compiled import compiled_on_gpu


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def classes(weights: Tensor | None, present: Tensor | None) -> tuple[Any, ...]:
    y = torch.arange(15).remainder(4).view(3, 5)
    return numbers(3, 5, 4).log_softmax(-1).requires_grad_(), y, None, present, weights


def sequences(weights: Tensor | None, present: Tensor | None) -> tuple[Any, ...]:
    y = torch.zeros(3, 5, 6, dtype=torch.int64)
    length = torch.arange(15).remainder(7).view(3, 5)
    return (-numbers(3, 5, 7)).requires_grad_(), y, length, present, weights


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, backend="aot_eager", dynamic=True)


@pytest.mark.parametrize("kind", [classes, sequences])
@pytest.mark.parametrize("weights", [None, numbers(3)])
@pytest.mark.parametrize("present", [None, numbers(3, 5) < 0.7])
def test_losses(kind: Callable[..., Any], weights: Tensor | None, present: Tensor | None) -> None:
    plain = losses._weigh.__wrapped__  # pyright: ignore
    given = kind(weights, present)
    found = [function(*given) for function in (plain, compiled(plain))]
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert [value.requires_grad for value in found[1]] == [True, False, False, False]
    gradients = [torch.autograd.grad(values[0], given[0])[0] for values in found]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (search._lower, (numbers(3), numbers(3, seed=1), numbers(3, 4), numbers(3, 4, seed=1))),  # pyright: ignore
        (search._watch, (numbers(3), numbers(3, seed=1), numbers(3), numbers(3, seed=2), numbers(1)[0])),  # pyright: ignore
        (
            search._adam,  # pyright: ignore
            (
                *(numbers(3, 4, seed=n) for n in range(3)),
                *numbers(2),
                numbers(3, 4),
                torch.ones(3),
                numbers(1)[0],
            ),
        ),
        (tam._of_rows, (numbers(3, 5, 4), numbers(3, 5), torch.ones(3, 5), (numbers(3, 5) < 0.7).double())),  # pyright: ignore
    ],
)
def test_other_functions(function: Any, given: tuple[Tensor, ...]) -> None:
    plain = function.__wrapped__
    torch.testing.assert_close(compiled(plain)(*given), plain(*given))


def test_on_a_cpu_nothing_is_compiled() -> None:
    calls = []

    @compiled_on_gpu
    def twice(value: Tensor) -> Tensor:
        calls.append(torch.compiler.is_compiling())
        return 2 * value

    assert twice(torch.ones(())) == 2
    assert calls == [False]
