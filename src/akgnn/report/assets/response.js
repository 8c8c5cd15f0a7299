// The frequency response of a stack of kernels, with a slider for each scalar.
"use strict";
(() => {
  const chart = document.getElementById("response-chart");
  if (!chart) return;
  // What a layer multiplies μ by, and how far its slider goes. λ is Theorem 1: λ = 1 gives 1 - μ, a
  // large λ the identity. τ = 0 is the identity too, and below 0 it is a high-pass filter.
  const KINDS = {
    lambda: { symbol: "λ", low: 1, high: 6, factor: (value, mu) => 1 - mu / value },
    tau: {
      symbol: "τ", low: -3, high: 10,
      factor: (value, mu) => (1 + value * (1 - mu)) / (1 + Math.abs(value)),
    },
    beta: {
      symbol: "β", low: -1, high: 1,
      factor: (value, mu) => 1 - Math.abs(value) + value * (1 - mu),
    },
  };
  const DASHES = ["solid", "longdash", "dash", "dashdot", "dot"];
  const grid = Array.from({ length: 101 }, (_, k) => k / 50);
  const sliders = document.getElementById("sliders");
  const shown = document.getElementById("response-show");
  const choice = document.getElementById("response-graph");
  let stack = akgnn.data.responses[0];
  let scalars = [];
  const kindOf = (which) => Object.keys(KINDS).find((kind) => kind in which);
  const kind = () => KINDS[kindOf(stack)];

  function respond(values, mu, readout, factor = KINDS.lambda.factor) {
    const layer = values.map((value) => factor(value, mu));
    let all = 1;
    const product = layer.map((factor) => (all *= factor));
    // What enters the first layer passes as it is; some models read it out too.
    const summed = readout === "mean-with-input" ? [1, ...product] : product;
    const mean = summed.reduce((sum, value) => sum + value, 0) / summed.length;
    return { layer, product, readout: readout === "last" ? all : mean };
  }
  akgnn.respond = respond;

  function traces() {
    const at = grid.map((mu) => respond(scalars, mu, stack.readout, kind().factor));
    const count = scalars.length;
    const fade = (k) => 0.95 - (0.6 * k) / Math.max(1, count - 1);
    const curve = (name, y, colour, width, dash) => ({
      name, x: grid, y, mode: "lines", line: { color: colour, width, dash },
      hovertemplate: "%{y:.2f}",
    });
    const list = [];
    for (let k = 0; k < count && isShown("layer"); k += 1) {
      list.push(curve(`layer ${k + 1}`, at.map((a) => a.layer[k]), akgnn.colour("muted"), 1.25, "dot"));
    }
    for (let k = 0; k < count && isShown("product"); k += 1) {
      const name = k ? `layers 1 to ${k + 1}` : "layer 1 alone";
      list.push(curve(name, at.map((a) => a.product[k]), akgnn.faded("series-1", fade(k)), 1.75, DASHES[k % DASHES.length]));
    }
    if (isShown("readout")) {
      list.push(curve("readout", at.map((a) => a.readout), akgnn.colour("series-2"), 3.5, "solid"));
    }
    if (stack.share.length) {
      list.push({
        type: "bar", name: "share of frequencies", yaxis: "y2",
        x: stack.share.map((_, k) => (stack.edges[k] + stack.edges[k + 1]) / 2),
        y: stack.share.map((share) => 100 * share), width: stack.edges[1] - stack.edges[0],
        marker: { color: akgnn.colour("muted"), line: { width: 0 } },
        hovertemplate: "%{y:.2f} %",
      });
    }
    return list;
  }

  const isShown = (kind) => shown.querySelector(`[value=${kind}]`).checked;

  // The number of each product on its line, one beside the other, so that none covers another where
  // lines lie close; the last, which falls most, first. Of many layers only some have theirs.
  function labels() {
    const step = Math.ceil(scalars.length / 8);
    const numbered = scalars.map((_, k) => k).filter((k) => (scalars.length - 1 - k) % step === 0);
    return numbered.map((k, place) => {
      const x = 0.2 + 0.15 * (numbered.length - 1 - place);
      return {
        x, y: respond(scalars, x, stack.readout, kind().factor).product[k], text: String(k + 1),
        showarrow: false, bgcolor: akgnn.colour("paper"), borderpad: 1,
        font: { size: 10, color: akgnn.colour("series-1") },
      };
    });
  }

  // Adding 0 turns -0 into 0; a true minus, as everywhere on the page.
  const text = (value) => (Number(value.toFixed(2)) + 0).toFixed(2).replace("-", "−");

  function draw() {
    const axis = akgnn.axisStyle();
    const beneath = stack.share.length > 0;
    akgnn.draw(chart, traces(), akgnn.layout({
      bargap: 0,
      annotations: isShown("product") ? labels() : [],
      margin: { l: 48, r: 12, t: 8, b: 44 },
      xaxis: { title: { text: "graph frequency μ" }, range: [0, 2], dtick: 0.5, anchor: beneath ? "y2" : "y" },
      yaxis: {
        title: { text: "multiplied by" }, range: [-1.05, 1.05], dtick: 0.5,
        domain: beneath ? [0.3, 1] : [0, 1], zeroline: true, zerolinecolor: akgnn.colour("muted"),
      },
      yaxis2: {
        ...axis, title: { text: "spectrum, %", font: { size: 12 }, standoff: 8 },
        domain: [0, 0.22], type: "log", range: [-1.5, 2], tickvals: [0.1, 1, 10, 100],
        showgrid: false,
      },
    }));
    describe();
  }

  function describe() {
    const places = [0, 0.5, 1, 1.5, 2];
    const values = places.map((mu) => text(respond(scalars, mu, stack.readout, kind().factor).readout));
    const table = document.getElementById("response-table");
    const fill = (row, texts) => {
      while (row.cells.length > 1) row.deleteCell(1);
      for (const text of texts) row.insertCell().textContent = text;
    };
    fill(table.tHead.rows[0], places);
    fill(table.tBodies[0].rows[0], values);
    const pairs = places.map((mu, k) => `${values[k]} at μ = ${mu}`).join(", ");
    chart.setAttribute(
      "aria-label",
      `Frequency response on ${stack.name} with ${kind().symbol} = ${scalars.map(text).join(", ")}: `
        + `the readout multiplies by ${pairs}.`,
    );
  }

  function addSlider(value, place) {
    const row = document.createElement("div");
    const label = document.createElement("label");
    const input = document.createElement("input");
    const output = document.createElement("output");
    input.type = "range";
    input.id = `scalar-${place + 1}`;
    input.min = Math.min(kind().low, Math.floor(value));
    input.max = Math.max(kind().high, Math.ceil(value));
    input.step = 0.01;
    input.value = value;
    label.htmlFor = input.id;
    label.textContent = `${kind().symbol} of layer ${place + 1}`;
    output.htmlFor.add(input.id);
    output.textContent = text(value);
    input.addEventListener("input", () => {
      scalars[place] = Number(input.value);
      output.textContent = text(scalars[place]);
      draw();
    });
    row.className = "slider";
    row.append(label, output, input);
    sliders.append(row);
  }

  function reset() {
    scalars = [...stack[kindOf(stack)]];
    sliders.setAttribute("aria-label", `${kind().symbol} of each layer`);
    sliders.replaceChildren();
    scalars.forEach(addSlider);
    document.getElementById("response-note").textContent = `${stack.name}: ${stack.note}`;
    draw();
  }

  document.getElementById("reset").addEventListener("click", reset);
  shown.addEventListener("change", draw);
  if (choice) {
    choice.addEventListener("change", () => {
      stack = akgnn.data.responses[Number(choice.querySelector("input:checked").value)];
      reset();
    });
  }
  akgnn.redraw.push(draw);
  reset();
})();
