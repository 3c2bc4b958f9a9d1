"""The same work done by tam, in plain PyTorch, and by each peer, one file each.

There are four kinds of work, named by the suffix of a function:

- `_step`: shared weights and an embedding per task, first order. The gradient of θ is summed over the
  tasks and over the embeddings z₁ … z_T that the inner steps reach.
- `_maml`: separate weights for each task, second order. The gradient of the query loss through the inner
  steps on the support, summed over the tasks.
- `_cavia`: an embedding per task, second order. As for MAML, but the inner steps update only z. Peers get
  only z as a parameter, so that they differentiate nothing else.
- `_adapt`: adaptation only. An embedding for each new task, with θ frozen.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from contenders.higher import higher_cavia, higher_maml, higher_step
from contenders.ours import tam_adapt, tam_cavia, tam_maml, tam_step
from contenders.peft import peft_adapt
from contenders.plain import loop_adapt, loop_cavia, loop_maml, loop_step
from contenders.problem import Problem, Step
from contenders.torchopt import (
    torchopt_cavia,
    torchopt_losses_cavia,
    torchopt_losses_maml,
    torchopt_losses_step,
    torchopt_maml,
    torchopt_tasks_step,
)


@dataclass(frozen=True)
class Contender:
    """One implementation of the work, compared with the others of its group.

    `prepare` makes its step, untimed, and its docstring describes the step. Contenders with the same `result`
    compute the same thing.
    """

    name: str
    group: str
    prepare: Callable[[Problem], Step]
    result: str


CONTENDERS = (
    Contender("tam: TAM", "first order", tam_step, "embedding, Adam"),
    Contender("loop over tasks, Adam", "first order", loop_step(torch.optim.Adam), "embedding, Adam"),
    Contender("loop over tasks, SGD", "first order", loop_step(torch.optim.SGD), "embedding, SGD"),
    Contender("higher, loop over tasks, SGD", "first order", higher_step, "embedding, SGD"),
    Contender("TorchOpt SGD, tasks under vmap", "first order", torchopt_tasks_step, "embedding, SGD"),
    Contender(
        "TorchOpt SGD, losses under vmap", "first order", torchopt_losses_step("sgd"), "embedding, SGD"
    ),
    Contender(
        "TorchOpt Adam, losses under vmap", "first order", torchopt_losses_step("adam"), "embedding, Adam"
    ),
    Contender("tam: MAML", "second order", tam_maml, "MAML"),
    Contender("loop over tasks, MAML", "second order", loop_maml, "MAML"),
    Contender("higher, MAML", "second order", higher_maml, "MAML"),
    Contender("TorchOpt MetaSGD, MAML", "second order", torchopt_maml, "MAML"),
    Contender("TorchOpt SGD, losses under vmap, MAML", "second order", torchopt_losses_maml, "MAML"),
    Contender("tam: CAVIA", "second order", tam_cavia, "CAVIA"),
    Contender("loop over tasks, CAVIA", "second order", loop_cavia, "CAVIA"),
    Contender("higher, CAVIA", "second order", higher_cavia, "CAVIA"),
    Contender("TorchOpt MetaSGD, CAVIA", "second order", torchopt_cavia, "CAVIA"),
    Contender("TorchOpt SGD, losses under vmap, CAVIA", "second order", torchopt_losses_cavia, "CAVIA"),
    Contender("tam: adapt", "adaptation", tam_adapt, "adaptation"),
    Contender("loop over tasks, adaptation", "adaptation", loop_adapt, "adaptation"),
    Contender("PEFT prompt tuning, an adapter a task", "adaptation", peft_adapt, "adaptation"),
)
