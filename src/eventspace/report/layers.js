// Where the boxes of a Hasse diagram stand, and how its edges go around them (Sugiyama's layers).
// Nodes are classes, 0 and up, and bends, below 0: narrow places in the rows that an edge passes.

const [BOX_WIDE, BOX_HIGH, GAP, RISE] = [176, 54, 16, 46];
const LANE = 10; // the room of a bend
const STRAIGHT = 8; // how much more a bend is worth than a box: long edges are straight
const SWEEPS = 60; // after half of them the order of a row stays
const isBend = (node) => node < 0;
const roomOf = (node) => (isBend(node) ? LANE : BOX_WIDE + GAP);
const worthOf = (node) => (isBend(node) ? STRAIGHT : 1);

/** Rows of classes from the top, the larger sets above, none with more boxes than `most`. */
function rowsBySize(classes, edges, most) {
  const sizes = [...new Set(classes.map((c) => eventsOf(c).length))].sort((a, b) => b - a);
  const rows = sizes.map((size) => classes.filter((c) => eventsOf(c).length === size));
  placed(rows, edges); // in such an order that neighbours are near each other
  return broken(rows, sizes.map((size) => plural(size, "event")), most);
}

/** Rows with their labels, broken so that none has more boxes than `most`. */
function broken(rows, labels, most) {
  const parts = rows.map((row) => Math.ceil(row.length / most));
  return {
    // neighbours stay above each other
    rows: rows.flatMap((row, r) =>
      Array.from({ length: parts[r] }, (_, k) => row.filter((_, j) => j % parts[r] === k))),
    labels: rows.flatMap((_, r) => Array.from({ length: parts[r] }, (_, k) => (k ? "" : labels[r]))),
  };
}

/**
 * Rows with the bends of the edges that pass them, and of each edge the way from lower to upper.
 * Edges that share an end share bends: a trunk has one end above or one below, so that nobody can
 * read out of it what is not there.
 */
function bent(rows, edges) {
  const [rowOf, degree, bends] = [new Map(), new Map(), new Map()];
  rows.forEach((row, r) => row.forEach((c) => rowOf.set(c, r)));
  for (const c of edges.flat()) degree.set(c, (degree.get(c) ?? 0) + 1);
  const full = rows.map((row) => row.slice());
  const bend = (trunk, r) => {
    const key = `${trunk} ${r}`;
    if (!bends.has(key)) {
      bends.set(key, -1 - bends.size);
      full[r].push(bends.get(key));
    }
    return bends.get(key);
  };
  const ways = edges.map(([lower, upper]) => {
    const trunk = degree.get(lower) > degree.get(upper) ? lower : upper;
    const way = [lower];
    for (let r = rowOf.get(lower) - 1; r > rowOf.get(upper); r -= 1) way.push(bend(trunk, r));
    return [...way, upper];
  });
  return { rows: full, ways };
}

/** What each node is linked to in the rows above and below, once each. */
function linked(rows, ways) {
  const [above, below] = [0, 1].map(() => new Map(rows.flat().map((node) => [node, new Set()])));
  for (const way of ways)
    way.slice(1).forEach((upper, k) => {
      above.get(way[k]).add(upper);
      below.get(upper).add(way[k]);
    });
  return [above, below];
}

/**
 * The middle of each node across, from 0; puts the rows in that order. Sweeps down and up first put
 * each row in the order of what lies on the side they come from, then move what stands in that order
 * towards both sides.
 */
function placed(rows, ways) {
  const [above, below] = linked(rows, ways);
  const widest = Math.max(0, ...rows.map((row) => sum(row.map(roomOf))));
  const x = new Map(rows.flat().map((node) => [node, widest / 2]));
  const mean = (near, otherwise) =>
    near.length ? sum(near.map((o) => worthOf(o) * x.get(o))) / sum(near.map(worthOf)) : otherwise;
  for (let sweep = -1; sweep < SWEEPS; sweep += 1) {
    const [down, ordered] = [sweep % 2 === 0, sweep >= SWEEPS / 2];
    for (const row of down ? rows : rows.slice().reverse()) {
      const near = (node) =>
        [...(ordered || down ? above.get(node) : []), ...(ordered || !down ? below.get(node) : [])];
      const wanted = new Map(row.map((node) => [node, mean(near(node), x.get(node))]));
      if (!ordered) row.sort((a, b) => wanted.get(a) - wanted.get(b));
      apart(row, wanted, widest).forEach((place, k) => x.set(row[k], place));
    }
  }
  return { x, width: widest };
}

/** Places in the row's order, each with its room, as near to those wanted as the width allows. */
function apart(row, wanted, widest) {
  let end = 0;
  const offset = row.map((node) => (end += roomOf(node)) - roomOf(node) / 2);
  const blocks = []; // of neighbours that touch: where they start, what they are worth, how many
  row.forEach((node, k) => {
    let block = { at: wanted.get(node) - offset[k], worth: worthOf(node), n: 1 };
    while (blocks.length && blocks.at(-1).at >= block.at) {
      const { at, worth, n } = blocks.pop();
      const both = worth + block.worth;
      block = { at: (at * worth + block.at * block.worth) / both, worth: both, n: n + block.n };
    }
    blocks.push(block);
  });
  const start = blocks.flatMap(({ at, n }) => Array(n).fill(Math.min(Math.max(at, 0), widest - end)));
  return offset.map((o, k) => o + start[k]);
}

/** Places of boxes and paths of edges; margin: for the words beside the rows. */
function layout({ rows, edges }, margin) {
  const { rows: full, ways } = bent(rows, edges);
  const { x, width } = placed(full, ways);
  const top = (r) => 20 + r * (BOX_HIGH + RISE);
  const places = new Map();
  full.forEach((row, r) =>
    row.forEach((node) => places.set(node, { x: margin + GAP / 2 + x.get(node), y: top(r) + BOX_HIGH / 2, r })));
  full.forEach((row) => row.filter((node) => !isBend(node)).forEach((c, k) => (places.get(c).k = k)));
  return {
    rows: full.map((row) => row.filter((node) => !isBend(node))), places,
    paths: ways.map((way) => pathOf(way.map((node) => places.get(node)))),
    width: margin + width + GAP, height: top(rows.length) - RISE + 20,
  };
}

/** Upright where a row's boxes are, swung from one row to the next. */
function pathOf(places) {
  const [first, ...others] = places;
  let [path, from] = [`M${first.x} ${first.y - BOX_HIGH / 2}`, first];
  for (const to of others) {
    const [start, end] = [from.y - BOX_HIGH / 2, to.y + BOX_HIGH / 2];
    path += `V${start}C${from.x} ${(start + end) / 2} ${to.x} ${(start + end) / 2} ${to.x} ${end}`;
    from = to;
  }
  return path;
}
