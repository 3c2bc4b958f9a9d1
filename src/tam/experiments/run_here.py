"""Run jobs in this process, one after the other."""

import gc
import signal

import torch

from tam.errors import InterruptedRunError
from tam.experiments.work import Ending, Order, attempt
from tam.training.heap import keep_freed_memory
from tam.training.signals import on_interrupts


class Ended(Ending):
    """A job that had already ended when `start` returned."""

    def ending(self) -> Ending:
        """How the job ended."""
        return self

    def stop(self) -> None:
        """Do nothing, since the job has ended."""

    def kill(self) -> None:
        """Do nothing, since the job has ended."""


class Here:
    """Runs jobs in this process, from its main thread."""

    def __init__(self) -> None:
        keep_freed_memory()

    def start(self, order: Order) -> Ended:
        """Run a job to its end; raise KeyboardInterrupt if it was stopped."""
        try:
            with on_interrupts(signal.default_int_handler):  # a training ends after its step
                return Ended(*attempt(order))
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        finally:
            gc.collect()
            if torch.cuda.is_initialized():
                torch.cuda.empty_cache()
