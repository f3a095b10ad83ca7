"""Whether there is a CUDA device, found out without numba's compiler for it."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.util import find_spec

from eventspace._base.errors import MissingError

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"  # numba's simulator, as in the tests
REMEDY = "pip install 'eventspace[cuda]', or 'eventspace[cuda12]' for CUDA 12"
DRIVER = "nvcuda.dll" if os.name == "nt" else "libcuda.so.1"


@cache
def available() -> str | None:
    """Why there is no device, or None if there is one, which takes CuPy's import to know."""
    if find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed ({REMEDY})"
    if SIMULATED:
        return None
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL(DRIVER)
        found = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    except OSError:
        found = False
    if not (found and count.value):
        return "none was found"
    try:
        import cupy  # noqa: F401
    except ImportError as error:
        return f"CuPy does not load: {error} ({REMEDY})"
    return None


def check_available() -> None:
    """Refuse if there is no device."""
    why_not = available()
    if why_not:
        raise MissingError(
            f"needs a CUDA device: {why_not}.",
            parameter="engine",
            value="cuda",
            remedy="Leave engine at 'auto', or take 'cpu'.",
            shell="Leave --engine at auto, or take cpu.",
        )
