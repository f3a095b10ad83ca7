"""The arrays that everything is made of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Bits: TypeAlias = NDArray[np.bool_]
Positions: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.uint64]  # sets of events, 64 per word
Seeds: TypeAlias = NDArray[np.uint64]  # states of streams of random numbers
