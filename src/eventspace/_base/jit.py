"""The compiler of the kernels: numba's, which also works where nothing can be kept on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

from eventspace._base.errors import warn

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_warned = False

# A process that forks while another thread compiles would leave its child a lock that stays shut.
# So it waits for the compiler, as the logging module waits for its handlers.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


def njit(**options: Any) -> Callable[[Kernel], Kernel]:
    """Like ``numba.njit``; where there is no place for the cache, go on without, and say so once.

    numba looks beside the module, then in the user's cache folder. It takes no folder that all
    users share: what it finds in a cache it runs.
    """

    def compiled(function: Kernel) -> Kernel:
        try:
            kernel: Kernel = numba.njit(**options)(function)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            _warn()
            kernel = numba.njit(**{**options, "cache": False})(function)
        _forgive(kernel)
        return kernel

    return compiled


def _forgive(kernel: Any) -> None:
    """Let a kernel run whose code can not be kept, for the disk is full, say."""
    kept = getattr(kernel, "_cache", None)
    if kept is None:  # as with NUMBA_DISABLE_JIT
        return
    save = kept.save_overload

    def save_if_possible(signature: Any, code: Any) -> None:
        try:
            save(signature, code)
        except OSError as error:
            _warn(f" ({error.strerror or error})")

    kept.save_overload = save_if_possible


def _warn(reason: str = "") -> None:
    global _warned
    if _warned:
        return
    _warned = True
    warn(
        f"compiled kernels cannot be kept{reason}: every start compiles anew; set NUMBA_CACHE_DIR "
        "to a folder that can be written",
    )
