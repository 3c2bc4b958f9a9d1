"""Keeping freed memory in the process."""

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_MOST = 2**30


def keep_freed_memory() -> None:
    """Make this process keep the memory that it frees, and use it again, if its C library is glibc.

    Otherwise the large tensors of a pass go back to the system, which must fill pages with zeros for the next
    pass; that slows down large batches. The command `tam` calls this; your own program may, as it affects the
    whole process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return
    for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
        mallopt(threshold, _MOST)
