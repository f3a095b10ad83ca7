// Pictures of a few numbers in SVG; each comes with the numbers as a table, or says which table has them.

const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [460, 300, 68, 24, 14, 46];

/** Axes of a chart: from data to the picture, and the lines and words along both sides. */
function axes({ x, y, xLabel, yLabel, xTicks, yTicks, xFormat = short, yFormat = short }) {
  const along = ([low, high], from, to) => (v) => from + ((v - low) / (high - low || 1)) * (to - from);
  const [px, py] = [along(x, LEFT, WIDE - RIGHT), along(y, HIGH - BOTTOM, TOP)];
  const grid = [
    ...yTicks.map((t) => svg("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: py(t), y2: py(t) })),
    ...yTicks.map((t) => svg("text", { x: LEFT - 8, y: py(t) + 4, "text-anchor": "end" }, yFormat(t))),
    ...xTicks.map((t) => svg("text", { x: px(t), y: HIGH - BOTTOM + 18, "text-anchor": "middle" }, xFormat(t))),
    svg("text", { class: "axis", x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 8, "text-anchor": "middle" }, xLabel),
    svg("text", { class: "axis", x: 14, y: (TOP + HIGH - BOTTOM) / 2, "text-anchor": "middle",
      transform: `rotate(-90 14 ${(TOP + HIGH - BOTTOM) / 2})` }, yLabel),
  ];
  return { px, py, grid };
}

const line = (points, className) =>
  svg("polyline", { class: className, points: points.map((p) => p.join(",")).join(" ") });

/** A handful of round numbers from low to high. */
function ticks(low, high, most = 5) {
  const rough = (high - low || 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

function chart(title, description, content, tables) {
  return h(
    "figure",
    { class: "card" },
    h("figcaption", null, h("h3", null, title), h("p", { class: "quiet" }, description)),
    svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${title}. ${description}` }, content),
    tables.length ? h("details", null, h("summary", null, "The numbers"), tables) : null,
  );
}

function lineChart({ title, description, values, xLabel, yLabel }) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = (high - low || Math.abs(high) || 1) * 0.08;
  const y = [low - margin, high + margin];
  const n = values.length;
  const { px, py, grid } = axes({
    x: [1, Math.max(2, n)], y, xLabel, yLabel,
    xTicks: ticks(1, Math.max(2, n)).filter(Number.isInteger), yTicks: ticks(...y),
    yFormat: (v) => short(v, 5),
  });
  const points = values.map((v, k) => [px(k + 1), py(v)]);
  const table = dataTable({
    caption: title, rows: values.map((_, k) => k), page: 50,
    columns: [
      { label: xLabel, value: (k) => k + 1 },
      { label: yLabel, value: (k) => values[k], cell: (k) => short(values[k], 7) },
    ],
  });
  const dots = points.map(([cx, cy]) => svg("circle", { class: "dot", cx, cy, r: 3 }));
  return chart(title, description, [...grid, line(points, "curve"), ...dots], [table.element]);
}

/** How often predictions came true; on the diagonal, as often as predicted. */
function calibrationChart(parts) {
  const unit = { x: [0, 1], y: [0, 1], xTicks: ticks(0, 1), yTicks: ticks(0, 1) };
  const { px, py, grid } = axes({ ...unit, xLabel: "predicted", yLabel: "observed mean" });
  const content = [...grid, line([[px(0), py(0)], [px(1), py(1)]], "diagonal")];
  const tables = parts.map(([label, part], k) => {
    const points = part.prediction.map((p, j) => [px(p), py(part.truth[j])]);
    const dot = ([cx, cy]) =>
      k
        ? svg("rect", { class: "dot second", x: cx - 4, y: cy - 4, width: 8, height: 8 })
        : svg("circle", { class: "dot", cx, cy, r: 4 });
    const place = { x: WIDE - RIGHT - 12, y: HIGH - BOTTOM - 14 - 18 * k, "text-anchor": "end" };
    content.push(line(points, k ? "curve second" : "curve"), ...points.map(dot));
    content.push(svg("text", { class: k ? "key second" : "key", ...place }, `${k ? "■" : "●"} ${label}`));
    return dataTable({
      caption: `Calibration, ${label}`, rows: part.prediction.map((_, j) => j),
      columns: [
        { label: "predicted", value: (j) => part.prediction[j] },
        { label: "observed", value: (j) => part.truth[j] },
        { label: "entries", value: (j) => part.count[j] },
      ],
    }).element;
  });
  const text = "Entries in ten parts of equal size, by what was predicted. On the dotted line a prediction comes " +
    "true as often as it says.";
  return chart("Calibration", text, content, tables);
}

/** For the entries with each observed value, the share of each predicted value. */
function cellsChart(label, part) {
  const n = part.cells[0].length;
  const rows = part.observed.length;
  const unit = (p) => (ownUnit ? inUnit(p) : short(p));
  const every = Math.ceil(rows / 11);
  const { px, py, grid } = axes({
    x: [0, 1], y: [-0.5, rows - 0.5], xLabel: "predicted", yLabel: "observed",
    xTicks: ticks(0, 1), yTicks: part.observed.map((_, k) => k).filter((k) => k % every === 0),
    xFormat: unit, yFormat: (k) => unit(part.observed[k]),
  });
  const rects = part.cells.flatMap((counts, k) => {
    const total = sum(counts);
    const words = (count, j) =>
      `observed ${unit(part.observed[k])}, predicted ${unit((j + 0.5) / n)}: ${integer(count)} of ${integer(total)}`;
    return counts.map((count, j) => {
      if (!count) return null;
      const cell = { x: px(j / n), y: py(k + 0.5), width: px(1 / n) - px(0) - 1, height: py(0) - py(1) - 1 };
      const opacity = 0.08 + 0.92 * Math.min(1, (count / total) * 4);
      const look = { class: "cell", ...cell, "fill-opacity": opacity.toFixed(3) };
      return svg("rect", look, svg("title", null, words(count, j)));
    });
  });
  const mean = (k) => {
    const counts = part.cells[k];
    return sum(counts.map((count, j) => count * (j + 0.5))) / n / Math.max(1, sum(counts));
  };
  const means = part.cells.map((_, k) => svg("circle", { class: "dot second", cx: px(mean(k)), cy: py(k), r: 4 }));
  const table = dataTable({
    caption: `Predicted and observed, ${label}`, rows: part.observed.map((_, k) => k),
    columns: [
      { label: "observed", value: (k) => part.observed[k], cell: (k) => unit(part.observed[k]) },
      { label: "entries", value: (k) => sum(part.cells[k]) },
      { label: "mean predicted", value: mean, cell: (k) => unit(mean(k)) },
    ],
  });
  const text = "Each row: the entries with that observed value; the darker, the more of them were predicted so. " +
    "The dot is their mean.";
  return chart(`Predicted against observed, ${label}`, text, [grid, rects, means], [table.element]);
}
