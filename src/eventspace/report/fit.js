// How well the model fits: the descent, what was proved, predictions against observations.

function fitFacts(fit, parts) {
  const proved = fit.rated ? fit.proved / fit.rated : 0;
  const error = ([label, { rmse, rmse_in_unit: own }]) =>
    [`RMSE, ${label}`, `${rmse.toFixed(4)}${ownUnit ? `, or ${own.toFixed(3)} in the table's unit` : ""}`];
  const end = `${fit.converged ? ", converged" : ""}${fit.interrupted ? ", interrupted" : ""}`;
  const learnt = fit.loss === null
    ? [
      ["Indicator solver", fit.guarantee],
      ["Duality gap of PMFs", fit.gap === null ? "unknown" : `at most ${short(fit.gap, 2)}`],
      ["Descent", `${plural(fit.history.length, "iteration")}${end}`]]
    : [
      ["RMSE expected on new ratings", fit.expected.toFixed(4)],
      ["Compressed", `predictions ${fit.loss.toFixed(4)} (RMS) from those of the average`],
      ["Events for a user, in effect", fit.effective.toFixed(1)],
      ["Between halves of the chains", fit.same_bits === null ? "unknown"
        : `${percent(fit.same_bits)} of bits agree, PMFs correlate ${fit.same_pmf.toFixed(2)}`],
    ];
  return facts([
    ...parts.map(error),
    ["Items proved optimal in the last step",
      [`${integer(fit.proved)} of ${integer(fit.rated)} (${percent(proved)})`, bar(proved)]],
    ...learnt,
  ]);
}

function sampledNote(parts) {
  const sampled = parts.filter(([, part]) => part.used < part.entries);
  const words = ([label, { entries, used }]) =>
    `Of ${integer(entries)} entries of the ${label}, ${integer(used)} drawn at random are used here. `;
  return sampled.length ? h("p", { class: "quiet" }, sampled.map(words)) : "";
}

function parameterTable(parameters) {
  const head = (text) => h("th", { scope: "col" }, text);
  const row = ([key, text]) => h("tr", null, h("th", { scope: "row" }, key), h("td", null, text));
  return h("details", { class: "card" }, h("summary", null, "Parameters"),
    h("table", { class: "parameters" }, h("caption", { class: "unseen" }, "Parameters"),
      h("thead", { class: "unseen" }, h("tr", null, head("parameter"), head("value"))),
      h("tbody", null, Object.entries(parameters).map(row))));
}

const descentChart = (values) => lineChart({
  title: "Descent", description: "The cost after each iteration: it never rises.", values,
  xLabel: "iteration", yLabel: "cost",
});

function fitView(main) {
  const { fit } = data;
  const parts = Object.entries(fit.parts);
  main.append(
    heading("Fit"),
    h("p", { class: "lead" }, parts.length > 1
      ? "Held-out data tell how well the model predicts; on the training data it always looks better."
      : "All of this is on the training data, where a model always looks better than it predicts. A page with " +
        "held-out data tells more: report(path, held_out) in Python, --evidence FILE on the command line."),
    fitFacts(fit, parts),
    sampledNote(parts),
    h("div", { class: "columns charts" },
      fit.history.length > 1 ? descentChart(fit.history) : "",
      calibrationChart(parts), parts.map(([label, part]) => cellsChart(label, part))),
    parameterTable(fit.parameters),
  );
  return "Fit";
}
