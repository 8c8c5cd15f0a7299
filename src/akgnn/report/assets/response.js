// The frequency response of a stack of kernels, with a slider for each scalar.
"use strict";
akgnn.loaded.then(() => {
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
  const graphs = document.getElementById("response-graph");
  const kinds = document.getElementById("response-kind");
  let stack = akgnn.data.responses[0];
  let scalars = [];
  let following = 0;
  const kindOf = (which) => Object.keys(KINDS).find((kind) => kind in which);
  const kind = () => KINDS[kindOf(stack)];
  const shares = () => akgnn.data.spectra[stack.graph];

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
      said: akgnn.digits(2),
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
    const share = shares();
    if (share.length) {
      list.push({
        type: "bar", name: "share of frequencies", yaxis: "y2",
        x: share.map((_, k) => (2 * k + 1) / share.length),
        y: share.map((part) => 100 * part), width: 2 / share.length,
        marker: { color: akgnn.colour("muted"), line: { width: 0 } },
        said: akgnn.digits(2, " %"),
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

  function draw() {
    const axis = akgnn.axisStyle();
    const beneath = shares().length > 0;
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
    const values = places.map((mu) => respond(scalars, mu, stack.readout, kind().factor).readout)
      .map((value) => akgnn.number(value, 2));
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
      `Frequency response on ${stack.name} with ${kind().symbol} = ${scalars.map((v) => akgnn.number(v, 2)).join(", ")}: `
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
    output.textContent = akgnn.number(value, 2);
    input.addEventListener("input", () => {
      scalars[place] = Number(input.value);
      output.textContent = akgnn.number(scalars[place], 2);
      input.setAttribute("aria-valuetext", output.textContent);
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

  // The sliders of the atlas move these too: those of the group that is shown.
  document.addEventListener("akgnn-scalars", ({ detail }) => {
    const group = akgnn.data.responses.indexOf(stack);
    const values = detail.map((layer) => layer[group]);
    if (values.length !== scalars.length || values.some((value) => value === undefined)) return;
    // The chart has no limits: far beyond the sliders is as good.
    scalars = values.map((value) => Math.min(1e6, Math.max(-1e6, value)));
    for (const [place, value] of scalars.entries()) {
      const input = document.getElementById(`scalar-${place + 1}`);
      input.value = value;
      input.previousElementSibling.textContent = Number.isFinite(values[place]) ? akgnn.number(value, 2) : "∞";
    }
    clearTimeout(following);
    following = setTimeout(draw, 120);
  });

  // The stack of the chosen graph, of the chosen scalar where it has one.
  function choose() {
    const here = akgnn.data.responses.filter((response) => response.graph === graphs.value);
    stack = here.find((response) => kinds && kinds.value in response) ?? here[0];
    if (kinds) {
      for (const option of kinds.options) option.disabled = !here.some((r) => option.value in r);
      kinds.value = kindOf(stack);
    }
    reset();
  }

  document.getElementById("reset").addEventListener("click", reset);
  shown.addEventListener("change", draw);
  graphs?.addEventListener("change", choose);
  kinds?.addEventListener("change", choose);
  let isFirst = true;
  akgnn.whenShown(chart, () => {
    if (!isFirst) return draw();
    isFirst = false;
    return graphs ? choose() : reset();
  });
});
