"""A target that does what a fuzzer is to notice, for the tests of the harness."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
from numba import njit

from tests.fuzz.judge import Case, Kind, NonsenseError, Verdict, demand_chances

# Cases by their numbers; all others are fine.
CRASH, ABORT, HANG, MEMORY, NONSENSE, RAISED, BEYOND = 3, 5, 7, 11, 13, 17, 19
MEGABYTES = 300


class TrialTarget:
    """Case 3 crashes, case 7 hangs, and so on."""

    def warm_up(self) -> None:
        _element(np.zeros(2), 1)

    def case(self, seed: int, number: int) -> Case:
        return Case(f"{number}".encode(), f"trial {number}")

    def __call__(self, content: bytes, number: int = 0) -> Verdict:
        number = int(content)
        if number == CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)
        if number == ABORT:
            os.abort()
        if number == HANG:
            time.sleep(3600)
        if number == MEMORY:
            np.ones(MEGABYTES << 17).sum()
        if number == NONSENSE:
            try:
                demand_chances([0.5, np.nan], "trial")
            except NonsenseError as error:
                return Verdict(Kind.NONSENSE, "trial", str(error))
        if number == BEYOND:
            _element(np.zeros(2), 3)
        if number == RAISED:
            raise KeyError("an exception that no judge has caught")
        return Verdict(Kind.REFUSED)


@njit(cache=True)
def _element(array: Any, k: int) -> Any:
    return array[k]
