"""Run jobs in this process, one after the other."""

import gc
import signal
import traceback

import torch

from tam.errors import InterruptedRunError, UserError, report_out_of_memory
from tam.experiments.claim import ClaimedError
from tam.experiments.runner import Ending
from tam.experiments.work import Order, work
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


def attempt(order: Order) -> Ending:
    """Run a job in this process and return how it ended; let an interrupt pass."""
    try:
        with report_out_of_memory():
            work(order)
    except ClaimedError:
        return Ending("claimed")
    except InterruptedRunError:
        raise
    except UserError as error:
        return Ending("failed", str(error), f"error: {error}")
    except Exception as error:  # a bug: record it, and go on with the other jobs
        return Ending("failed", f"{type(error).__name__}: {error}".strip(), traceback.format_exc())
    return Ending("finished")
