"""Nothing waits for the device: a whole step can be captured in a CUDA graph."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tam.models import ModelSpec, build_model
from tam.models.fast.context import plain
from tests.models.conftest import make_batch, make_model, make_z

READS_BACK = {
    "aten::_local_scalar_dense",
    "aten::equal",
    "aten::is_nonzero",
    "aten::item",
    "aten::masked_select",
    "aten::nonzero",
    "aten::unique_consecutive",
    "aten::_unique2",
}


class NoReadBack(TorchDispatchMode):
    """Raises an error on operations whose result the host must wait for, or whose shape depends on data."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        by_mask = func._schema.name == "aten::index" and any(
            i is not None and i.dtype == torch.bool for i in args[1]
        )
        if by_mask or func._schema.name in READS_BACK:
            raise AssertionError(f"{func} reads from the device")
        return func(*args, **(kwargs or {}))


def test_no_step_reads_back(spec: ModelSpec) -> None:
    model, batch = make_model(spec), make_batch(spec)
    z = make_z(model, batch)
    with NoReadBack():
        condition = model.condition(z, batch)
        model.log_prob(condition, batch).sum().backward()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_step_can_be_captured(spec: ModelSpec) -> None:
    model = build_model(spec, torch.Generator().manual_seed(0)).cuda()
    batch, other = make_batch(spec, 4, 300).to("cuda"), make_batch(spec, 4, 300, seed=1).to("cuda")
    z = (0.1 + model.blank(4).unsqueeze(1)).requires_grad_() if model.task_size else None
    leaves = [*model.parameters()] if z is None else [z, *model.parameters()]

    for engines in (plain, nullcontext):

        def step(engines: Callable[[], AbstractContextManager[None]] = engines) -> list[Tensor]:
            with torch.autocast("cuda", dtype=torch.bfloat16), engines():
                log_prob = model(z, batch)
            return [log_prob.detach(), *torch.autograd.grad(log_prob.exp().square().sum(), leaves)]

        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        side.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = step()
        for name, tensor in vars(batch).items():  # the graph reads these very tensors, with new contents
            if isinstance(tensor, Tensor):
                tensor.copy_(getattr(other, name))
        graph.replay()
        torch.testing.assert_close(captured, step(), atol=1e-2, rtol=2e-2)
