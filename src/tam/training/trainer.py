"""One outer step of a run, and everything that a checkpoint holds."""

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tam.errors import UserError
from tam.evaluation.protocol import Choice, KShotScore, choose, quality
from tam.io import MALFORMED
from tam.methods import Losses, Method
from tam.methods.losses import smoothed
from tam.methods.replay import CapturedStep
from tam.methods.starts import WarmStarts
from tam.models import Model, build_model, place_model, twice_differentiable
from tam.models.dropout import dropping
from tam.models.encoder import load_pretrained
from tam.models.fast.engine import compiles_ahead
from tam.models.fast.gpu_device import compile_only
from tam.models.hints import Hints, memorised, token_weights
from tam.models.layers import table_names
from tam.training import distribution
from tam.training.adam import Adam, rate_at
from tam.training.checkpoint import load_weights, read_tensors, write_tensors
from tam.training.data import TrainingData
from tam.training.folder import best_file, checkpoint_file
from tam.training.masking import TokenMasking
from tam.training.preflight import Setup, check_same
from tam.training.saved import Best, Saved, read_best


class DivergedError(UserError):
    """The loss or its gradient is no longer finite."""


def _seed_of(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7])


@dataclass
class State:
    """The progress of a run, as written in the header of a checkpoint."""

    step: int = 0
    seconds: float = 0.0
    best: dict[int, Best] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        best = {str(k): one.to_json() for k, one in self.best.items()}
        return {"step": self.step, "seconds": self.seconds, "best": best}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "State":
        """From plain values; raises one of `MALFORMED` if they do not describe a run."""
        best = {int(k): Best.from_json(one) for k, one in dict(values["best"]).items()}
        return cls(int(values["step"]), float(values["seconds"]), best)


