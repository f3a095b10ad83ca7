"""The paper's formulas in plain NumPy, no tricks: every kernel is tested against these.

Notation as in the paper: theta (users x D), psi (items x D), observed triples (u, i, p) with a
weight w each.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, logit, ndtr

Floats = NDArray[np.float64]


def cost(theta: Floats, psi: Floats, u: NDArray, i: NDArray, p: Floats, w: Floats) -> float:
    """(Q): the weighted squared error over the observed entries."""
    total = 0.0
    for k in range(len(p)):
        total += w[k] * (theta[u[k]] @ psi[i[k]] - p[k]) ** 2
    return total


def sums(factors: Floats, index: NDArray, p: Floats, w: Floats) -> tuple[Floats, Floats, float]:
    """(e.1) and (e.2) over the observed entries of one user or item: matrix, vector, constant."""
    D = factors.shape[1]
    G, h, e = np.zeros((D, D)), np.zeros(D), 0.0
    for k in range(len(p)):
        f = factors[index[k]]
        G += w[k] * np.outer(f, f)
        h += w[k] * p[k] * f
        e += w[k] * p[k] ** 2
    return G, h, e


def compression_cost(
    T: Floats,
    theta: Floats,
    psi: Floats,
    of_user: Floats,
    of_item: Floats,
    clear: float,
    kept: float = 0.0,
    before: Floats | None = None,
) -> float:
    """All cells of a table, weighted by user and item; a PMF costs less by its sum of squares.

    Each bit that is not as before costs ``kept``.
    """
    total = 0.0 if before is None else kept * float(of_item @ (psi != before).sum(axis=1))
    for u in range(len(T)):
        for i in range(T.shape[1]):
            total += of_user[u] * of_item[i] * (T[u, i] - theta[u] @ psi[i]) ** 2
        total -= clear * of_user[u] * theta[u] @ theta[u]
    return total


def all_codes(D: int) -> Floats:
    """Every binary vector of length D, in numerical order (bit d has value 2^d)."""
    return np.array([[(c >> d) & 1 for d in range(D)] for c in range(1 << D)], dtype=float)


def g(S: Floats, v: Floats, psi: Floats) -> float:
    """(Q2)'s objective."""
    return float(psi @ S @ psi - 2 * psi @ v)


def exhaustive(S: Floats, v: Floats) -> tuple[float, Floats]:
    """(Q2) by trying every psi."""
    best, arg = np.inf, np.zeros(len(v))
    for psi in all_codes(len(v)):
        value = g(S, v, psi)
        if value < best:
            best, arg = value, psi
    return best, arg


def f(Q: Floats, r: Floats, theta: Floats) -> float:
    """(Q1)'s objective."""
    return float(theta @ Q @ theta - 2 * theta @ r)


def simplex_minimum(Q: Floats, r: Floats) -> float:
    """(Q1) by trying every support: the stationary point of each face that lies inside it."""
    D = len(r)
    best = np.inf
    for size in range(1, D + 1):
        for support in itertools.combinations(range(D), size):
            face = np.array(support)
            system = np.zeros((size + 1, size + 1))
            system[:size, :size] = 2 * Q[np.ix_(face, face)]
            system[:size, size] = system[size, :size] = 1
            right = np.append(2 * r[face], 1.0)
            theta = np.zeros(D)
            theta[face] = np.linalg.lstsq(system, right, rcond=None)[0][:size]
            if theta.min() >= -1e-12 and abs(theta.sum() - 1) < 1e-9:
                best = min(best, f(Q, r, theta))
    return best


def box_minimum(S: Floats, v: Floats) -> float:
    """(Q2) over [0, 1]^D by trying every face: some coordinates at 0, some at 1, the rest free."""
    best = np.inf
    for face in itertools.product((0.0, 1.0, None), repeat=len(v)):
        free = np.array([end is None for end in face])
        psi = np.array([0.0 if end is None else end for end in face])
        if free.any():
            right = v[free] - S[np.ix_(free, ~free)] @ psi[~free]
            psi[free] = np.linalg.lstsq(S[np.ix_(free, free)], right, rcond=None)[0]
        if psi.min() >= -1e-12 and psi.max() <= 1 + 1e-12:
            best = min(best, g(S, v, psi))
    return best


