// How well the model fits: the descent, what was proved, predictions against observations.

function fitView(main) {
  const { fit } = data;
  const parts = Object.entries(fit.parts);
  const proved = fit.rated ? fit.proved / fit.rated : 0;
  const error = ([label, part]) => [
    `RMSE, ${label}`,
    ownUnit ? `${part.rmse.toFixed(4)}, or ${part.rmse_in_unit.toFixed(3)} in the table's unit` : part.rmse.toFixed(4),
  ];
  const facts = [
    ...parts.map(error),
    ["Items proved optimal in the last step", [`${integer(fit.proved)} of ${integer(fit.rated)} (${percent(proved)})`, bar(proved)]],
    ["Indicator solver", fit.guarantee],
    ["Duality gap of PMFs", fit.gap === null ? "unknown" : `at most ${short(fit.gap, 2)}`],
    ["Descent", `${plural(fit.history.length, "iteration")}${fit.converged ? ", converged" : ""}${fit.interrupted ? ", interrupted" : ""}`],
    ...(fit.loss === null ? [] : [["Compressed", `predictions ${fit.loss.toFixed(4)} (RMS) from those of the average`]]),
  ];
  const sampled = parts.filter(([, part]) => part.used < part.entries);
  main.append(
    heading("Fit"),
    h("p", { class: "lead" }, parts.length > 1
      ? "Held-out data tell how well the model predicts; on the training data it always looks better."
      : "All of this is on the training data, where a model always looks better than it predicts: report(path, held_out) adds held-out data."),
    h("dl", { class: "facts" }, facts.map(([term, text]) => h("div", null, h("dt", null, term), h("dd", null, text)))),
    sampled.length ? h("p", { class: "quiet" }, sampled.map(([label, part]) => `Of ${integer(part.entries)} entries of the ${label}, ${integer(part.used)} drawn at random are used here. `)) : "",
    h("div", { class: "columns charts" },
      fit.history.length > 1
        ? lineChart({ title: "Descent", description: "The cost after each iteration: it never rises.", values: fit.history, xLabel: "iteration", yLabel: "cost" })
        : "",
      calibrationChart(parts), parts.map(([label, part]) => cellsChart(label, part))),
    h("details", { class: "card" }, h("summary", null, "Parameters"),
      h("table", { class: "parameters" }, h("caption", { class: "unseen" }, "Parameters"),
        h("thead", { class: "unseen" }, h("tr", null, h("th", { scope: "col" }, "parameter"), h("th", { scope: "col" }, "value"))),
        h("tbody", null, Object.entries(fit.parameters).map(([key, text]) => h("tr", null, h("th", { scope: "row" }, key), h("td", null, text)))))),
  );
  return "Fit";
}
