"""The pmf step on the device: a thread forms a user's quadratic and solves it by pairwise steps.

A thread keeps the upper triangle of Q in shared memory, where it finds any row of it. Threads of a
block differ in the last index, so none waits for another's bank. Where entries have no weights, Q
counts: the codes of 32 entries, turned into a word for each event, give each Q_ab by one ``popc``.
Other users, and those with very many entries, come with their sums from ``gram``.

The steps are those of ``eventspace.pmf.pairwise``, in the same order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba import float32, float64, int32, uint32, uint64

from eventspace.engines.cuda.device import cuda
from eventspace.engines.cuda.gram import (
    ONE,
    columns_for,
    place_of,
    place_of_linear,
    sums_for,
)

SHARED_BYTES = 48 << 10  # of a block, at most
MOST_THREADS = 64
WORD = 32  # entries whose bits of one event fill a word
FAR = float("inf")


def threads_for(n_events: int, counts: bool) -> int:
    """How many threads a block has, so that its quadratics fit into shared memory."""
    each = n_events * (n_events + 1) // 2 * (4 if counts else 8) + n_events * 8
    n_threads = MOST_THREADS
    while n_threads * each > SHARED_BYTES:
        n_threads //= 2
    return n_threads


@cuda.jit(device=True)
def pair(a: int, b: int) -> int:
    """Where Q_ab stands in the upper triangle."""
    return b * (b + 1) // 2 + a if a <= b else a * (a + 1) // 2 + b


@cache
def make_count(n_events: int) -> Any:
    """The function of the device that counts Q and adds up r, from entries without weights."""
    n_pairs = n_events * (n_events + 1) // 2

    @cuda.jit(device=True)
    def count(
        start: int, stop: int, index: Any, value: Any, codes: Any, Q: Any, r: Any, me: int
    ) -> float:
        """Fill column ``me`` of Q, and r; give e."""
        words = cuda.local.array(n_events, uint32)
        energy = 0.0
        for k in range(n_pairs):
            Q[k, me] = 0.0
        for a in range(n_events):
            r[a] = 0.0
        for first in range(start, stop, WORD):
            for a in range(n_events):
                words[a] = uint32(0)
            for t in range(min(WORD, stop - first)):
                code, p = uint32(codes[index[first + t]]), float64(value[first + t])
                energy += p * p
                for a in range(n_events):
                    bit = (code >> uint32(a)) & uint32(1)
                    words[a] |= bit << uint32(t)
                    if bit:
                        r[a] += p
            k = 0
            for b in range(n_events):
                for a in range(b + 1):
                    Q[k, me] += float32(cuda.popc(words[a] & words[b]))
                    k += 1
        return energy

    return count


@cache
def make_collect(n_events: int) -> Any:
    """The function of the device that takes Q, r and e from the sums of a row's segments."""
    last = sums_for(n_events) - 1

    @cuda.jit(device=True)
    def collect(first: int, stop: int, sums: Any, Q: Any, r: Any, me: int) -> float:
        """Fill column ``me`` of Q, and r; give e."""
        energy = 0.0
        for b in range(n_events):
            total = 0.0
            for segment in range(first, stop):
                total += sums[segment, place_of_linear(b)]
            r[b] = total
            for a in range(b + 1):
                total = 0.0
                for segment in range(first, stop):
                    total += sums[segment, place_of(a, b)]
                Q[pair(a, b), me] = total
        for segment in range(first, stop):
            energy += sums[segment, last]
        return energy

    return collect


