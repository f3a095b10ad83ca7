// Someone new: the distribution that a few ratings ask for, by the steps that Python's transform takes.

/** The quadratic x'Hx - 2r'x of ratings by item: of each its square, and what is expected of a user. */
function quadraticOf(ratings) {
  const { G, h: expected, more } = data.newcomer;
  const n = space.nEvents;
  const [H, r] = [Array.from({ length: n }, () => new Float64Array(n)), new Float64Array(n)];
  for (const [item, value] of ratings) {
    const p = Math.fround(Math.min(1, Math.max(0, (value - scaleLow) / (scaleHigh - scaleLow)))); // as it is stored
    const events = space.mass.map((_, d) => d).filter((d) => comesTrue(item, d));
    for (const a of events) {
      r[a] += p;
      for (const b of events) H[a][b] += more;
    }
  }
  for (let a = 0; a < n; a += 1) {
    r[a] += expected[a];
    for (let b = 0; b < n; b += 1) H[a][b] += G[a][b];
  }
  return { H, r };
}

/** The event to give mass to, that with the least slope; and to take it from, that with the most that has some. */
function bestAndWorst(slope, pmf) {
  let [best, worst] = [0, -1];
  slope.forEach((s, a) => {
    if (s < slope[best]) best = a;
    if (pmf[a] > 0 && (worst < 0 || s > slope[worst])) worst = a;
  });
  return [best, worst];
}

/** Minimise x'Hx - 2r'x over PMFs: pairwise steps with exact line search, until the duality gap is small. */
function pairwise({ H, r }, start, tol, most) {
  const pmf = Float64Array.from(start);
  const slope = Float64Array.from(H, (row, a) => row.reduce((s, w, b) => s + w * pmf[b], -r[a]));
  const enough = 0.5 * tol * Math.max(0, ...H.map((row, a) => row[a]));
  for (let step = 0; step < most; step += 1) {
    const [best, worst] = bestAndWorst(slope, pmf);
    const fall = slope[worst] - slope[best];
    if (fall <= enough) break;
    const curvature = H[best][best] + H[worst][worst] - 2 * H[best][worst];
    const all = curvature * pmf[worst] <= fall;
    const moved = all ? pmf[worst] : fall / curvature;
    pmf[worst] = all ? 0 : pmf[worst] - moved;
    pmf[best] += moved;
    for (let a = 0; a < slope.length; a += 1) slope[a] += moved * (H[a][best] - H[a][worst]);
  }
  return Array.from(pmf);
}

/** The PMF of who gives these ratings; without any, the population's. */
function newPmf(ratings) {
  const { start, tol, steps } = data.newcomer;
  return ratings.size ? pairwise(quadraticOf(ratings), start, tol, steps) : start;
}
