"""A block as one operation against the same block made of torch's operations."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from tam.models import no_weight_gradients
from tam.models.attention import ALL, Mask, additive
from tam.models.conditioning import Modulation
from tam.models.fast import context, cpu_block
from tam.models.fast.engine import engine, transform
from tam.models.rotary import Rotation
from tam.models.transformer import Block, Transformer
from tests.methods.small import some

ROWS, PLACES, WIDTH, HEADS = 3, 5, 8, 2
READS = {"all": ALL, "one": slice(0, 1), "another": slice(3, 4), "some": slice(2, None)}


@pytest.fixture
def block() -> Block:
    """One whose every weight matters."""
    generator = torch.Generator().manual_seed(0)
    made = Block(WIDTH, HEADS, None, generator, depth=1).double()
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return made


@pytest.fixture
def hidden() -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(ROWS, PLACES, WIDTH, generator=generator, dtype=torch.float64, requires_grad=True)


class Whole(Block):
    """A block as one operation."""

    def forward(self, *given: Any, **_: Any) -> Tensor:
        return cpu_block.run(self, *given)


def computed(
    block: Block,
    hidden: Tensor,
    bias: Tensor | None,
    *weights: Tensor,
    read: slice = ALL,
    x_cache: Sequence[Tensor] = (),
    rotation: Rotation | None = None,
) -> Tensor:
    """The output of a block with these weights."""
    named = dict(zip(dict(block.named_parameters()), weights, strict=True))
    return functional_call(block, named, (hidden, bias, Modulation(), read, x_cache, rotation))


plain, whole = (
    partial(computed, sort(WIDTH, HEADS, None, torch.Generator(), depth=1)) for sort in (Block, Whole)
)


def some_bias(causal: bool, read: slice) -> Tensor:
    """With padding: 0, 2 and 4 places of it."""
    seen = torch.arange(PLACES) < torch.tensor([[5], [3], [1]])
    mask = Mask(seen, causal=causal).matrix(PLACES)
    bias = additive(some(mask), torch.float64).unsqueeze(1)
    return bias[..., read, :] if causal else bias


def everything(hidden: Tensor) -> Mask:
    return Mask(torch.ones(hidden.shape[:2], dtype=torch.bool), causal=False)


def in_turn(output: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    """The output, its gradients, and the gradients of those."""
    first = torch.autograd.grad(output.sin().sum(), inputs, create_graph=True)
    second = torch.autograd.grad(sum((g.sin().sum() for g in first), torch.zeros(())), inputs)
    return [output, *first, *second]


ROTATION = Rotation.of(torch.tensor([0, 1, 2, 3, 1]), WIDTH // HEADS, torch.float64)


@pytest.mark.parametrize("rotation", [None, ROTATION], ids=["table", "rotary"])
@pytest.mark.parametrize("causal", [False, True, None])  # None: without a mask
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_outputs_and_two_derivatives_are_those_of_torch(
    block: Block, hidden: Tensor, causal: bool | None, read: slice, rotation: Rotation | None
) -> None:
    bias, weights = None if causal is None else some_bias(causal, read), list(block.parameters())
    inputs, given = [hidden, *weights], {"read": read, "rotation": rotation}
    expected = in_turn(plain(hidden, bias, *weights, **given), inputs)
    torch.testing.assert_close(in_turn(whole(hidden, bias, *weights, **given), inputs), expected)


def projected(block: Block, hidden: Tensor) -> list[Tensor]:
    """What is cached for an encoder: vectors, queries, keys and values."""
    network = Transformer(layers=1, width=WIDTH, heads=HEADS, generator=torch.Generator())
    network.blocks[0] = block
    return cpu_block.first_block(network, hidden)


@pytest.mark.parametrize("places", [1, 4])
def test_cached_x_after_the_places_is_a_further_input(block: Block, hidden: Tensor, places: int) -> None:
    bias, weights = some_bias(False, ALL), list(block.parameters())
    inputs = [hidden, *weights]
    expected = in_turn(whole(hidden, bias, *weights), inputs)
    cache = projected(block, hidden[:, -places:])
    found = whole(hidden[:, :-places], bias, *weights, x_cache=cache)
    torch.testing.assert_close(in_turn(found, inputs), expected)


@pytest.mark.parametrize("rotation", [None, ROTATION], ids=["table", "rotary"])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_cached_keys_and_values_before_the_places_are_further_inputs(
    block: Block, hidden: Tensor, read: slice, rotation: Rotation | None
) -> None:
    weights = list(block.parameters())
    generator = torch.Generator().manual_seed(3)
    shape = (ROWS, 2, HEADS, 4, WIDTH // HEADS)
    cache = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    places = torch.arange(4 + PLACES)
    seen = (places < torch.tensor([[9], [7], [5]])) & (places != 2)
    matrix = Mask(seen, causal=True).matrix(PLACES)
    bias = additive(some(matrix), torch.float64).unsqueeze(1)[..., read, :]
    inputs, given = [hidden, cache, *weights], {"read": read, "rotation": rotation}
    expected = in_turn(plain(hidden, bias, *weights, x_cache=cache.unbind(1), **given), inputs)
    found = whole(hidden, bias, *weights, x_cache=cache.unbind(1), **given)
    torch.testing.assert_close(in_turn(found, inputs), expected)
    with no_weight_gradients():
        output = whole(hidden, bias, *weights, x_cache=cache.unbind(1), **given)
        grads = torch.autograd.grad(output.sin().sum(), inputs, allow_unused=True)
    torch.testing.assert_close(grads[0], expected[1])
    assert all(gradient is None for gradient in grads[1:])


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_each_task_has_its_weights_under_vmap(block: Block, hidden: Tensor, read: slice) -> None:
    bias = some_bias(False, ALL)
    weights = [torch.stack([w, 1.2 * w]).detach().requires_grad_() for w in block.parameters()]
    both = torch.stack([hidden, hidden.cos()]).detach().requires_grad_()
    biases = torch.stack([bias, torch.zeros_like(bias)])

    def run(hidden: Tensor, bias: Tensor, weights: tuple[Tensor, ...]) -> Tensor:
        return whole(hidden, bias, *weights, read=read)

    one_by_one = [run(both[i], biases[i], tuple(w[i] for w in weights)) for i in range(2)]
    together = vmap(run)(both, biases, tuple(weights))
    inputs = [both, *weights]
    torch.testing.assert_close(in_turn(together, inputs), in_turn(torch.stack(one_by_one), inputs))
    shared = vmap(run, (0, None, None))(both, bias, tuple(block.parameters()))
    torch.testing.assert_close(shared[1], run(both[1], bias, tuple(block.parameters())))


def test_it_is_for_cpus_and_not_for_the_gradients_of_torch_func(hidden: Tensor) -> None:
    found: list[bool] = []

    def look(hidden: Tensor) -> Tensor:
        found.append(engine(hidden) == "cpu")
        return hidden.sum()

    look(hidden)
    vmap(look)(hidden)
    grad(look)(hidden)
    vmap(grad(look))(hidden)
    with torch.autocast("cpu", torch.bfloat16):
        look(hidden)
    look(hidden.to("meta"))
    look(hidden[:0])
    assert found == [True, True, False, False, False, False, False]


def test_gradients_of_weights_can_be_left_out(block: Block, hidden: Tensor) -> None:
    bias, weights = some_bias(False, ALL), list(block.parameters())
    output = whole(hidden, bias, *weights)
    expected = torch.autograd.grad(output.sin().sum(), hidden, create_graph=True)[0]
    with no_weight_gradients():
        found = torch.autograd.grad(
            output.sin().sum(), [hidden, *weights], create_graph=True, allow_unused=True
        )
    torch.testing.assert_close(found[0], expected)
    assert all(gradient is None for gradient in found[1:])
    inputs = [hidden, *weights]  # what comes of the gradient itself is complete
    of_found = torch.autograd.grad(found[0].sin().sum(), inputs, retain_graph=True)
    torch.testing.assert_close(of_found, torch.autograd.grad(expected.sin().sum(), inputs))


def test_passes_through_one_graph_do_not_disturb_each_other(block: Block, hidden: Tensor) -> None:
    weights = list(block.parameters())
    inputs = [hidden, *weights]
    seed = torch.linspace(-1, 1, hidden.numel(), dtype=hidden.dtype).view(hidden.shape).requires_grad_()
    output = whole(hidden, None, *weights)
    expected = torch.autograd.grad(whole(hidden, None, *weights), inputs, seed.detach())
    first = torch.autograd.grad(output, inputs, seed, create_graph=True)
    other = torch.autograd.grad(output, inputs, 2 * seed, create_graph=True)
    # Of the first gradient's derivatives only that in the seed, which does not go back through the block.
    torch.autograd.grad(first[0].sin().sum(), seed, retain_graph=True)
    torch.testing.assert_close(torch.autograd.grad(output, inputs, seed, retain_graph=True), expected)
    apart = [
        torch.autograd.grad(some[0].sin().sum(), inputs, retain_graph=True, allow_unused=True)
        for some in (first, other)
    ]
    together = torch.autograd.grad(first[0].sin().sum() + other[0].sin().sum(), inputs, allow_unused=True)
    summed = [None if a is None or b is None else a + b for a, b in zip(*apart, strict=True)]
    torch.testing.assert_close(list(together), summed)


def test_there_is_no_third_derivative(block: Block, hidden: Tensor) -> None:
    output = whole(hidden, None, *block.parameters())
    (first,) = torch.autograd.grad(output.sin().sum(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="no third"):
        torch.autograd.grad(first.sin().sum(), hidden, create_graph=True)


def test_weights_that_have_changed_since_are_an_error(block: Block, hidden: Tensor) -> None:
    output = whole(hidden, None, *block.parameters())
    with torch.no_grad():
        block.mlp.out.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_threads_do_not_see_each_other_s_wish_for_no_weights() -> None:
    network = Transformer(layers=2, width=8, heads=2, generator=torch.Generator())
    hidden = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
    inside, done = threading.Event(), threading.Event()

    def hold() -> None:
        with no_weight_gradients():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    transform(network, hidden, everything(hidden)).square().sum().backward()
    done.set()
    thread.join()
    assert all(parameter.grad is not None for parameter in network.parameters())


class _Nested(torch.autograd.Function):
    """The gradient of something, taken inside `depth` backward passes: torch has a thread for deep ones."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, depth: int, look: Callable[[], object]) -> Tensor:
        ctx.depth, ctx.look = depth, look
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None, None]:
        if ctx.depth == 0:
            ctx.look()
        else:
            nested(ctx.depth - 1, ctx.look)
        return grad_outputs[0], None, None


def nested(depth: int, look: Callable[[], object]) -> None:
    with torch.enable_grad():
        x = torch.ones(1, requires_grad=True)
        torch.autograd.grad(_Nested.apply(x, depth, look), x)


def test_threads_of_autograd_know_the_wish_of_who_asks() -> None:
    """As on a GPU, where backward passes of all threads run in a thread of their own."""
    found: list[tuple[bool, bool]] = []

    def look() -> None:
        found.append(
            (threading.current_thread() is threading.main_thread(), context.wants_weight_gradients())
        )

    with no_weight_gradients():
        nested(70, look)
        with no_weight_gradients():
            pass
        nested(70, look)
    nested(70, look)
    assert found == [(False, False), (False, False), (False, True)]


def test_a_block_that_vmap_does_not_batch() -> None:
    network = Transformer(layers=2, width=8, heads=2, generator=torch.Generator())
    hidden = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0))
    offsets = torch.arange(3.0)
    mask = everything(hidden)
    found = torch.func.vmap(lambda offset: transform(network, hidden, mask) + offset)(offsets)
    torch.testing.assert_close(found, network(hidden) + offsets.view(3, 1, 1, 1))


def test_text_encoders_work_without_the_private_functions_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_C", object())
    assert not context.in_transform()
