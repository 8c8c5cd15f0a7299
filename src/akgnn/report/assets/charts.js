// The figures, drawn by plotly from the numbers that are part of the page.
"use strict";
akgnn.loaded.then(() => {
  const config = { displayModeBar: false, responsive: true, showTips: false };

  akgnn.layout = (changes) => {
    const axis = {
      color: akgnn.colour("muted"),
      gridcolor: akgnn.colour("rule"),
      linecolor: akgnn.colour("rule"),
      zeroline: false,
      fixedrange: true,
      automargin: true,
      title: { font: { size: 12 }, standoff: 8 },
      tickfont: { size: 11 },
    };
    const { xaxis, yaxis, ...rest } = changes;
    // Where the lines are read off.
    const spike = {
      showspikes: (rest.hovermode ?? "x") === "x", spikemode: "across", spikesnap: "hovered data",
      spikethickness: 1, spikedash: "dot", spikecolor: akgnn.colour("muted"),
    };
    return {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", color: akgnn.colour("ink"), size: 12 },
      margin: { l: 44, r: 12, t: 8, b: 40 },
      showlegend: false,
      dragmode: false,
      hovermode: "x",
      hoverlabel: {
        bgcolor: akgnn.colour("paper"),
        bordercolor: akgnn.colour("rule"),
        font: { color: akgnn.colour("ink"), size: 12 },
        namelength: -1,
      },
      xaxis: { ...axis, ...spike, ...xaxis, title: { ...axis.title, ...xaxis.title } },
      yaxis: { ...axis, ...yaxis, title: { ...axis.title, ...yaxis.title } },
      ...rest,
    };
  };

  akgnn.axisStyle = () => akgnn.layout({ xaxis: {}, yaxis: {} }).yaxis;

  // The library comes with the first chart; the page's policy knows it by its hash. A map, which is
  // further up, comes before it.
  let library = null;
  async function load() {
    await akgnn.atlas?.catch(reportError);
    const script = document.createElement("script");
    script.textContent = await akgnn.inflated("plotly").text();
    document.head.append(script);
  }
  akgnn.draw = async (element, traces, layout) => {
    await (library ??= load());
    const isRead = layout.hovermode === "x";
    // A line that says something does so below the chart.
    const shown = isRead ? traces.map((trace) => ({ hoverinfo: "none", ...trace })) : traces;
    await Plotly.react(element, shown, layout, config);
    if (isRead) akgnn.reading(element);
  };

  // How values are said: with so many digits, and their unit.
  const digits = (count, unit = "") => (value) => akgnn.number(value, count) + unit;
  akgnn.digits = digits;

  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const MARKS = ["circle", "diamond", "square", "triangle-up", "triangle-down", "x"];
  // The same in keys; figure.html has them too, for documents.
  const KEY_DASHES = ["", "7 4", "2 3", "7 3 2 3", "11 4", "11 3 2 3"];
  const KEY_MARKS = [
    "M14 2a4 4 0 1 0 0 8 4 4 0 1 0 0 -8z", "M14 1.5 18.5 6 14 10.5 9.5 6z", "M10.5 2.5h7v7h-7z",
    "M14 1.5 18.5 9.5h-9z", "M14 10.5 9.5 2.5h9z",
    "M14 4l2.5-2.5 2 2L16 6l2.5 2.5-2 2L14 8l-2.5 2.5-2-2L12 6 9.5 3.5l2-2z",
  ];

  function drawKey(item) {
    const k = Number(item.dataset.line);
    const shape = (name, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      return element;
    };
    const picture = shape("svg", {
      width: 28, height: 12, "aria-hidden": "true", style: `color: var(--series-${1 + (k % 6)})`,
    });
    picture.append(
      shape("line", {
        x1: 0, y1: 6, x2: 28, y2: 6, stroke: "currentColor", "stroke-width": 2,
        "stroke-dasharray": KEY_DASHES[(k + Math.floor(k / 6)) % 6],
      }),
      shape("path", { fill: "currentColor", d: KEY_MARKS[(k + 2 * Math.floor(k / 6)) % 6] }),
    );
    item.prepend(picture);
  }
  document.querySelectorAll("[data-line]").forEach(drawKey);

  const upTo = (count) => Array.from({ length: count }, (_, index) => index + 1);

  // There and back again, as one trace that says nothing.
  function band(x, low, high, colour, alpha = 0.18) {
    const known = x.map((_, k) => k).filter((k) => low[k] !== null && high[k] !== null);
    const back = [...known].reverse();
    return [{
      mode: "lines", line: { width: 0 }, hoverinfo: "skip", fill: "toself",
      x: [...known, ...back].map((k) => x[k]),
      y: [...known.map((k) => high[k]), ...back.map((k) => low[k])],
      fillcolor: akgnn.faded(colour, alpha),
    }];
  }

  const line = (name, x, y, colour, dash, more = {}) => ({
    name, x, y, mode: "lines", line: { color: akgnn.colour(colour), width: 2, dash }, ...more,
  });

  function range(values, zero = false) {
    const known = values.filter((value) => value !== null);
    const low = zero ? 0 : Math.min(...known);
    const high = Math.max(...known);
    const room = (high - low || 1) * 0.06;
    return [zero ? 0 : low - room, high + room];
  }

  function upright(x, epochs) {
    const text = `epoch ${x}`;
    const isLate = x > epochs / 2;
    return {
      shapes: [{
        type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
        line: { color: akgnn.colour("muted"), width: 1, dash: "dot" },
      }],
      annotations: [{
        x, yref: "paper", y: 1, text, showarrow: false, yanchor: "bottom",
        xanchor: isLate ? "right" : "left",
        font: { size: 11, color: akgnn.colour("muted") },
      }],
    };
  }

  const draws = {
    loss(element, panel, panels) {
      const top = range(panels.flatMap((p) => [...p.train.high, ...p.val.high]), true);
      const epochs = Math.max(...panels.flatMap((p) => p.epochs));
      const x = panel.epochs;
      akgnn.draw(element, [
        ...band(x, panel.train.low, panel.train.high, "series-1"),
        ...band(x, panel.val.low, panel.val.high, "series-2"),
        line("training", x, panel.train.mid, "series-1", "solid", { said: digits(3) }),
        line("validation", x, panel.val.mid, "series-2", "dash", { said: digits(3) }),
      ], akgnn.layout({
        xaxis: { title: { text: "epoch" }, range: [0, epochs + 1] },
        yaxis: { title: { text: "loss" }, range: top },
      }));
    },

    "run-loss"(element, panel) {
      const x = upTo(panel.val.length);
      akgnn.draw(element, [
        line("training", x, panel.train, "series-1", "solid", { said: digits(3) }),
        line("validation", x, panel.val, "series-2", "dash", { said: digits(3) }),
      ], akgnn.layout({
        margin: { l: 44, r: 12, t: 24, b: 40 },
        xaxis: { title: { text: "epoch" } },
        yaxis: { title: { text: "loss" }, rangemode: "tozero" },
        ...upright(panel.best, x.length),
      }));
    },

    "run-lambda"(element, panel) {
      byEpoch(element, panel, { title: { text: "λ" } }, 2);
    },

    "run-share"(element, panel) {
      byEpoch(element, panel, { ...shareAxis(element) }, 0);
    },

    "run-reliability"(element, panel) {
      const most = Math.max(...panel.count);
      const axis = (text) => ({ title: { text }, range: [-3, 103], dtick: 20 });
      akgnn.draw(element, [{
        x: panel.sure, y: panel.right, mode: "markers", cliponaxis: false,
        marker: {
          color: akgnn.colour("series-1"), opacity: 1,
          symbol: panel.count.map((count) => (count < 5 ? "circle-open" : "circle")),
          line: { width: panel.count.map((count) => (count < 5 ? 1.5 : 0)) },
          size: panel.count.map((count) => 5 + 17 * Math.sqrt(count / most)),
        },
        error_y: {
          type: "data", symmetric: false, width: 3, thickness: 1.5,
          color: akgnn.colour("series-1"),
          array: panel.high.map((high, k) => high - panel.right[k]),
          arrayminus: panel.low.map((low, k) => panel.right[k] - low),
        },
        customdata: panel.count.map((count, k) => [count, panel.low[k], panel.high[k]]),
        hovertemplate: "%{customdata[0]} nodes<br>sure %{x:.0f} %<br>"
          + "right %{y:.0f} % (%{customdata[1]:.0f} to %{customdata[2]:.0f})<extra></extra>",
      }], akgnn.layout({
        hovermode: "closest",
        margin: { l: 44, r: 16, t: 16, b: 40 },
        xaxis: axis("how sure, %"),
        yaxis: axis("how often right, %"),
        shapes: [{
          type: "line", x0: 0, y0: 0, x1: 100, y1: 100, layer: "below",
          line: { color: akgnn.colour("muted"), width: 1, dash: "dot" },
        }],
      }));
    },

    homophily(element, panel) {
      const isShare = "layers" in panel;
      const named = isShare ? panel.layers : panel.rows;
      const bands = isShare ? [] : bandsOf(named);
      akgnn.draw(element, [...bands, ...linesOf(named, isShare ? 7 : 8, isShare ? digits(2) : unitOf(panel.metric))], akgnn.layout({
        xaxis: { title: { text: "homophily" }, range: [-0.04, 1.04], dtick: 0.2 },
        yaxis: isShare ? { ...shareAxis(element) } : scoreAxis(panel.metric, named),
        shapes: panel.chance.map((x) => ({
          type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
          line: { color: akgnn.colour("muted"), width: 1, dash: "dot" },
        })),
      }));
    },

    // Values of a setting stand at equal distances, whether they are numbers or names.
    varied(element, panel) {
      akgnn.draw(element, [...bandsOf(panel.rows), ...linesOf(panel.rows, 8, unitOf(panel.metric))], akgnn.layout({
        xaxis: {
          title: { text: panel.setting }, type: "category",
          categoryorder: "array", categoryarray: panel.values, range: [-0.2, panel.values.length - 0.8],
        },
        yaxis: scoreAxis(panel.metric, panel.rows),
      }));
    },

    training(element, panel) {
      akgnn.draw(element, [...bandsOf(panel.rows), ...linesOf(panel.rows, 5, digits(2))], akgnn.layout({
        xaxis: { title: { text: "epoch" } },
        yaxis: { ...shareAxis(element) },
      }));
    },

    // What is found is small beside the training curve, so each has a scale of its own.
    depth(element, panel, panels) {
      const edge = (p, name, sign) => p[name].mean.map((m, k) => m + sign * p[name].std[k]);
      const x = panel.depths;
      const part = (name, said, colour, dash, symbol, yaxis) => [
        ...band(x, edge(panel, name, -1), edge(panel, name, 1), colour).map((t) => ({ ...t, yaxis })),
        line(said, x, panel[name].mean, colour, dash, {
          mode: "lines+markers", marker: { symbol, size: 8, color: akgnn.colour(colour) },
          said: digits(1, " %"), yaxis,
        }),
      ];
      const scale = (name, text, domain, shown) => {
        const [low, high] = range(shown.flatMap((p) => [...edge(p, name, -1), ...edge(p, name, 1)]));
        const title = { ...akgnn.axisStyle().title, text };
        return { title, range: [low, Math.min(high, 101)], domain, nticks: 5 };
      };
      akgnn.draw(element, [
        ...part("test", "test", "series-2", "solid", "diamond", "y"),
        ...part("train", "training", "series-1", "dash", "circle", "y2"),
      ], akgnn.layout({
        xaxis: { title: { text: "layers K" }, dtick: 1, anchor: "y2" },
        yaxis: scale("test", "test accuracy, %", [0.42, 1], [panel]),
        yaxis2: { ...akgnn.axisStyle(), ...scale("train", "training, %", [0, 0.3], panels), nticks: 3 },
      }));
    },

    scaling(element, panel) {
      akgnn.draw(element, panel.lines.map((row, k) => line(
        row.name, row.x, row.y, `series-${1 + (k % 6)}`, DASHES[(k + Math.floor(k / 6)) % 6],
        {
          mode: "lines+markers", said: (y) => Number(y.toPrecision(3)).toLocaleString("en"),
          marker: { symbol: MARKS[(k + 2 * Math.floor(k / 6)) % 6], size: 8, color: akgnn.colour(`series-${1 + (k % 6)}`) },
        },
      )), akgnn.layout({
        xaxis: { title: { text: "edges" }, type: "log", dtick: 1, exponentformat: "power" },
        yaxis: {
          title: { text: panel.unit }, type: "log",
          ...stepTicks(panel.lines.flatMap((row) => row.y)),
        },
      }));
    },

    tuning(element, panel) {
      akgnn.draw(element, [
        { ...line("best so far", panel.x, panel.best, "series-1", "solid", { line: { color: akgnn.colour("series-1"), width: 2, shape: "hv" } }), hoverinfo: "skip" },
        trials(panel),
      ], akgnn.layout({
        hovermode: "closest",
        xaxis: { title: { text: "trial" } },
        yaxis: { title: { text: panel.score } },
      }));
    },

    "tuning-setting"(element, panel) {
      const isChoice = panel.choices.length > 0;
      akgnn.draw(element, [trials(panel)], akgnn.layout({
        hovermode: "closest",
        xaxis: {
          title: { text: panel.name },
          ...(isChoice
            ? { type: "category", categoryorder: "array", categoryarray: panel.choices }
            : panel.log ? { type: "log", ...stepTicks(panel.x) } : { dtick: panel.step }),
        },
        yaxis: { title: { text: panel.score } },
      }));
    },

    // Parallel coordinates on their side: a row for each setting, and trials run down through them.
    "tuning-parallel"(element, panel) {
      const rows = panel.rows.map((_, k) => -k);
      const lines = (which, style, marker) => {
        const shown = panel.trials.filter((trial) => trial.group === which);
        // A gap between trials: one trace for all of a group.
        const gapped = (list) => shown.flatMap((trial) => [...list(trial), null]);
        return {
          x: gapped((trial) => trial.at), y: gapped(() => rows),
          text: gapped((trial) => trial.texts.map((text, k) => `trial ${trial.number}: ${panel.rows[k].name} ${text}`)),
          mode: "lines+markers", line: style, marker: { size: marker, color: style.color, opacity: 1 },
          hovertemplate: "%{text}<extra></extra>",
        };
      };
      element.style.height = `${2.9 * rows.length + 1.5}rem`;
      akgnn.draw(element, [
        lines("other", { color: akgnn.faded("muted", 0.55), width: 1, dash: "dot" }, 3),
        lines("good", { color: akgnn.colour("series-1"), width: 1.75 }, 5),
        lines("best", { color: akgnn.colour("series-2"), width: 3.5 }, 8),
      ], akgnn.layout({
        hovermode: "closest",
        margin: { l: 60, r: 24, t: 8, b: 12 },
        xaxis: { range: [-0.04, 1.04], showgrid: false, showticklabels: false },
        yaxis: { range: [0.6 - rows.length, 0.45], tickvals: rows, ticktext: panel.rows.map((row) => row.name) },
        annotations: panel.rows.flatMap((row, k) => row.ticks.map(({ at, text }) => ({
          x: at, y: -k, text, showarrow: false, yshift: -13, xanchor: at < 0.02 ? "left" : at > 0.98 ? "right" : "center",
          xshift: at < 0.02 ? -4 : at > 0.98 ? 4 : 0,
          font: { size: 10, color: akgnn.colour("muted") }, bgcolor: akgnn.colour("paper"), borderpad: 0,
        }))),
      }));
    },

    lambda(element, panel) {
      const deepest = Math.max(...panel.depths);
      const ramp = RAMP.map(akgnn.colour);
      const cells = panel.values.flatMap((row, place) => row.map((value, k) => ({ value, place, k })));
      // Squares are shapes; marks that nobody sees stand on them for the pointer.
      akgnn.draw(element, [{
        x: cells.map(({ k }) => k + 1), y: cells.map(({ place }) => place), mode: "markers",
        marker: { size: 20, opacity: 0 },
        customdata: cells.map(({ value, place }) => [panel.depths[place], value]),
        hovertemplate: "K = %{customdata[0]}, layer %{x}: λ = %{customdata[1]:.2f}<extra></extra>",
      }], akgnn.layout({
        hovermode: "closest",
        xaxis: { title: { text: "layer" }, dtick: 1, showgrid: false, range: [0.5, deepest + 0.5] },
        yaxis: {
          title: { text: "layers K" }, showgrid: false, range: [panel.depths.length - 0.5, -0.5],
          tickvals: panel.depths.map((_, place) => place), ticktext: panel.depths.map(String),
        },
        shapes: cells.map(({ value, place, k }) => ({
          type: "rect", x0: k + 0.52, x1: k + 1.48, y0: place - 0.46, y1: place + 0.46,
          line: { width: 0 }, fillcolor: `rgb(${colourAt(ramp, (value - 1) / 2).join(",")})`,
        })),
        annotations: cells.map(({ value, place, k }) => ({
          x: k + 1, y: place, text: value.toFixed(2),
          showarrow: false,
          font: { size: deepest > 6 ? 10 : 11, color: inkOn(colourAt(ramp, (value - 1) / 2)) },
        })),
      }));
    },
  };

  // Lines of means with marks, one a row, and bands of one deviation to each side.
  const edge = (row, sign) => row.mean.map((m, k) => (m === null ? null : m + sign * row.std[k]));
  const bandsOf = (rows) => rows.flatMap((row, k) => (
    band(row.x, edge(row, -1), edge(row, 1), `series-${1 + (k % 6)}`, 0.12)
  ));
  const linesOf = (rows, size, said) => rows.map((row, k) => line(
    row.name, row.x, row.mean, `series-${1 + (k % 6)}`, DASHES[(k + Math.floor(k / 6)) % 6],
    {
      mode: "lines+markers", said,
      marker: { symbol: MARKS[(k + 2 * Math.floor(k / 6)) % 6], size, color: akgnn.colour(`series-${1 + (k % 6)}`) },
    },
  ));
  // What the axis is in, of its title "test accuracy, %".
  const unitOf = (metric) => (metric.endsWith("%") ? digits(1, " %") : digits(3));
  function scoreAxis(metric, rows) {
    const room = range(rows.flatMap((row) => [...edge(row, -1), ...edge(row, 1)]));
    return {
      title: { text: metric },
      range: [Math.max(room[0], -1), Math.min(room[1], 101)],
    };
  }

  // A mark for each trial of a search: full where it finished, open where it was pruned.
  const trials = (panel) => ({
    x: panel.x, y: panel.y, mode: "markers",
    marker: {
      // Marks of several sizes are paler unless told not to be.
      opacity: 1,
      line: { width: panel.pruned.map((isPruned) => (isPruned ? 1.5 : 0)) },
      size: panel.chosen.map((isChosen) => (isChosen ? 13 : 8)),
      symbol: panel.pruned.map((isPruned, k) => (isPruned ? "circle-open" : panel.chosen[k] ? "star" : "circle")),
      color: panel.chosen.map((isChosen) => akgnn.colour(isChosen ? "series-2" : "series-1")),
    },
    text: panel.number.map((number, k) => `trial ${number}${panel.pruned[k] ? ", pruned" : ""}`),
    hovertemplate: "%{text}: %{y:.4~r}<extra></extra>",
  });

  // A logarithmic axis with ticks at 1, 2 and 5 of every power of ten; of many powers at 1 alone.
  function stepTicks(values) {
    const [low, high] = [Math.min(...values) / 1.25, Math.max(...values) * 1.25];
    const powers = upTo(30).map((k) => k - 16);
    const ticks = powers.flatMap((k) => [1, 2, 5].map((step) => step * 10 ** k));
    const inside = ticks.filter((tick) => low <= tick && tick <= high);
    const tickvals = inside.length > 8 ? inside.filter((tick) => isPower(tick)) : inside;
    return {
      range: [Math.log10(low), Math.log10(high)], tickvals,
      ticktext: tickvals.map((tick) => tick.toLocaleString("en", { maximumSignificantDigits: 1 })),
    };
  }

  const isPower = (tick) => Math.abs(Math.log10(tick) - Math.round(Math.log10(tick))) < 1e-9;

  // λ or the share of neighbours of each layer, with a band where it has several groups and a line
  // at the level that changes its meaning.
  function byEpoch(element, panel, axis, middle) {
    const x = upTo(panel.layers[0].length);
    const names = panel.names;
    const colour = (k) => `series-${1 + (k % 5)}`;
    const bands = panel.low.flatMap((low, k) => band(x, low, panel.high[k], colour(k), 0.12));
    const lines = panel.layers.map((y, k) => line(names[k], x, y, colour(k), DASHES[k % DASHES.length], { said: digits(3) }));
    const scale = axis.range ?? range([...panel.layers, ...panel.low, ...panel.high].flat());
    const marked = upright(panel.best, x.length);
    const ends = panel.layers.map((y) => y[y.length - 1]);
    const labels = names.length > 8 ? [] : apart(ends, scale).map((y, k) => ({
      x: 1, xref: "paper", y, text: names[k], showarrow: false, xanchor: "left", xshift: 4,
      font: { size: 11, color: akgnn.colour(colour(k)) },
    }));
    const longest = Math.max(...names.map((name) => name.length));
    akgnn.draw(element, [...bands, ...lines], akgnn.layout({
      margin: { l: 44, r: labels.length ? 8 * longest : 12, t: 24, b: 40 },
      xaxis: { title: { text: "epoch" } },
      yaxis: { ...axis, range: scale },
      shapes: [...marked.shapes, level(middle)],
      annotations: [...marked.annotations, ...labels],
    }));
  }

  // From neighbours subtracted through ignored to averaged; in words where there is room.
  function shareAxis(element) {
    const isWide = element.clientWidth > 420;
    return {
      title: { text: isWide ? "" : "share of neighbours" }, range: [-1.08, 1.08],
      tickvals: [-1, -0.5, 0, 0.5, 1],
      ticktext: isWide
        ? ["−1 subtracts<br>neighbours", "−0.5", "0 ignores<br>them", "0.5", "1 averages<br>them"]
        : ["−1", "−0.5", "0", "0.5", "1"],
      zeroline: true, zerolinecolor: akgnn.colour("muted"),
    };
  }

  const RAMP = ["ramp-low", "ramp-lower", "ramp-mid", "ramp-higher", "ramp-high"];

  // The ramp's colour at a place from 0 to 1, as red, green and blue.
  function colourAt(ramp, place) {
    const at = Math.min(1, Math.max(0, place)) * (ramp.length - 1);
    const below = Math.min(Math.floor(at), ramp.length - 2);
    const [low, high] = [ramp[below], ramp[below + 1]].map((c) => c.match(/[\d.]+/g).map(Number));
    return [0, 1, 2].map((k) => Math.round(low[k] + (at - below) * (high[k] - low[k])));
  }

  // Black or white, whichever reads better on a colour.
  function inkOn(colour) {
    const linear = colour.map((part) => (part / 255) ** 2.2);
    const luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    return luminance > 0.18 ? "#000000" : "#ffffff";
  }

  const level = (y) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y,
    line: { color: akgnn.colour("muted"), width: 1 },
  });

  // Labels at the ends of lines, moved until none covers another.
  function apart(ends, range) {
    const gap = (range[1] - range[0]) / 14;
    const order = ends.map((y, k) => [y, k]).sort((a, b) => a[0] - b[0]);
    const placed = [...ends];
    let last = -Infinity;
    for (const [y, k] of order) {
      placed[k] = Math.max(y, last + gap);
      last = placed[k];
    }
    // Where the axis ends, back down from there.
    let ceiling = range[1];
    for (const [, k] of order.reverse()) {
      placed[k] = Math.min(placed[k], ceiling);
      ceiling = placed[k] - gap;
    }
    return placed;
  }

  for (const element of document.querySelectorAll("[data-figure]")) {
    const { kind, panels } = akgnn.data.figures[element.dataset.figure];
    akgnn.whenShown(element, () => draws[kind](element, panels[Number(element.dataset.panel)], panels));
  }
});
