"""The device: numba's compiler for it, its memory, and how arrays get there and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from eventspace._base.extras import extra
from eventspace.engines.cuda.presence import SIMULATED

if not hasattr(np, "row_stack"):
    # numba-cuda up to 0.30 asks for a name that NumPy 2.5 no longer has
    vars(np)["row_stack"] = np.vstack

with extra("cuda", "Kernels for a GPU are compiled by", "numba_cuda"):
    import numba.cuda
    import numba_cuda  # noqa: F401

cuda: Any = numba.cuda

if not SIMULATED:
    from numba.cuda.core import config

    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # small tables make small grids


def new_stream() -> Any:
    """A stream, on which CuPy's functions run in this thread, too."""
    if SIMULATED:
        return cuda.stream()
    import cupy

    shared = cupy.cuda.Stream(non_blocking=True)
    shared.use()
    stream = cuda.external_stream(shared.ptr)
    stream.kept = shared  # as long as it is used
    return stream


def with_registers(most: int) -> dict[str, int]:
    """The option that limits the registers of a kernel's threads; the simulator has none."""
    return {} if SIMULATED else {"max_registers": most}


def free_bytes() -> float:
    """How much memory of the device is free, or kept by CuPy to be used again."""
    kept = 0 if SIMULATED else _pool().free_bytes()
    return float(cuda.current_context().get_memory_info()[0]) + kept


def let_go() -> None:
    """Give back what CuPy keeps: a stream that has ended would keep it for ever."""
    if not SIMULATED:
        _pool().free_all_blocks()


def _pool() -> Any:
    import cupy

    return cupy.get_default_memory_pool()


def blocks_for(n: int, threads: int) -> int:
    """How many blocks of threads do n things; at least one, as a grid must have."""
    return max(-(-n // threads), 1)


class Room:
    """Arrays on the device that are used again, each under a name: to allocate one is slow."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._held: dict[str, Any] = {}

    def array(self, name: str, shape: tuple[int, ...], kind: Any = np.float64) -> Any:
        """An array of this shape; what was in the last one with the name may be lost."""
        held = self._held.get(name)
        if held is None or held.shape[0] < shape[0] or held.shape[1:] != shape[1:]:
            held = self._held[name] = cuda.device_array((max(shape[0], 1), *shape[1:]), kind)
        return held[: shape[0]]

    def copy(self, name: str, array: Any) -> Any:
        """The array, under this name."""
        there = self.array(name, array.shape, array.dtype)
        if array.size:
            there.copy_to_device(np.ascontiguousarray(array), stream=self.stream)
        return there


def to_device(array: Any, stream: Any) -> Any:
    """The array on the device; one without elements as one with a single zero, which is unused."""
    array = np.ascontiguousarray(array) if array.size else np.zeros(1, array.dtype)
    return cuda.to_device(array, stream=stream)


def to_host(array: Any, stream: Any) -> Any:
    """The array here, when all before it on the stream is done."""
    here = array.copy_to_host(stream=stream)
    stream.synchronize()
    return here