class Trainer:
    """A run in progress: model, optimiser, random numbers and state, all of which a checkpoint holds.

    On a GPU, outer steps are recorded and replayed if `captured`, else run one operation at a time.
    """

    def __init__(self, setup: Setup, folder: Path, *, captured: bool = True) -> None:
        config, spec, training = setup.config, setup.spec, setup.config.training
        self.setup, self.config, self.tasks, self.folder = setup, config, setup.tasks, folder
        self.method: Method = setup.method
        self.primitives = setup.primitives
        self.device = torch.device(config.device)
        self.model = self._new_model()
        self.data = self._new_data()
        # Not the seed itself: on a CPU, the first draws would equal those that initialised the weights.
        self.generator = torch.Generator(self.device).manual_seed(_seed_of(f"draws {config.seed}"))
        self.adam = Adam(self.model, table_names(self.model), training.clip, training.weight_decay)
        self.warm_starts = self._new_warm_starts()
        self.state = State()
        self.choices: dict[int, Choice] = {}
        self._dropout = torch.Generator(self.device)
        self._tasks = min(training.tasks, self.data.tasks)
        self._share = distribution.share(self._tasks)
        self._replays = (
            captured
            and self.device.type == "cuda"
            and distribution.world_size() == 1
            and not training.dropout  # seeded anew for every step
            and spec.encoder is None  # third-party code may wait for the GPU
        )
        self._captured: dict[int, CapturedStep] = {}
        self._compiled: set[str] = set()

    def _new_model(self) -> Model:
        """The initialised network, with what it stores of the training tasks."""
        config, spec, train = self.config, self.setup.spec, self.setup.splits["train"]
        start = torch.Generator().manual_seed(config.seed)
        model = place_model(build_model(spec, start), self.device, config.training.precision)
        if config.network.encoder is not None:
            load_pretrained(model, config.network.encoder)
        if model.token_weights is not None:
            model.token_weights.copy_(torch.from_numpy(token_weights(train, spec)))
        if model.memory is not None:
            model.memory.copy_(torch.from_numpy(memorised(train, spec)))
        return model

    def _new_data(self) -> TrainingData:
        """The training tasks on the device, perhaps with hints and masked tokens."""
        network, train, masking = self.config.network, self.setup.splits["train"], None
        if network.encoder is None and network.mask_tokens:
            masking = TokenMasking(train, self.setup.spec, network.mask_tokens, self.device)
        if (hints := Hints.of_model(self.model)) is not None:
            train = hints.for_training(train, self.config.seed)
        return TrainingData(train, self.device, self.primitives, masking)

    def _new_warm_starts(self) -> WarmStarts | None:
        """The last z of every task, if some searches start there or the model stores it."""
        share, slots = getattr(self.config.settings, "warm_share", 0.0), self.setup.spec.slots
        if self.model.kept is not None:
            return WarmStarts(share, slots, self.model.kept)
        if share:
            return WarmStarts(share, slots, self.model.blank(self.data.tasks * max(slots, 1)))
        return None

    def step(self) -> Losses:
        """Take one outer step."""
        training = self.config.training
        done = float(self.state.step)
        if training.max_seconds is not None:  # if steps are slower than planned, time counts
            done = max(done, training.steps * min(1.0, self.state.seconds / training.max_seconds))
        self.adam.rate.fill_(rate_at(done, peak=training.rate, warmup=training.warmup, steps=training.steps))
        self.compile()
        take: Callable[[], Losses] = partial(self._eager_step, self.method, self.state.step)
        if self._replays:
            phase = self.method.phase(self.state.step)
            if phase not in self._captured:
                self._captured[phase] = CapturedStep(take, self.generator)
            take = self._captured[phase]
        losses = take()
        self.state.step += 1
        return losses

    def compile(self) -> None:
        """Compile the kernels of an outer step in parallel, once, in steps that are then undone."""
        if not self._must_compile("training"):
            return
        steps = {self.method.phase(step): step for step in (self.config.training.steps - 1, self.state.step)}
        drawn = self.generator.get_state()
        warm_starts = None if self.warm_starts is None else self.warm_starts.table.clone()
        with self.adam.unchanged(), compile_only():
            for step in steps.values():
                self._eager_step(self.method.shortened(), step)
        self.generator.set_state(drawn)
        if self.warm_starts is not None and warm_starts is not None:
            self.warm_starts.table.copy_(warm_starts)
        torch.cuda.empty_cache()  # later steps run on another stream, with memory of its own

    def compile_validation(self) -> None:
        """Compile the kernels of a validation in parallel, once; training does not wait for them."""
        if not self._must_compile("validation"):
            return
        protocol, some = self.config.protocol, self.setup.splits["valid"][:8]
        short = replace(protocol, adapt_steps=(min(1, max(protocol.adapt_steps)),))
        with compile_only():
            for k in protocol.shots:  # what is compiled does not depend on the number of tasks
                choose(self.method, self.model, some, k, short, self.primitives)

    def _must_compile(self, what: str) -> bool:
        """Whether the kernels of `what` are yet to be compiled; true once."""
        if what in self._compiled or not (self.method.allows_kernels and compiles_ahead(self.model)):
            return False
        self._compiled.add(what)
        return True

    def _eager_step(self, method: Method, step: int) -> Losses:
        training = self.config.training
        whole = self.data.draw(training.tasks, training.rows, self.generator)
        if self.warm_starts is not None:
            whole = self.warm_starts.begin(whole, self.generator)
        batch = whole.part(self._share)
        if training.dropout:  # ranks draw differently, a resumed run draws the same
            seed = _seed_of(f"dropout {self.config.seed} {step} {distribution.rank()}")
            self._dropout.manual_seed(seed)
        with (
            nullcontext() if method.allows_kernels else twice_differentiable(),
            dropping(training.dropout, self._dropout),
            smoothed(training.label_smoothing),
        ):
            losses = method.training_step(self.model, batch, self._move, step)
        if self.warm_starts is not None and losses.z is not None:
            z = losses.z.new_zeros(self._tasks, losses.z.shape[1])
            z[self._share] = losses.z
            distribution.add_up([z])  # every rank stores the z of all tasks
            self.warm_starts.keep(whole, z)
        return Losses(*losses.means)

    def _move(self, count: Tensor) -> None:
        if distribution.world_size() > 1:
            count = count.clone()  # leave the caller's unchanged
            distribution.add_up([self.adam.gradient, count])
        self.adam.move(count)

    def mean_losses(self, losses: Losses) -> Losses:
        """The losses averaged over the tasks of all ranks."""
        if distribution.world_size() == 1:
            return losses
        own = self._share.stop - self._share.start
        values = torch.stack([value.detach() * own for value in losses.means])
        distribution.add_up([values])
        return Losses(*values / self._tasks)

    def any_rank(self, answer: bool) -> bool:
        """Whether `answer` is true on any rank."""
        if distribution.world_size() == 1:
            return answer
        answers = self.adam.gradient.new_tensor([answer])
        distribution.add_up([answers])
        return bool(answers)

    def first_rank(self, answer: bool) -> bool:
        """The first rank's answer, for all ranks: scores may differ between them in the last bit."""
        return self.any_rank(answer and distribution.rank() == 0)

    def check_ranks(self) -> None:
        """Raise an error unless all ranks continue from the same state of the same run."""
        state = json.dumps([self.config.to_json(), self.tasks.fingerprint, self.state.step])
        if not distribution.all_have(state, self.device):
            raise UserError(
                "the processes of this run differ in their settings, their tasks or their checkpoint: give "
                "all hosts the same config and tasks, and a run folder that they share"
            )

    def validate(self) -> list[KShotScore]:
        """Score the validation tasks at every k, and keep the best weights so far at each."""
        self.compile_validation()
        protocol = self.config.protocol
        scores = []
        for k in protocol.shots:
            score = choose(self.method, self.model, self.setup.splits["valid"], k, protocol, self.primitives)
            if score.is_nan:
                raise self.diverged(f"the loss of the validation tasks at k = {k} is not a number")
            scores.append(score)
            self.choices[k] = score.choice
            reached = quality(score, self.tasks.kind, self.model.spec, protocol.choose_by)
            if k not in self.state.best or reached < self.state.best[k].quality:
                best = self.state.best[k] = Best(self.state.step, reached, score.choice)
                if distribution.rank() == 0:
                    header = {"best": best.to_json()}
                    write_tensors(best_file(self.folder, k), self.model.state_dict(), header)
        if self.device.type == "cuda":
            torch.cuda.empty_cache()  # training needs less memory, and others may share the GPU
        return scores

    def diverged(self, what: str) -> DivergedError:
        """The error to raise when training has diverged, with what to try."""
        good = checkpoint_file(self.folder)
        kept = f"the last good checkpoint is {good}; " if good.exists() else ""
        inner = "a smaller inner_rate, " if hasattr(self.config.settings, "inner_rate") else ""
        return DivergedError(
            f"training diverged at step {self.state.step}: {what}; {kept}start again in another folder "
            f"with a smaller rate, {inner}or a longer warmup"
        )

    def saved(self) -> Saved:
        """The current model, with the best weights at each k if it was validated."""
        best = read_best(self.folder, self.config, self.setup.spec) if self.state.best else {}
        vocabulary, text = self.setup.ids.vocabulary, self.tasks.text
        return Saved(self.config, self.model, vocabulary, self.primitives, self.choices, best, text)

    def write_checkpoint(self) -> None:
        """Write everything that is needed to continue exactly from here."""
        if distribution.rank() != 0:
            return
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"adam.{name}": value for name, value in self.adam.state().items()}
        tensors["generator"] = self.generator.get_state()
        if self.warm_starts is not None and self.model.kept is None:
            tensors["warm_starts"] = self.warm_starts.table
        header = {"fingerprint": self.tasks.fingerprint, "config": self.config.to_json()}
        write_tensors(checkpoint_file(self.folder), tensors, self.state.to_json() | header)

    def read_checkpoint(self) -> None:
        """Continue from the last checkpoint, if there is one."""
        path = checkpoint_file(self.folder)
        if not path.exists():
            return
        tensors, header = read_tensors(path)
        check_same(self.setup, header, path)
        model, adam = (
            {name.removeprefix(part): value for name, value in tensors.items() if name.startswith(part)}
            for part in ("model.", "adam.")
        )
        load_weights(self.model, model, path)
        try:
            self.adam.load(adam)
            self.generator.set_state(tensors["generator"])
            if self.warm_starts is not None and self.model.kept is None:
                self.warm_starts.table.copy_(tensors["warm_starts"])
            self.state = State.from_json(header)
        except MALFORMED as error:
            raise UserError(f"{path}: not a checkpoint, or damaged ({error!r})") from None
        for k in self.state.best:  # the files of the best weights may be newer than the checkpoint
            best = best_file(self.folder, k)
            self.state.best[k] = Best.of_file(read_tensors(best)[1], best)