def frank_wolfe(Q: Floats, r: Floats, theta: Floats, steps: int, rule: str) -> Floats:
    """The paper's Frank-Wolfe procedure, with the chosen step."""
    for k in range(1, steps + 1):
        gradient = 2 * (Q @ theta - r)
        vertex = np.eye(len(r))[np.argmin(gradient)]
        if rule == "paper":
            alpha = k / (k + 1)
        elif rule == "jaggi":
            alpha = 2 / (k + 2)
        else:
            d = vertex - theta
            curvature = d @ Q @ d
            alpha = 1.0 if curvature <= 0 else min(1.0, -(gradient @ d) / (2 * curvature))
        theta = (1 - alpha) * theta + alpha * vertex
    return theta


def relaxation_matrix(S: Floats, v: Floats) -> Floats:
    """The paper's S~ of the lifted problem."""
    D = len(v)
    t = v - S @ np.ones(D) / 2
    C = np.zeros((D + 1, D + 1))
    C[:D, :D] = S / 4
    C[:D, D] = C[D, :D] = -t / 2
    return C


def indicator_step(
    theta: Floats, n_items: int, u: NDArray, i: NDArray, p: Floats, w: Floats, mu: float
) -> Floats:
    """(Q2) for every item, by trying every psi."""
    psi = np.zeros((n_items, theta.shape[1]))
    for item in range(n_items):
        mine = i == item
        S, v, _ = sums(theta, u[mine], p[mine], w[mine])
        psi[item] = exhaustive(S, v - mu / 2)[1]
    return psi


def adjacency(psi: NDArray) -> NDArray:
    """A[i, j]: whether the support of psi_j lies inside that of psi_i."""
    n = len(psi)
    A = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            A[i, j] = all(psi[i, d] for d in range(psi.shape[1]) if psi[j, d])
    return A


def influence(A: NDArray) -> Floats:
    """beta_i: the part of the items whose supports lie inside that of i, but for i itself."""
    n = len(A)
    return np.array([sum(A[i, j] for j in range(n) if j != i) / n for i in range(n)])


def hasse(A: NDArray) -> list[tuple[int, int]]:
    """The pairs (lower, upper) of distinct sets, one inside the other, with no third in between."""
    n = len(A)
    strict = [(j, i) for j in range(n) for i in range(n) if i != j and A[i, j]]
    return [
        (j, i)
        for j, i in strict
        if not any(A[k, j] and A[i, k] for k in range(n) if k not in (i, j))
    ]


def lloyd(p: Floats, labels: NDArray, D: int, iterations: int) -> tuple[NDArray, Floats]:
    """K-means of the columns of a table over what is not NaN: labels and centres, users x D."""
    n_users, n_items = p.shape
    centres = np.empty((n_users, D))
    for step in range(iterations + 1):
        if step:
            for i in range(n_items):
                costs = [np.nansum((p[:, i] - centres[:, d]) ** 2) for d in range(D)]
                if min(costs) < costs[labels[i]]:
                    labels[i] = int(np.argmin(costs))
        for u in range(n_users):
            for d in range(D):
                mine = p[u, (labels == d) & ~np.isnan(p[u])]
                centres[u, d] = mine.mean() if mine.size else np.nanmean(p[u])
    return labels, centres


def hull_vertices(table: Floats) -> set[tuple[int, ...]]:
    """The vertices of the cube in the affine hull of the rows, by trying every one of them."""
    n_items = table.shape[1]
    system = np.vstack([table.T, np.ones(len(table))])
    found = set()
    for vertex in itertools.product((0, 1), repeat=n_items):
        right = np.append(vertex, 1.0)
        mix = np.linalg.lstsq(system, right, rcond=1e-5)[0]
        if np.abs(system @ mix - right).max() < 1e-4:
            found.add(vertex)
    return found


def chance_of_like(p: Floats, stars: Floats, spread: Floats, like: float) -> Floats:
    """P[the value is a like], users x items: all in the unit from 0 to 1; NaN is not rated."""
    seen = stars[~np.isnan(stars)]
    if set(seen) <= {0.0, 1.0}:
        chance = p
    else:
        below = seen[seen < like]
        cut = (like + (below.max() if below.size else like)) / 2
        chance = ndtr((p - cut) / np.maximum(spread, 5e-3)[:, None])
    return np.clip(chance, 5e-3, 1 - 5e-3)