@cache
def make_settle(n_events: int) -> Any:
    """The function of the device that solves one user's quadratic, and writes what comes out."""
    n_columns = columns_for(n_events)

    @cuda.jit(device=True)
    def settle(
        Q: Any,
        r: Any,
        theta: Any,
        me: int,
        centre: Any,
        penalty: float,
        tol: float,
        max_steps: int,
    ) -> float:
        """Minimise ``theta'Q theta - 2 r'theta + penalty |theta - centre|^2``; give the gap."""
        slope = cuda.local.array(n_events, float64)
        held, largest = uint32(0), -FAR
        for a in range(n_events):
            slope[a] = -(r[a] + penalty * centre[a])
            largest = max(largest, float64(Q[pair(a, a), me]) + penalty)
            if theta[a, me] > 0.0:
                held |= uint32(1) << uint32(a)
        for b in range(n_events):
            mass = theta[b, me]
            for a in range(n_events):
                h = float64(Q[pair(a, b), me])
                if a == b:
                    h += penalty
                slope[a] += h * mass
        enough = 0.5 * tol * max(largest, 0.0)
        for _ in range(max_steps):
            best, worst, least, greatest = 0, 0, FAR, -FAR
            for a in range(n_events):
                here = slope[a]
                if here < least:
                    best, least = a, here
                if (held >> uint32(a)) & uint32(1) and here > greatest:
                    worst, greatest = a, here
            fall = greatest - least
            if fall <= enough:
                break
            curvature = float64(Q[pair(best, best), me]) + float64(Q[pair(worst, worst), me])
            curvature += 2.0 * (penalty - float64(Q[pair(best, worst), me]))
            step = theta[worst, me]
            if curvature * step > fall:
                step = min(fall / curvature, step)
                theta[worst, me] -= step
            else:
                theta[worst, me] = 0.0
                held &= ~(uint32(1) << uint32(worst))
            theta[best, me] += step
            held |= uint32(1) << uint32(best)
            for a in range(n_events):
                change = float64(Q[pair(a, best), me] - Q[pair(a, worst), me])
                if a == best:
                    change += penalty
                if a == worst:
                    change -= penalty
                slope[a] += step * change
        gap, least = 0.0, slope[0]
        for a in range(n_events):
            least = min(least, slope[a])
        for a in range(n_events):
            gap += (slope[a] - least) * theta[a, me]
        return 2.0 * gap

    @cuda.jit(device=True)
    def squared_error(Q: Any, r: Any, energy: float, theta: Any, me: int) -> float:
        """As ``squared_error_of`` in ``eventspace.pmf.quadratic``."""
        error = energy
        for a in range(n_events):
            if theta[a, me] > 0.0:
                half = 0.5 * float64(Q[pair(a, a), me]) * theta[a, me] - r[a]
                for b in range(a):
                    half += float64(Q[pair(b, a), me]) * theta[b, me]
                error += 2.0 * theta[a, me] * half
        return max(error, 0.0)

    @cuda.jit(device=True)
    def solve(
        user: int,
        energy: float,
        Q: Any,
        r: Any,
        theta: Any,
        me: int,
        centre: Any,
        numbers: Any,
        pmf: Any,
        new: Any,
        fixed: Any,
        ends: Any,
    ) -> None:
        """Solve from ``pmf[user]``: ``new`` and ``fixed`` get the PMF, ``ends`` error and gap."""
        penalty, tol, max_steps = numbers[0], numbers[1], int32(numbers[2])
        for a in range(n_events):
            theta[a, me] = pmf[user, a]
        ends[user, 1] = settle(Q, r, theta, me, centre, penalty, tol, max_steps)
        ends[user, 0] = squared_error(Q, r, energy, theta, me)
        for a in range(n_events):
            new[user, a] = theta[a, me]
        for k in range(n_columns // 2):
            low = uint64(theta[2 * k, me] * ONE + 0.5) if 2 * k < n_events else uint64(0)
            high = uint64(theta[2 * k + 1, me] * ONE + 0.5) if 2 * k + 1 < n_events else uint64(0)
            fixed[user, k] = low | (high << uint64(32))

    return solve


@cache
def make_solve_counted(n_events: int) -> Any:
    """The kernel for users whose entries have no weights: sums and solve in one."""
    n_threads, n_pairs = threads_for(n_events, True), n_events * (n_events + 1) // 2
    count, solve = make_count(n_events), make_settle(n_events)

    @cuda.jit
    def solve_counted(
        users: Any,
        ptr: Any,
        offset: int,
        index: Any,
        value: Any,
        codes: Any,
        centre: Any,
        numbers: Any,
        pmf: Any,
        new: Any,
        fixed: Any,
        ends: Any,
    ) -> None:
        """Solve for ``users``; entries lie ``offset`` before where ``ptr`` says."""
        Q = cuda.shared.array((n_pairs, n_threads), float32)
        theta = cuda.shared.array((n_events, n_threads), float64)
        r = cuda.local.array(n_events, float64)
        k, me = cuda.grid(1), cuda.threadIdx.x
        if k < users.size:
            user = users[k]
            start, stop = ptr[user] - offset, ptr[user + 1] - offset
            energy = count(start, stop, index, value, codes, Q, r, me)
            solve(user, energy, Q, r, theta, me, centre, numbers, pmf, new, fixed, ends)

    return solve_counted


@cache
def make_solve_summed(n_events: int) -> Any:
    """The kernel for users whose sums ``gram`` has formed."""
    n_threads, n_pairs = threads_for(n_events, False), n_events * (n_events + 1) // 2
    collect, solve = make_collect(n_events), make_settle(n_events)

    @cuda.jit
    def solve_summed(
        users: Any,
        first: Any,
        sums: Any,
        centre: Any,
        numbers: Any,
        pmf: Any,
        new: Any,
        fixed: Any,
        ends: Any,
    ) -> None:
        """Solve for ``users``; the k-th has the segments ``first[k]:first[k + 1]``."""
        Q = cuda.shared.array((n_pairs, n_threads), float64)
        theta = cuda.shared.array((n_events, n_threads), float64)
        r = cuda.local.array(n_events, float64)
        k, me = cuda.grid(1), cuda.threadIdx.x
        if k < users.size:
            energy = collect(first[k] - first[0], first[k + 1] - first[0], sums, Q, r, me)
            solve(users[k], energy, Q, r, theta, me, centre, numbers, pmf, new, fixed, ends)

    return solve_summed
