"""The exact indicator step on the device: every code of every item is weighed.

A block takes one item and a thread one setting of its low bits. The thread runs through the high
bits by a Gray code, at two additions per code. It keeps the least cost and the second least, and
from these follows what the CPU's solver does, whatever order that searches in:

- The incumbent stays if it is within the tolerance of the least cost.
- Else the least code is taken, if no other is within the tolerance.
- Else, or if rounding could decide one of these, the item is left to the CPU's solver.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import float64, int64, uint64

from eventspace.engines.cuda.device import cuda
from eventspace.indicators.quadratic import TOLERANCE

MOST_EVENTS = 20  # for which 2^D codes are weighed
LOW, HIGH = 8, 10  # bits of a thread's own code, and of the table of codes that threads share
HAIR = 0.1  # of the tolerance: more than what fixed-point PMFs can change of a cost
KEPT, FOUND, OPEN = 0, 1, 2
FAR = float("inf")


def threads_for(n_events: int) -> int:
    """How many threads a block of the search has."""
    return 1 << min(n_events, LOW)


@cache
def make_search(n_events: int) -> Any:
    """The kernel that searches; ``ends`` tells how each item's search ended."""
    low = min(n_events, LOW)
    high = min(n_events - low, HIGH)
    n_threads, n_high, n_outer = 1 << low, 1 << high, 1 << (n_events - low - high)
    n_cross = max(high, 1)

    @cuda.jit
    def search(S: Any, v: Any, e: Any, penalty: float, codes: Any, cost: Any, ends: Any) -> None:
        """Improve each item's code, with ``penalty`` for each event in its set."""
        s = cuda.shared.array((n_events, n_events), float64)
        alone = cuda.shared.array(n_events, float64)  # the cost of each event without others
        table = cuda.shared.array(n_high, float64)  # what the high events cost among each other
        cross = cuda.shared.array((n_cross, n_threads), float64)  # and with others
        best = cuda.shared.array(n_threads, float64)
        second = cuda.shared.array(n_threads, float64)
        found = cuda.shared.array(n_threads, int64)
        item, thread = cuda.blockIdx.x, cuda.threadIdx.x
        for k in range(thread, n_events * n_events, n_threads):
            s[k // n_events, k % n_events] = S[item, k // n_events, k % n_events]
        incumbent, free = int64(codes[item]), int64(0)
        for d in range(n_events):
            linear = v[item, d] - 0.5 * penalty
            if S[item, d, d] == 0.0 and linear == 0.0:
                free |= int64(1) << d
            if thread == 0:
                alone[d] = S[item, d, d] - 2.0 * linear
        cuda.syncthreads()
        for code in range(thread, n_high, n_threads):
            total = 0.0
            for a in range(high):
                for b in range(a):
                    if (code >> a) & (code >> b) & 1:
                        total += 2.0 * s[low + a, low + b]
            table[code] = total
        least, next_least, chosen = FAR, FAR, int64(0)
        for outer in range(n_outer):
            fixed = (int64(outer) << (low + high)) | int64(thread)
            now = 0.0
            for a in range(n_events):
                if (fixed >> a) & 1:
                    now += alone[a]
                    for b in range(a):
                        if (fixed >> b) & 1:
                            now += 2.0 * s[a, b]
            for h in range(high):
                change = alone[low + h]
                for b in range(n_events):
                    if (fixed >> b) & 1:
                        change += 2.0 * s[low + h, b]
                cross[h, thread] = change
            cuda.syncthreads()
            code = fixed
            for step in range(n_high):
                if step > 0:
                    h = 0
                    while (step >> h) & 1 == 0:
                        h += 1
                    code ^= int64(1) << (low + h)
                    if (code >> (low + h)) & 1:
                        now += cross[h, thread]
                    else:
                        now -= cross[h, thread]
                if (code ^ incumbent) & free == 0:
                    here = now + table[(code >> low) & (n_high - 1)]
                    if here < least:
                        next_least, least, chosen = least, here, code
                    elif here < next_least:
                        next_least = here
            cuda.syncthreads()
        best[thread], second[thread], found[thread] = least, next_least, chosen
        half = n_threads // 2
        while half > 0:
            cuda.syncthreads()
            if thread < half:
                other = best[thread + half]
                later = max(best[thread], other)
                second[thread] = min(later, second[thread], second[thread + half])
                if other < best[thread]:
                    best[thread], found[thread] = other, found[thread + half]
            half //= 2
        if thread == 0:
            mine, tol = 0.0, 0.0
            for a in range(n_events):
                if (incumbent >> a) & 1:
                    mine += alone[a]
                for b in range(n_events):
                    tol += TOLERANCE * s[a, b]
                    if b < a and (incumbent >> a) & (incumbent >> b) & 1:
                        mine += 2.0 * s[a, b]
            fall = mine - best[0]
            cost[item], ends[item] = mine + e[item], OPEN
            if fall <= (1.0 - HAIR) * tol:
                ends[item] = KEPT
            elif fall >= (1.0 + HAIR) * tol and second[0] > best[0] + (1.0 + HAIR) * tol:
                codes[item], cost[item] = uint64(found[0]), best[0] + e[item]
                ends[item] = FOUND

    return search