def offsets(chance: Floats, stars: Floats, like: float) -> Floats:
    """What the likes of each item say beyond the model, in log-odds."""
    rated = ~np.isnan(stars)
    liked = np.where(rated, stars, -1) >= like
    n = rated.sum(axis=0)
    mean = np.where(n > 0, np.where(rated, chance, 0).sum(axis=0) / np.maximum(n, 1), 0.5)
    mean = np.clip(mean, 1e-3, 1 - 1e-3)
    share = (liked.sum() + 1) / (n.sum() + 2)
    shift = logit(share) - logit(np.clip(chance[rated].mean(), 1e-3, 1 - 1e-3))
    expected = expit(logit(mean) + shift)
    return np.asarray(logit((liked.sum(axis=0) + 50 * expected) / (n + 50)) - logit(mean))


def next_user(chance: Floats, stars: Floats, like: float, offset: Floats, i: int, j: int) -> Floats:
    """Dirichlet's parameters of (both, only i, only j, neither), for the next user."""
    rated = ~np.isnan(stars)
    people = rated.any(axis=1)
    both = rated[:, i] & rated[:, j]
    a, b = chance[both, i], chance[both, j]
    large_a, large_b = chance[people, i], chance[people, j]
    n = both.sum() + 20
    q = ((a * b).sum() + 20 * (large_a * large_b).mean()) / n
    p_i, p_j = (a.sum() + 20 * large_a.mean()) / n, (b.sum() + 20 * large_b.mean()) / n
    odds = q * (1 - p_i - p_j + q) / ((p_i - q) * (p_j - q))
    p_i, p_j = expit(logit(p_i) + offset[i]), expit(logit(p_j) + offset[j])
    # the joint chance with these margins and this odds ratio, by bisection
    low, high = max(0.0, p_i + p_j - 1), min(p_i, p_j)
    for _ in range(200):
        q = (low + high) / 2
        low, high = (
            (q, high) if q * (1 - p_i - p_j + q) < odds * (p_i - q) * (p_j - q) else (low, q)
        )
    x, y = stars[both, i] >= like, stars[both, j] >= like
    worth = min(1.0, people.sum() / 400)
    expected = np.array([q, p_i - q, p_j - q, 1 - p_i - p_j + q])
    counts = np.array([(x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum()])
    return with_counts(expected, counts, worth)


def with_counts(expected: Floats, counts: Floats, worth: float) -> Floats:
    """Dirichlet's parameters: an expected table, worth as many users as the counts make it."""
    strengths = worth * np.array([80.0, 240.0, 720.0])
    likely = np.array([dirichlet_multinomial(counts, m * expected) for m in strengths])
    weights = likely / likely.sum()
    counted = weights @ (1 / (strengths + counts.sum()))
    return np.asarray((1 - worth) / 2 + (1 / counted - counts.sum()) * expected + counts)


def of_several(
    chance: Floats,
    stars: Floats,
    like: float,
    offset: Floats,
    conditions: list[tuple[int, bool]],
    then: int,
    dropped: int | None = None,
) -> Floats:
    """Dirichlet's parameters of (all conditions, then), or of one, among who meet the rest."""
    rated = ~np.isnan(stars)
    items = [item for item, _ in conditions] + [then]
    people, every = rated.any(axis=1), rated[:, items].all(axis=1)
    likely = expit(logit(chance) + offset)
    rows = [(likely[u], 1.0) for u in np.flatnonzero(every)]
    rows += [(likely[u], 20 / people.sum()) for u in np.flatnonzero(people)]

    def table(values: list[tuple[Floats, float]]) -> Floats:
        cells = np.zeros(4)
        for p, weight in values:
            met = [p[item] if liked else 1 - p[item] for item, liked in conditions]
            one = np.prod(met) if dropped is None else met[dropped]
            rest = (
                1.0 if dropped is None else np.prod([m for k, m in enumerate(met) if k != dropped])
            )
            z = p[then]
            cells += (
                weight
                * rest
                * np.array([one * z, one * (1 - z), (1 - one) * z, (1 - one) * (1 - z)])
            )
        return cells

    expected = table(rows)
    share = expected.sum() / sum(weight for _, weight in rows)
    counts = table([((stars[u] >= like).astype(float), 1.0) for u in np.flatnonzero(every)])
    return with_counts(expected / expected.sum(), counts, share * min(1.0, people.sum() / 400))


def dirichlet_multinomial(counts: Floats, alpha: Floats) -> float:
    """P[counts in this order], by drawing one after another: each adds one to its cell."""
    chance, alpha = 1.0, alpha.copy()
    for cell, n in enumerate(counts.astype(int).tolist()):
        for _ in range(n):
            chance *= alpha[cell] / alpha.sum()
            alpha[cell] += 1
    return float(chance)


def agreement(p: Floats, stars: Floats, i: int, j: int) -> tuple[float, float]:
    """P[i gets at most the stars of j] under normal laws, and what the means alone say of it."""
    rated = ~np.isnan(stars)
    both, worth = rated[:, i] & rated[:, j], min(1.0, rated.any(axis=1).sum() / 400)
    n = both.sum()

    def shrunk(found: float, expected: float, users: float) -> float:
        return float((n * found + worth * users * expected) / (n + worth * users))

    every = [stars[rated[:, k], k] for k in range(stars.shape[1])]
    noise = sum(((x - x.mean()) ** 2).sum() for x in every if len(x)) / rated.sum()
    of_item = [
        (((x - x.mean()) ** 2).sum() + 50 * noise) / (len(x) + 50) for x in (every[i], every[j])
    ]
    x, y, a, b = stars[both, i], stars[both, j], p[both, i], p[both, j]
    covariance = shrunk(np.cov(x, y, ddof=0)[0, 1], np.cov(a, b, ddof=0)[0, 1], 50)
    difference = shrunk((y - x).mean(), (b - a).mean(), 20)
    one, other = shrunk(x.var(), of_item[0], 20), shrunk(y.var(), of_item[1], 20)
    covariance = min(covariance, 0.95 * np.sqrt(one * other))
    alone = ndtr(difference / np.sqrt(max(one + other, 1e-12)))
    found = ndtr(difference / np.sqrt(max(one + other - 2 * covariance, 1e-12)))
    return float(found), float(found - alone)


def tilted(inclined: Floats, centres: Floats, towards: Floats) -> Floats:
    """The centres of users who are inclined by so much each; they sum to one."""
    leaning = centres * np.exp(np.outer(inclined, towards))
    return np.asarray(leaning / leaning.sum(axis=1, keepdims=True))


def log_dirichlet(x: Floats, counts: Floats) -> float:
    """The log of Dirichlet's density at a PMF."""
    return float(gammaln(counts.sum()) - gammaln(counts).sum() + (counts - 1) @ np.log(x))


def log_law_of_inclined_user(
    x: float,
    pmf: Floats,
    centre: Floats,
    towards: Floats,
    concentration: float,
    variance: float,
    least: float,
) -> float:
    """Up to a constant: the PMF has Dirichlet's law around the tilted centre, x a normal one."""
    counts = np.maximum(concentration * tilted(np.array([x]), centre[None], towards)[0], least)
    return log_dirichlet(pmf, counts) - x**2 / (2 * variance)


def log_law_of_inclined_item(x: float, psi: Floats, log_odds: Floats, variance: float) -> float:
    """Up to a constant: x is added to the log-odds of all bits, and has a normal law."""
    p = expit(log_odds + x)
    return float(np.log(np.where(psi == 1, p, 1 - p)).sum() - x**2 / (2 * variance))


def law_of_theta(
    Q: Floats, r: Floats, e: float, A: Floats, b: Floats, tau: float, doubt: Floats, square: Floats
) -> tuple[Floats, Floats, float, float]:
    """Mean and covariance, the expected squared error of the ratings, the variance of chances."""
    Q = Q + np.diag(doubt)
    M = tau * Q + A
    V = np.asarray(np.linalg.inv(M), dtype=np.float64)
    mean = np.asarray(np.linalg.solve(M, tau * r + b), dtype=np.float64)  # more digits than by V
    error = e - 2 * r @ mean + mean @ Q @ mean + np.trace(Q @ V)
    return mean, V, float(error), float(np.trace(square @ V))
