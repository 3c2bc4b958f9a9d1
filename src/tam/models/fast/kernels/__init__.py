"""Triton kernels of a transformer block for short sequences. Where there is no Triton, nothing imports this.

A block is two kernels: attention, and from there through the MLP to the next block's queries, keys and
values. Those of the first block have a kernel of their own. A LayerNorm's scale and shift are part of the
matrix after it, so that kernels standardise only. All but attention look at places one by one. Attention
holds whole sequences on chip: a tile of `span` places is ⌊span / L⌋ sequences or less, and scores are taken
over the whole tile at once, on the matrix units, under a mask that is true inside a sequence only. Keys and
values of places before these may be given, up to X of a sequence, and of a tile `before_span`. The backward
kernels compute again what the forward ones did not keep, and leave behind what the weights' gradients are
made of. Where sequences are packed, one after another without padding, how many places there are is known
to the GPU alone: `P` is then a pointer, and programs that have nothing to do end.

What is read or written as a whole tile is given as a tensor descriptor: the GPU then copies tiles by
itself, and the kernels need no registers for addresses. Vectors, and places of which some are left out,
are pointers.

Shapes: P places in all, L places of a sequence, D width, H heads, E = D / H.
"""

from tam.models.fast.kernels.adam import move, move_tasks, squares, watch_tasks
from tam.models.fast.kernels.attention import attention_backward, attention_forward
from tam.models.fast.kernels.losses import chosen_rows, loss_gradients, task_losses
from tam.models.fast.kernels.mlp import mlp_backward, mlp_forward
from tam.models.fast.kernels.project import project_backward, project_forward
from tam.models.fast.kernels.reading import finish_weights, read_backward, read_forward, read_weights
from tam.models.fast.kernels.rows import gather
from tam.models.fast.kernels.sequence import assemble, pack_places, task_gradients, token_gradients
from tam.models.fast.kernels.weights import fold, norm_gradients, unfold, weight_gradients

__all__ = [
    "assemble",
    "attention_backward",
    "attention_forward",
    "chosen_rows",
    "finish_weights",
    "fold",
    "gather",
    "loss_gradients",
    "mlp_backward",
    "mlp_forward",
    "move",
    "move_tasks",
    "norm_gradients",
    "pack_places",
    "project_backward",
    "project_forward",
    "read_backward",
    "read_forward",
    "read_weights",
    "squares",
    "task_gradients",
    "task_losses",
    "token_gradients",
    "unfold",
    "watch_tasks",
    "weight_gradients",
]
