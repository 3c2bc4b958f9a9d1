"""What becomes of memory that is freed."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_MOST = 2**30


def keep_freed_memory() -> None:
    """Have this process keep memory that it frees, where its C library is glibc, and use it again.

    Otherwise the large tensors of a pass go back to the system, which gives the next pass pages that it has
    to fill with zeros first, and large batches pay for it. The command `tam` does this; in a program of your
    own it is yours to decide, as it holds for the whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        mallopt(threshold, _MOST)
