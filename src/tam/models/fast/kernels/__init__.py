"""Triton kernels of a transformer block for short sequences. Nothing imports this unless Triton is installed.

A block is two kernels: attention, and from its output through the MLP to the next block's queries, keys and
values. Those of the first block have a separate kernel. LayerNorms' scales and shifts are folded into the
matrix that follows, so kernels only standardise. All kernels but attention treat places independently.
Attention holds whole sequences on chip: a tile of `span` places is at most ⌊span / L⌋ sequences, and scores
are computed for the whole tile on the matrix units, under a mask that is true only within a sequence. Each
sequence may also have up to X cached keys and values of earlier places, `before_span` per tile. The backward
kernels recompute what the forward kernels did not keep, and write what the weight gradients need. If
sequences are packed without padding, only the GPU knows the number of places: `P` is then a pointer, and
programs without work return early.

Whole tiles are read and written through tensor descriptors: the hardware copies them, and the kernels need
no registers for addresses. Vectors, and matrices of which some places are skipped, are pointers.

Shapes: P places in all, L places of a sequence, D width, H heads, E = D / H.
"""

from tam.models.fast.kernels.adam import move, move_tasks, squares, watch_tasks
from tam.models.fast.kernels.attention import attention_backward, attention_forward
from tam.models.fast.kernels.losses import chosen_rows, loss_gradients, task_losses
from tam.models.fast.kernels.mlp import mlp_backward, mlp_forward
from tam.models.fast.kernels.project import project_backward, project_forward
from tam.models.fast.kernels.reading import finish_weights, read_backward, read_forward, read_weights
from tam.models.fast.kernels.sequence import assemble, gather, pack_places, task_gradients, token_gradients
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
