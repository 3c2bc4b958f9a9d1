"""The entry point to the engines: `engine` chooses one, and the other functions compute with it.

Each returns the same as the plain code that its docstring names.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from tam.models.attention import ALL, Mask
from tam.models.batch import Batch
from tam.models.conditioning import Condition, Modulation
from tam.models.fast import context, cpu_block, gpu_blocks, gpu_device, gpu_scoring, gpu_sequence
from tam.models.layers import Embedding
from tam.models.transformer import Block, Transformer

if TYPE_CHECKING:
    from tam.models.model import Model

Engine = Literal["plain", "cpu", "gpu"]


def engine(tensor: Tensor) -> Engine:
    """Choose the engine for tensors like this one, in this context and on this machine.

    - cpu: on a CPU in float32 or float64, with no `torch.func` transform active but a single `vmap`.
    - gpu: on a Hopper GPU or similar, with Triton, when no second derivative is taken.
    - plain: otherwise, with `TAM_PLAIN=1`, and if torch lacks a private function that the engines need.
    """
    if context.is_plain():
        return "plain"
    if tensor.is_cuda:
        allowed = context.once_differentiable_on_gpu(tensor)
        return "gpu" if allowed and gpu_device.blocks_run_on(tensor.device) else "plain"
    return "cpu" if cpu_block.takes(tensor) else "plain"


def transform(
    network: Transformer,
    hidden: Tensor,
    mask: Mask,
    modulation: Modulation | None = None,
    read: slice = ALL,
    x_cache: Sequence[Tensor] = (),
    positions: Tensor | None = None,
) -> Tensor:
    """`network(hidden, …)`; `x_cache` is the result of the function of that name.

    The mask's columns and the positions include the places of cached x.
    """
    chosen = engine(hidden) if modulation is None and not network.has_adapters else "plain"
    if chosen == "gpu" and positions is None and gpu_blocks.takes(network, hidden, mask, x_cache):
        return gpu_blocks.transform(network, hidden, mask, read, x_cache)
    caches: list[Sequence[Tensor]] = []
    if x_cache and mask.causal:
        caches = [keys_values.unbind(1) for keys_values in x_cache[0].unbind(1)]
        if positions is not None:  # cached keys are rotated already
            positions = positions[-hidden.shape[1] :]
    elif x_cache and chosen == "cpu":
        caches = [x_cache]
    elif x_cache:
        hidden = torch.cat([hidden, x_cache[0]], dim=1)
    run = cpu_block.run if chosen == "cpu" else Block.__call__
    matrix = mask.matrix(hidden.shape[1])
    return network(hidden, matrix, modulation, read, caches, positions, run)


def x_cache(
    network: Transformer, vectors: Tensor, mask: Mask, positions: Tensor | None
) -> tuple[Tensor, ...]:
    """Compute for x what `transform` can reuse, `[R, …]` each; empty if that would not help.

    If the mask is causal, x comes first and sees nothing else: its keys and values in all blocks are cached.
    Otherwise, on a CPU, what the first block computes for each place of x separately.
    """
    chosen = "plain" if network.has_adapters else engine(vectors)
    if not mask.causal:
        helps = chosen == "cpu" and len(network.blocks) > 1
        return tuple(cpu_block.first_block(network, vectors, positions)) if helps else ()
    if chosen == "gpu" and positions is None and gpu_blocks.takes(network, vectors, mask):
        fits = gpu_blocks.takes_cache(network, *vectors.shape[:2])
        return (gpu_blocks.keys_values(network, vectors, mask.valid),) if fits else ()
    run = cpu_block.run if chosen == "cpu" else Block.__call__
    return (network.x_cache(vectors, mask.matrix(vectors.shape[1]), positions, run),)


def embed(embedding: Embedding, ids: Tensor, valid: Tensor) -> Tensor:
    """`embedding(ids, valid)`."""
    places = ids.shape[-1]
    if places > 0 and engine(embedding.token) == "gpu" and gpu_sequence.takes(embedding, places):
        return gpu_sequence.embed(embedding, ids.masked_fill(~valid, 0))
    return embedding(ids, valid)


def score(model: "Model", condition: Condition, batch: Batch) -> Tensor | None:
    """`model.score` with kernels from the tokens to the answers; None if they do not apply."""
    if model.copier is not None:
        return None
    if engine(model.places) == "gpu" and gpu_scoring.takes(model, condition, batch):
        return gpu_scoring.score(model, condition, batch)
    return None


def has_kernels(tensor: Tensor) -> bool:
    """Whether there are kernels for losses, searches and Adam that take tensors like this one."""
    runs = tensor.is_cuda and tensor.dtype == torch.float32 and not context.is_plain()
    return runs and gpu_device.triton_runs_here()


def compiles_ahead(model: "Model") -> bool:
    """Whether the kernels of training can be compiled in parallel, before the first step."""
    return (
        isinstance(model.backbone, Transformer)
        and has_kernels(model.places)
        and gpu_device.has_compile_only()
    )
