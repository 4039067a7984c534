"""glibc's allocator set up for training: memory of one step is kept for the next.

A training step allocates and frees hundreds of large tensors. By default glibc maps each of them
anew and returns it to the kernel, which has to clear every page again: a tenth to two fifths of the
time of a step (docs/benchmarks.md). Other allocators (tcmalloc, jemalloc) keep memory anyway
and are left alone.
"""

from __future__ import annotations

import ctypes
import os
import platform

SWITCH = "TFDISTIL_MALLOC"
"""The environment variable: ``system`` leaves the allocator as it is."""

# Constants of <malloc.h>.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX, _ARENA_MAX = -1, -2, -4, -8

_SETTINGS = {
    _MMAP_MAX: 0,  # large blocks come from the heap, too
    _TRIM_THRESHOLD: -1,  # whose end is never given back
    _TOP_PAD: 64 * 2**20,  # and grows in large steps
    _ARENA_MAX: 1,  # one heap for all threads, which can use each other's free blocks
}


def keep_freed_memory() -> bool:
    """Let this process keep the memory it frees, for the rest of its life.

    Call it before TensorFlow starts its threads: threads that have a heap of their own keep it.
    Nothing is done where the C library is not glibc, where
    ``TFDISTIL_MALLOC=system`` is set, or where the user has set up glibc's allocator or preloaded
    another one (``MALLOC_*_``, ``GLIBC_TUNABLES``, ``LD_PRELOAD``).

    Returns:
        Whether the allocator was set up.
    """
    if not _is_ours_to_set():
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(
        mallopt(ctypes.c_int(what), ctypes.c_int(value)) for what, value in _SETTINGS.items()
    )


def _is_ours_to_set() -> bool:
    if platform.libc_ver()[0] != "glibc" or os.environ.get(SWITCH) == "system":
        return False
    if any(name.startswith("MALLOC_") for name in os.environ):
        return False
    return "glibc.malloc" not in os.environ.get(
        "GLIBC_TUNABLES", ""
    ) and "malloc" not in os.environ.get("LD_PRELOAD", "")
