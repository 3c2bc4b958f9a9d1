"""Jobs in this process, one after the other."""

import gc
import signal
import traceback
from collections.abc import Generator
from contextlib import contextmanager

import torch

from tam.errors import InterruptedRunError, UserError, report_out_of_memory
from tam.experiments.claim import ClaimedError
from tam.experiments.runner import Ending
from tam.experiments.work import Order, work
from tam.training.heap import keep_freed_memory


class Ended(Ending):
    """A job that ended before anybody could ask."""

    def ending(self) -> Ending:
        """How it ended."""
        return self

    def stop(self) -> None:
        """Nothing: it has ended."""

    def kill(self) -> None:
        """Nothing: it has ended."""


class Here:
    """Runs jobs in this process; must be used in its main thread."""

    def __init__(self) -> None:
        keep_freed_memory()

    def start(self, order: Order) -> Ended:
        """Run a job to its end; KeyboardInterrupt if it was stopped."""
        try:
            with _interruptible():
                return Ended(*attempt(order))
        except InterruptedRunError:
            raise KeyboardInterrupt from None
        finally:
            gc.collect()
            if torch.cuda.is_initialized():
                torch.cuda.empty_cache()


def attempt(order: Order) -> Ending:
    """Work on a job in this process, and say how that ended unless it was interrupted."""
    try:
        with report_out_of_memory():
            work(order)
    except ClaimedError:
        return Ending("claimed")
    except InterruptedRunError:
        raise
    except UserError as error:
        return Ending("failed", str(error), f"error: {error}")
    except Exception as error:  # a bug: it is recorded, and must not stop the other jobs
        return Ending("failed", f"{type(error).__name__}: {error}".strip(), traceback.format_exc())
    return Ending("finished")


@contextmanager
def _interruptible() -> Generator[None]:
    """SIGTERM is as Ctrl-C: training ends after its step, anything else at once."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
