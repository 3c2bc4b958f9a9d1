"""Keeping freed memory in the process."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_MOST = 2**30


def keep_freed_memory() -> None:
    """Make this process keep the memory that it frees and reuse it, if its C library is glibc.

    Otherwise the large tensors of a pass go back to the system, which must zero pages for the next pass; that
    slows down large batches. It affects the whole process: the command `tam` calls it, your own program may.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        mallopt(threshold, _MOST)
