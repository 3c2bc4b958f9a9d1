"""The training loop: take steps; record, validate and write checkpoints between them."""

import math
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tam.errors import InterruptedRunError
from tam.evaluation.protocol import KShotScore
from tam.io import finite
from tam.methods import Losses
from tam.training import distribution
from tam.training.checkpoint import remove_leftovers
from tam.training.folder import Log, alone_in, metrics, writing_to
from tam.training.preflight import Setup
from tam.training.signals import on_interrupts
from tam.training.trainer import Trainer


def train(setup: Setup, folder: Path, log: Log) -> Trainer:
    """Train until the last step, from the folder's checkpoint if it has one.

    `log` receives the records of `metrics.jsonl`: one whenever losses are read, one after every validation.
    Before them it may receive a `note`, such as that tasks have fewer examples than a step asks for.
    """
    with writing_to(folder), alone_in(folder):
        return train_alone(setup, folder, log)


def train_alone(setup: Setup, folder: Path, log: Log) -> Trainer:
    """Train as `train` does, in a folder that the caller has locked."""
    trainer = Trainer(setup, folder)
    if distribution.rank() == 0:
        remove_leftovers(folder)
    trainer.read_checkpoint()
    try:
        trainer.check_ranks()
        _take_steps(trainer, log)
    except distribution.LostProcessError as error:
        raise InterruptedRunError(
            f"{error}; stopped after step {trainer.state.step} of {setup.config.training.steps}"
        ) from None
    if not trainer.choices:  # resumed after the last step
        trainer.validate()
    if distribution.rank() == 0:
        trainer.saved().write_last(folder)
    return trainer


def _take_steps(trainer: Trainer, log: Log) -> None:
    """Take the remaining steps; record, validate and write checkpoints between them.

    With several ranks, all do the same: a request to stop that reaches one of them stops all when losses are
    next read. Only losses that were read are known to be finite, so they are read before a checkpoint too.
    """
    training, state = trainer.config.training, trainer.state
    alone = distribution.world_size() == 1
    started = time.monotonic() - state.seconds
    first = state.step + 1  # its record shows how long compiling took
    finished = _finished(trainer)
    if not finished and distribution.rank() == 0:
        for note in (*trainer.setup.notes, *_less_than_asked(trainer)):
            log({"note": note})
    with metrics(trainer.folder, state.step, log) as record, _graceful_stop() as asked_to_stop:
        if state.step == 0 and trainer.model.spec.starts_as_rule and training.steps:
            record({"step": 0, "valid": _valid_record(trainer.validate())})
        while not finished:
            losses = trainer.step()
            validates = state.step % training.validate_every == 0 or state.step == training.steps
            checkpoints = state.step % training.checkpoint_every == 0
            reads = validates or checkpoints or state.step == first or state.step % _read_every(trainer) == 0
            reads = reads or (alone and asked_to_stop())
            if reads:
                losses = trainer.mean_losses(losses)
                state.seconds = time.monotonic() - started
                record(_loss_record(trainer, losses))
                validates = trainer.first_rank(validates or _out_of_time(trainer))
            if validates:
                record({"step": state.step, "valid": _valid_record(trainer.validate())})
                state.seconds = time.monotonic() - started
                finished = trainer.first_rank(_finished(trainer))
            stops = reads and trainer.any_rank(asked_to_stop())
            if checkpoints or finished or stops:
                state.seconds = time.monotonic() - started
                trainer.write_checkpoint()
                stops = trainer.any_rank(stops or asked_to_stop())
            if stops:
                raise InterruptedRunError(f"stopped after step {state.step} of {training.steps}")


def _finished(trainer: Trainer) -> bool:
    """Whether all steps are taken, the time is up, or validation has not improved for `stop_after` steps."""
    training, state = trainer.config.training, trainer.state
    if state.step >= training.steps or _out_of_time(trainer):
        return True
    if training.stop_after is None or not state.best:
        return False
    validated = state.step - state.step % training.validate_every
    return validated - max(best.step for best in state.best.values()) >= training.stop_after


def _out_of_time(trainer: Trainer) -> bool:
    limit = trainer.config.training.max_seconds
    return limit is not None and trainer.state.seconds >= limit


def _read_every(trainer: Trainer) -> int:
    """Steps between two readings of the losses: on a GPU, reading makes the host wait."""
    return 1 if trainer.device.type == "cpu" else 10


def _less_than_asked(trainer: Trainer) -> Iterator[str]:
    """Notes if a step has fewer tasks or rows than the settings ask for."""
    asked, tasks = trainer.config.training, trainer.tasks.train
    if asked.tasks > len(tasks):
        yield f"tasks is {asked.tasks}, but there are {len(tasks)} training tasks: a step uses all of them"
    fewest, most = min(map(len, tasks)), max(map(len, tasks))
    if asked.rows > fewest:
        short = sum(len(task) < asked.rows for task in tasks)
        span = f"{fewest}" if fewest == most else f"{fewest} or more"
        yield (
            f"rows is {asked.rows}, but {short} of {len(tasks)} training tasks have fewer examples ({span}): "
            "a step uses all that they have"
        )


def _loss_record(trainer: Trainer, losses: Losses) -> dict[str, Any]:
    """The losses as numbers; raises an error if they are not finite."""
    start, end, steps = (float(value) for value in losses.means)
    rate, norm = float(trainer.adam.rate), float(trainer.adam.norm)
    if not (math.isfinite(end) and math.isfinite(norm)):
        raise trainer.diverged(f"loss {end}, gradient {norm}, rate {rate:.2g}")
    return {
        "step": trainer.state.step,
        "loss": round(end, 5),
        "blank_loss": finite(round(start, 5)),
        "inner_steps": round(steps, 2),
        "gradient": round(norm, 4),
        "rate": rate,
        "seconds": round(trainer.state.seconds, 2),
    }


def _valid_record(scores: list[KShotScore]) -> dict[str, Any]:
    return {
        str(score.k): {
            "accuracy": round(score.accuracy, 4),
            "perplexity": finite(round(score.perplexity, 4)),
            "loss": finite(round(score.loss, 5)),
            "steps": score.choice.steps,
            "rate": score.choice.rate,
        }
        for score in scores
    }


@contextmanager
def _graceful_stop() -> Generator[Callable[[], bool]]:
    """Turn the first Ctrl-C or SIGTERM into a request to stop after the step."""
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
        yield lambda: False
        return
    with on_interrupts(ask) as before:
        try:
            yield lambda: bool(asked)
        except distribution.LostProcessError:
            del before[signal.SIGTERM]  # torchrun sends it to the others, which must report the error first
            raise
