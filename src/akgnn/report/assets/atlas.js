// The atlas: sliders that run the model again, a map of its classes, and why a node gets its own.
"use strict";
akgnn.atlas = akgnn.loaded.then(() => {
  const data = akgnn.data.atlas;
  const byId = (name) => document.getElementById(`atlas-${name}`);
  const ROLES = ["in no set", "training node", "validation node", "test node"];
  const [VALIDATION, TEST] = [2, 3];
  const KINDS = {
    lambda: { symbol: "λ", low: 1, high: 8, least: 1, most: Infinity, gcn: () => 2, neighbours: 1, own: Infinity },
    tau: { symbol: "τ", low: -3, high: 8, least: -Infinity, most: Infinity, gcn: (degree) => degree, neighbours: Infinity, own: 0 },
    beta: { symbol: "β", low: -1, high: 1, least: -1, most: 1, gcn: (degree) => degree / (1 + degree), neighbours: 1, own: 0 },
  };
  // More sliders than these, and one moves all groups of a layer, or all layers.
  const MOST_SLIDERS = 12;
  const MOST_NEIGHBOURS = 256;
  const MOST_DRAWN = 14;
  const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array };
  const SVG = "http://www.w3.org/2000/svg";
  // Minus as everywhere on the page; adding 0 turns -0 into 0.
  const fixed = (value, digits) => (Number(value.toFixed(digits)) + 0).toFixed(digits).replace("-", "−");
  const signed = (value, digits) => (Number(value.toFixed(digits)) > 0 ? "+" : "") + fixed(value, digits);
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const shownScalar = (value) => (Number.isFinite(value) ? fixed(value, 2) : value > 0 ? "∞" : "−∞");

  function element(name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  function shape(name, attributes, text = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  // The arrays of the page: all first bytes before all second ones.
  async function unpack(arrays) {
    const bytes = new Uint8Array(await akgnn.inflated("atlas").arrayBuffer());
    const found = {};
    let at = 0;
    for (const [name, type, length] of arrays) {
      const array = new TYPES[type](length);
      const out = new Uint8Array(array.buffer);
      const size = array.BYTES_PER_ELEMENT;
      for (let byte = 0; byte < size; byte += 1) {
        for (let k = 0; k < length; k += 1) out[k * size + byte] = bytes[at + byte * length + k];
      }
      at += length * size;
      found[name] = array;
    }
    return found;
  }

  // Rows of neighbours from the edges of the page, in both directions where they have none.
  function graphOf({ count, gap, edgeWeight }) {
    const nodes = count.length;
    const row = new Uint32Array(gap.length);
    const col = new Uint32Array(gap.length);
    for (let i = 0, e = 0; i < nodes; i += 1) {
      for (let last = 0, end = e + count[i]; e < end; e += 1) {
        row[e] = i;
        last += gap[e];
        col[e] = last;
      }
    }
    const gather = (ends) => {
      const rowptr = new Uint32Array(nodes + 1);
      for (const [to] of ends) for (const i of to) rowptr[i + 1] += 1;
      for (let i = 0; i < nodes; i += 1) rowptr[i + 1] += rowptr[i];
      const next = rowptr.slice();
      const columns = new Uint32Array(rowptr[nodes]);
      const weight = edgeWeight ? new Float32Array(rowptr[nodes]) : null;
      for (const [to, from] of ends) {
        for (let e = 0; e < to.length; e += 1) {
          const at = next[to[e]];
          next[to[e]] += 1;
          columns[at] = from[e];
          if (weight) weight[at] = edgeWeight[e];
        }
      }
      return { rowptr, col: columns, weight };
    };
    const sides = data.isDirected ? [[row, col]] : [[row, col], [col, row]];
    const graph = { ...gather(sides), count: nodes, row, other: col, meanDegree: data.meanDegree };
    graph.degree = new Float64Array(nodes);
    for (let i = 0; i < nodes; i += 1) {
      for (let e = graph.rowptr[i]; e < graph.rowptr[i + 1]; e += 1) graph.degree[i] += graph.weight ? graph.weight[e] : 1;
    }
    graph.degreeSum = graph.degree.reduce((sum, value) => sum + value, 0);
    graph.connected = graph.degree.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
    // Neighbours whatever the direction of the edge.
    const both = data.isDirected ? gather([[row, col], [col, row]]) : graph;
    graph.neighbours = (i) => [...new Set(both.col.subarray(both.rowptr[i], both.rowptr[i + 1]))].sort((a, b) => a - b);
    return graph;
  }

  // What enters the layers, of whole numbers along its axes (see whole_numbers.py); or what the
  // non-linearity makes of them, times a matrix of the classifier.
  function signalOf({ numbers, basis, offset, fold }, { step, channels, hasSource, slope }, count) {
    const width = offset.length;
    const axes = basis.length / width;
    const signal = new Float32Array(count * channels);
    const carried = new Float64Array(width);
    const folded = new Float64Array(channels);
    // out += value · row of a matrix.
    const add = (out, value, matrix, row) => {
      if (value !== 0) for (let k = 0, at = row * out.length; k < out.length; k += 1, at += 1) out[k] += value * matrix[at];
    };
    for (let i = 0; i < count; i += 1) {
      carried.set(offset);
      for (let axis = 0; axis < axes; axis += 1) add(carried, step * numbers[axis * count + i], basis, axis);
      for (let k = 0; hasSource && k < width; k += 1) if (carried[k] < 0) carried[k] *= slope;
      folded.fill(0);
      for (let k = 0; fold && k < width; k += 1) add(folded, carried[k], fold, k);
      signal.set(fold ? folded : carried, i * channels);
    }
    return signal;
  }

  async function start() {
    const arrays = await unpack(data.arrays);
    const graph = graphOf(arrays);
    const { label, role } = arrays;
    const count = graph.count;
    const classes = data.classes;
    const nameOf = (i) => (data.names ? data.names[i] : String(i));
    const chain = data.chain && {
      ...data.chain,
      signal: signalOf(arrays, data.chain, count),
      head: Array.from({ length: data.chain.head }, (_, k) => ({ weight: arrays[`weight${k}`], bias: arrays[`bias${k}`] })),
    };
    const network = chain && akgnn.network(chain, graph, data.calibration);
    const kind = chain && KINDS[chain.kind];
    const learnedScalars = chain ? chain.scalars : [];
    const map = akgnn.map(byId("canvas"), { count, ...spreadOut(arrays.points), source: graph.row, target: graph.other });

    let scalars = learnedScalars.map((layer) => [...layer]);
    let result = network ? network.run(scalars) : { predicted: every(arrays.answer), logits: null, milliseconds: 0 };
    const learned = result.predicted;
    const ring = new Uint16Array(count);
    let chosen = -1;
    let work = 0;
    const state = { learned, ring, names: classes };

    // Points over the whole of the canvas, whatever its shape.
    function spreadOut(points) {
      const side = (from) => {
        const values = Float32Array.from({ length: points.length / 2 }, (_, i) => points[2 * i + from]);
        const low = values.reduce((a, b) => Math.min(a, b), Infinity);
        const range = values.reduce((a, b) => Math.max(a, b), -Infinity) - low || 1;
        return values.map((value) => (value - low) / range);
      };
      return { x: side(0), y: side(1) };
    }

    // The first of each pair.
    function every(pairs) {
      const wide = pairs.length / count;
      return Uint16Array.from({ length: count }, (_, i) => pairs[wide * i]);
    }

    // The probabilities of a node: all classes, or the two that the page knows.
    function answers(i) {
      if (network) {
        return network.probabilities(result.logits, i).map((p, which) => [which, p]).sort((a, b) => b[1] - a[1]).slice(0, 2);
      }
      const wide = arrays.answer.length / count;
      return Array.from({ length: wide }, (_, k) => [arrays.answer[wide * i + k], arrays.sure[wide * i + k] / 65535]);
    }

    const showsTest = () => byId("test").open;
    const mayShowLabel = (i) => role[i] !== TEST || showsTest();
    const isWrong = (i) => label[i] > 0 && label[i] - 1 !== result.predicted[i];

    function right(which) {
      let total = 0;
      let hits = 0;
      for (let i = 0; i < count; i += 1) {
        if (role[i] !== which) continue;
        total += 1;
        hits += isWrong(i) ? 0 : 1;
      }
      return { total, share: hits / total };
    }

    const learnedRight = { [VALIDATION]: right(VALIDATION), [TEST]: right(TEST) };

    function changed() {
      let total = 0;
      for (let i = 0; i < count; i += 1) total += result.predicted[i] === learned[i] ? 0 : 1;
      return total;
    }

    function isShown(i) {
      const wanted = byId("class").value;
      const part = byId("role").value;
      if (wanted !== "" && result.predicted[i] !== Number(wanted)) return false;
      if (part === "changed") return result.predicted[i] !== learned[i];
      if (part === "wrong") return ring[i] > 0;
      return part === "" || role[i] === Number(part);
    }

    function draw() {
      for (let i = 0; i < count; i += 1) {
        const counts = role[i] === VALIDATION || (role[i] === TEST && showsTest());
        ring[i] = counts && isWrong(i) ? label[i] : 0;
      }
      const marked = data.suspects.filter(mayShowLabel);
      const around = chosen < 0 ? [] : graph.neighbours(chosen);
      map.draw({ ...state, predicted: result.predicted, isShown, marked, chosen, around });
    }

    function figure(list, term, value, note = "") {
      const box = element("div");
      const number = element("dd", value);
      if (note) number.append(" ", element("small", note));
      box.append(element("dt", term), number);
      list.append(box);
    }

    const gap = (which) => {
      const now = right(which);
      return now.total && result.predicted !== learned ? `${signed(100 * (now.share - learnedRight[which].share), 1)}` : "";
    };

    // Wilson's interval of a share of so many nodes, as in akgnn.training.metrics.
    function interval({ share, total }) {
      const weight = 1.96 ** 2 / total;
      const middle = (share + weight / 2) / (1 + weight);
      const half = Math.sqrt(share * (1 - share) * weight + weight ** 2 / 4) / (1 + weight);
      const ends = [middle - half, middle + half].map((end) => 100 * Math.min(1, Math.max(0, end)));
      const [low, high] = ends.map((end) => end.toFixed(ends[1] - ends[0] < 10 ? 1 : 0));
      return `${low} to ${high} with ${total} node${total === 1 ? "" : "s"}`;
    }

    function describe() {
      const list = byId("figures");
      list.replaceChildren();
      const validation = right(VALIDATION);
      if (validation.total) figure(list, data.total === count ? "validation accuracy" : "of validation nodes here", percent(validation.share), gap(VALIDATION));
      if (network) {
        figure(list, "nodes changed", String(changed()));
        figure(list, "one pass", `${result.milliseconds.toFixed(1)} ms`);
      } else {
        figure(list, "nodes on the map", count.toLocaleString("en"));
      }
      const test = right(TEST);
      byId("test").hidden = !test.total;
      byId("test-figures").replaceChildren();
      byId("test-interval").textContent = test.total ? interval(test) : "";
      if (test.total) figure(byId("test-figures"), data.total === count ? "test accuracy" : "of test nodes here", percent(test.share), gap(TEST));
    }

    let speaking = 0;
    function say(text, wait = 500) {
      clearTimeout(speaking);
      speaking = setTimeout(() => { byId("says").textContent = text; }, wait);
    }

    function summary() {
      const validation = right(VALIDATION);
      const accuracy = validation.total ? ` Validation accuracy ${percent(validation.share)}${gap(VALIDATION) ? `, ${gap(VALIDATION)} against learned` : ""}.` : "";
      return `${changed()} of ${count} nodes change class.${accuracy}`;
    }

    function show() {
      draw();
      describe();
    }

    // Sliders: one for each scalar, or for those of a layer, or for all.
    const positions = learnedScalars.flatMap((layer, k) => layer.map((_, g) => [k, g]));
    const sliders = [];

    function sliderParts() {
      const groups = positions.length / Math.max(1, learnedScalars.length);
      if (positions.length <= MOST_SLIDERS) {
        return positions.map(([k, g]) => ({ name: groups > 1 ? `layer ${k + 1}, group ${g + 1}` : `layer ${k + 1}`, members: [[k, g]] }));
      }
      if (learnedScalars.length <= MOST_SLIDERS) {
        return learnedScalars.map((layer, k) => ({ name: `layer ${k + 1}, ${groups} groups`, members: layer.map((_, g) => [k, g]) }));
      }
      return [{ name: "all layers", members: positions }];
    }

    const meanOf = (values, members) => members.reduce((sum, [k, g]) => sum + values[k][g], 0) / members.length;

    function addSlider({ name, members }) {
      const mean = meanOf(learnedScalars, members);
      const row = element("div", "", { class: "atlas-slider" });
      const range = element("input", "", { type: "range", step: 0.01, "aria-label": `${kind.symbol} in ${name}` });
      const number = element("input", "", { type: "number", step: 0.01, "aria-label": `${kind.symbol} in ${name}, as a number` });
      range.min = Math.min(kind.low, Math.floor(mean));
      range.max = Math.max(kind.high, Math.ceil(mean), Math.ceil(kind.gcn(data.meanDegree)));
      if (Number.isFinite(kind.least)) number.min = kind.least;
      if (Number.isFinite(kind.most)) number.max = kind.most;
      const move = (value) => {
        for (const [k, g] of members) {
          const moved = members.length > 1 ? learnedScalars[k][g] + value - mean : value;
          scalars[k][g] = Math.min(kind.most, Math.max(kind.least, moved));
        }
        rerun();
      };
      range.addEventListener("input", () => move(Number(range.value)));
      number.addEventListener("change", () => { if (number.value !== "" && Number.isFinite(Number(number.value))) move(Number(number.value)); else fill(); });
      const fill = () => {
        const value = meanOf(scalars, members);
        range.value = Number.isFinite(value) ? value : Math.sign(value) > 0 ? range.max : range.min;
        range.setAttribute("aria-valuetext", `${kind.symbol} ${shownScalar(value)}`);
        number.value = Number.isFinite(value) ? String(Number(value.toFixed(2))) : "";
        number.placeholder = shownScalar(value);
      };
      row.append(element("span", `${kind.symbol} ${name}`, { "aria-hidden": "true" }), range, number);
      sliders.push(fill);
      byId("sliders").append(row);
    }

    const same = (a, b) => a.every((layer, k) => layer.every((value, g) => value === b[k][g]));
    const settings = !network ? [] : [
      ["As learned", () => learnedScalars],
      ["GCN", () => learnedScalars.map((layer) => layer.map(() => kind.gcn(data.meanDegree)))],
      ["Neighbours only", () => learnedScalars.map((layer) => layer.map(() => kind.neighbours))],
      ["Own signal only", () => learnedScalars.map((layer) => layer.map(() => kind.own))],
    ];
    const buttons = settings.map(([name, values]) => {
      const button = element("button", name, { type: "button" });
      button.addEventListener("click", () => set(values()));
      byId("buttons").append(button);
      return button;
    });

    function set(values) {
      scalars = values.map((layer) => [...layer]);
      rerun();
    }

    let waiting = 0;
    function rerun() {
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => {
        runNow();
        explain(300);
        say(summary());
      });
    }

    function runNow() {
      const isLearned = same(scalars, learnedScalars);
      const next = network.run(scalars);
      result = isLearned ? { ...next, predicted: learned } : next;
      sliders.forEach((fill) => fill());
      settings.forEach(([, values], k) => buttons[k].setAttribute("aria-pressed", String(same(scalars, values()))));
      show();
      document.dispatchEvent(new CustomEvent("akgnn-scalars", { detail: scalars }));
    }

    // One node: its class, its neighbourhood, the effect of each neighbour.
    function choose(i) {
      chosen = i;
      byId("tip").hidden = true;
      draw();
      isAsked = true;
      explain(0);
    }

    let explaining = 0;
    // Whether somebody chose the node just now, and so is to hear of it.
    let isAsked = false;
    function explain(wait) {
      work += 1;
      clearTimeout(explaining);
      if (chosen >= 0) explaining = setTimeout(() => explainNow(work), wait);
    }

    async function explainNow(turn) {
      const node = chosen;
      const around = graph.neighbours(node);
      // Of a hub the edges that weigh most: those to nodes with the fewest others.
      const looked = around.length <= MOST_NEIGHBOURS ? around
        : [...around].sort((a, b) => graph.degree[a] - graph.degree[b]).slice(0, MOST_NEIGHBOURS);
      const effects = looked.map((other) => ({ node: other, effect: null, without: -1 }));
      if (!network) {
        describeNode(node, around, effects, null);
        return;
      }
      const why = network.explainer(node, scalars);
      describeNode(node, around, effects, why);
      let last = performance.now();
      for (let k = 0; k < effects.length; k += 1) {
        effects[k] = why.effect(effects[k].node);
        if (performance.now() - last > 30) {
          await new Promise((go) => setTimeout(go));
          if (turn !== work) return;
          last = performance.now();
        }
      }
      effects.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
      if (turn === work) describeNode(node, around, effects, why);
    }

    const says = (effect) => (Math.abs(effect) < 0.01 ? "hardly matters" : effect > 0 ? "speaks for" : "speaks against");

    function describeNode(node, around, effects, why) {
      const box = byId("node");
      const [[top, sure], next] = answers(node);
      box.replaceChildren(element("h3", `Node ${nameOf(node)}: ${classes[top]}, ${percent(sure)}`));
      const lines = [
        `${ROLES[role[node]][0].toUpperCase()}${ROLES[role[node]].slice(1)}`
          + (next ? `; next is ${classes[next[0]]}, ${percent(next[1])}` : "") + ".",
      ];
      if (!mayShowLabel(node)) lines.push("Its label is shown while the box Test nodes is open.");
      else if (!label[node]) lines.push("Its label is not known.");
      else lines.push(`Its label is ${classes[label[node] - 1]}, ${isWrong(node) ? "which the model doubts" : "as predicted"}.`);
      if (why && around.length) {
        const alone = network.best(why.alone);
        lines.push(`Without its edges: ${classes[alone]}, ${percent(why.alone[alone])}.`);
      }
      if (arrays.around) lines.push(aroundWords(node));
      else if (!around.length) lines.push("It has no neighbours: its own features decide.");
      const isDone = effects.length > 0 && effects[0].effect !== null;
      box.append(element("p", lines.join(" ")));
      if (around.length) {
        box.append(drawing(node, effects));
        if (why) box.append(element("p", isDone ? "Lines: what the edge adds to the log-odds of the class. Solid speaks for it, dashed against; 0.69 doubles the odds." : "Computing effects …", { class: "quiet small" }));
        if (around.length > effects.length) box.append(element("p", `Of ${around.length} neighbours, the ${effects.length} with the fewest neighbours of their own were looked at.`, { class: "quiet small" }));
        box.append(listed(effects, isDone));
      }
      if (isAsked && (!why || isDone || !effects.length)) {
        isAsked = false;
        const first = isDone ? ` ${nameOf(effects[0].node)} ${says(effects[0].effect)} it most, ${signed(effects[0].effect, 2)}.` : "";
        say(`Node ${nameOf(node)}: ${classes[top]}, ${percent(sure)}. ${around.length} neighbours.${first}`, 200);
      }
    }

    function aroundWords(node) {
      const counts = classes.map((name, k) => [name, arrays.around[node * classes.length + k]]).filter(([, n]) => n);
      const total = counts.reduce((sum, [, n]) => sum + n, 0);
      const parts = counts.sort((a, b) => b[1] - a[1]).slice(0, 6).map(([name, n]) => `${name} (${n})`).join(", ");
      return total ? `All its ${total} neighbours by predicted class: ${parts}. On this map: ${graph.neighbours(node).length}.` : "It has no neighbours: its own features decide.";
    }

    function drawing(node, effects) {
      const shown = effects.slice(0, MOST_DRAWN);
      const svg = shape("svg", { viewBox: shown.length > 1 ? "0 0 340 262" : "0 0 340 160", "aria-hidden": "true" });
      const hasNumbers = shown.length <= 10 && shown[0].effect !== null;
      const most = Math.max(0.05, ...shown.map(({ effect }) => Math.abs(effect ?? 0)));
      const middle = [170, 132];
      const spots = shown.map((_, k) => {
        const angle = (2 * Math.PI * k) / shown.length - Math.PI / 2;
        return [middle[0] + 100 * Math.cos(angle), middle[1] + 92 * Math.sin(angle)];
      });
      shown.forEach(({ effect }, k) => {
        const kindOfLine = effect === null ? "no-effect" : effect >= 0 ? "for" : "against";
        svg.append(shape("line", {
          x1: middle[0], y1: middle[1], x2: spots[k][0], y2: spots[k][1], class: kindOfLine,
          "stroke-width": effect === null ? 1.5 : 1 + (7 * Math.abs(effect)) / most,
        }));
      });
      shown.forEach(({ node: other, effect }, k) => {
        const [left, top] = spots[k];
        const dot = shape("circle", { cx: left, cy: top, r: 7, fill: map.colourOf(result.predicted[other]) });
        dot.style.cursor = "pointer";
        dot.addEventListener("click", () => choose(other));
        const name = nameOf(other);
        const anchor = left > middle[0] + 30 ? "start" : left < middle[0] - 30 ? "end" : "middle";
        const text = shape("text", {
          x: left + (anchor === "start" ? 11 : anchor === "end" ? -11 : 0),
          y: top + (anchor !== "middle" ? 4 : top < middle[1] ? -12 - (hasNumbers ? 12 : 0) : 20), "text-anchor": anchor,
        }, name.length > 9 ? `${name.slice(0, 8)}…` : name);
        if (hasNumbers) text.append(shape("tspan", { x: text.getAttribute("x"), dy: "1.1em" }, signed(effect, 2)));
        svg.append(dot, text);
      });
      svg.append(shape("circle", { cx: middle[0], cy: middle[1], r: 12, fill: map.colourOf(result.predicted[node]), stroke: "currentColor", "stroke-width": 2 }));
      return svg;
    }

    function listed(effects, isDone) {
      const box = element("div", "", { class: "atlas-list", tabindex: "0", role: "region", "aria-label": "Neighbours" });
      const table = element("table", "", { class: "plain" });
      const head = table.createTHead().insertRow();
      for (const name of ["neighbour", "class", ...(isDone ? ["effect"] : [])]) head.append(element("th", name, { scope: "col" }));
      const rows = table.createTBody();
      for (const { node, effect, without } of effects) {
        const row = rows.insertRow();
        const button = element("button", nameOf(node), { type: "button" });
        button.addEventListener("click", () => { choose(node); byId("canvas").focus({ preventScroll: true }); });
        row.insertCell().append(button);
        const isTraining = role[node] === 1 && label[node];
        row.insertCell().textContent = isTraining ? `${classes[label[node] - 1]} (label)` : classes[result.predicted[node]];
        if (!isDone) continue;
        const turns = without !== result.predicted[chosen] ? `; without it ${classes[without]}` : "";
        const cell = row.insertCell();
        cell.textContent = signed(effect, 2);
        cell.title = says(effect) + turns;
        if (turns) cell.append(element("small", turns.slice(1), { class: "quiet" }));
      }
      box.append(table);
      return box;
    }

    // Finding a node by its id.
    function find() {
      const wanted = byId("search").value.trim();
      const list = byId("found");
      list.replaceChildren();
      if (!wanted) return [];
      const small = wanted.toLowerCase();
      const ranks = [[], [], []];
      for (let i = 0; i < count; i += 1) {
        const name = nameOf(i);
        if (name === wanted) ranks[0].push(i);
        else if (name.toLowerCase().startsWith(small)) ranks[1].push(i);
        else if (name.toLowerCase().includes(small)) ranks[2].push(i);
      }
      const found = ranks.flat();
      for (const i of found.slice(0, 6)) {
        const item = element("li");
        const button = element("button", nameOf(i), { type: "button" });
        button.addEventListener("click", () => take(i));
        item.append(button);
        list.append(item);
      }
      if (found.length > 6) list.append(element("li", `and ${found.length - 6} more`, { class: "quiet" }));
      if (!found.length) list.append(element("li", data.total === count ? "No node has this id." : "No node of this sample has this id.", { class: "quiet" }));
      return found;
    }

    function take(i) {
      byId("found").replaceChildren();
      choose(i);
      byId("canvas").focus({ preventScroll: true });
    }

    byId("search").addEventListener("input", find);
    byId("search").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      const [first] = find();
      if (first !== undefined) take(first);
    });
    classes.forEach((name, which) => byId("class").append(element("option", name, { value: which })));
    for (const name of ["class", "role"]) {
      byId(name).addEventListener("change", () => {
        draw();
        let shown = 0;
        for (let i = 0; i < count; i += 1) shown += isShown(i) ? 1 : 0;
        say(`${shown} of ${count} nodes shown.`);
      });
    }
    if (!network) byId("role").querySelector("[value=changed]").remove();
    byId("test").addEventListener("toggle", () => { show(); if (chosen >= 0) explain(0); });

    // Mouse, finger, keys.
    const canvas = byId("canvas");
    const placeOf = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => { drag = { at: placeOf(event), moved: false }; });
    canvas.addEventListener("pointermove", (event) => {
      const [left, top] = placeOf(event);
      if (drag && event.buttons && map.view.zoom > 1) {
        const [dx, dy] = [left - drag.at[0], top - drag.at[1]];
        if (drag.moved || Math.hypot(dx, dy) > 4) {
          drag = { at: [left, top], moved: true };
          map.move(dx, dy);
          draw();
        }
        return;
      }
      const i = map.nodeAt(left, top, isShown);
      canvas.style.cursor = i < 0 ? "default" : "pointer";
      const tip = byId("tip");
      tip.hidden = i < 0;
      if (i < 0) return;
      const [[which, sure]] = answers(i);
      tip.textContent = `${nameOf(i)}: ${classes[which]}, ${percent(sure)}; ${ROLES[role[i]]}`;
      const [px, py] = map.at(i);
      tip.style.left = `${Math.max(0, Math.min(px + 12, canvas.clientWidth - tip.offsetWidth - 4))}px`;
      tip.style.top = `${py + 14 + tip.offsetHeight > canvas.clientHeight ? py - tip.offsetHeight - 10 : py + 14}px`;
    });
    canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
    canvas.addEventListener("click", (event) => {
      if (drag?.moved) return;
      const i = map.nodeAt(...placeOf(event), isShown, 18);
      if (i >= 0) choose(i);
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, ...placeOf(event));
    }, { passive: false });
    const zoom = (factor, ...at) => {
      map.zoomTo(map.view.zoom * factor, ...at);
      canvas.style.touchAction = map.view.zoom > 1 ? "none" : "";
      draw();
    };
    const middle = () => (chosen < 0 ? [] : map.at(chosen));
    byId("in").addEventListener("click", () => zoom(1.6, ...middle()));
    byId("out").addEventListener("click", () => zoom(1 / 1.6, ...middle()));
    const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    canvas.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "=") zoom(1.6, ...middle());
      else if (event.key === "-") zoom(1 / 1.6, ...middle());
      else if (event.key in ARROWS) {
        event.preventDefault();
        const next = chosen < 0 ? 0 : map.towards(chosen, graph.neighbours(chosen), ARROWS[event.key]);
        if (next >= 0) choose(next);
        else say("No neighbour lies there.", 0);
      }
    });

    // The key, drawn as on the map.
    function drawKey() {
      const list = byId("key");
      list.replaceChildren();
      const entry = (name, paint, attributes = {}) => {
        const item = element("li", "", attributes);
        const image = element("canvas", "", { width: 36, height: 36, "aria-hidden": "true" });
        const pen = image.getContext("2d");
        pen.scale(2, 2);
        pen.lineWidth = 1.5;
        pen.beginPath();
        paint(pen);
        item.append(image, element("span", name));
        list.append(item);
      };
      classes.forEach((name, which) => entry(name, (pen) => {
        pen.fillStyle = map.colourOf(which);
        map.shapeOf(which)(pen, 9, 9, 5);
        pen.fill();
      }, classes.length <= map.mostNames ? { class: "named" } : {}));
      entry("mistake, ringed in its label’s colour", (pen) => {
        pen.strokeStyle = map.colourOf(1);
        pen.fillStyle = map.colourOf(0);
        pen.arc(9, 9, 3, 0, 2 * Math.PI);
        pen.fill();
        pen.beginPath();
        pen.arc(9, 9, 6.5, 0, 2 * Math.PI);
        pen.stroke();
      });
      if (data.suspects.length) {
        entry("doubtful label", (pen) => {
          pen.strokeStyle = akgnn.colour("ink");
          for (const [left, top] of [[9, 1], [17, 9], [9, 17], [1, 9]]) pen.lineTo(left, top);
          pen.closePath();
          pen.stroke();
        });
      }
    }

    function redraw() {
      drawKey();
      map.place();
      draw();
      if (chosen >= 0) explain(0);
    }

    if (network) {
      byId("sliders").setAttribute("aria-label", `${kind.symbol} of each layer`);
      sliderParts().forEach(addSlider);
      // The browser compiles what runs often: after that the time of a pass is that of a pass.
      for (const begun = performance.now(); performance.now() - begun < 80;) network.run(scalars);
      runNow();
    }
    byId("node").append(element("p", "Choose a node: click on it, or find it by its id.", { class: "quiet" }));
    redraw();
    describe();
    akgnn.redraw.push(redraw);
    new ResizeObserver(() => requestAnimationFrame(() => {
      map.place();
      draw();
    })).observe(canvas);
    // For tests, and for whoever opens the console.
    return {
      graph, network, learnedScalars, role, set, choose,
      get chosen() { return chosen; },
      get scalars() { return scalars; },
      get predicted() { return result.predicted; },
      probabilities: (values) => {
        const { logits } = network.run(values);
        return Array.from({ length: count }, (_, i) => network.probabilities(logits, i));
      },
      effects: (i, values) => {
        const why = network.explainer(i, values);
        return { ...why, effects: graph.neighbours(i).map(why.effect) };
      },
      answers,
    };
  }

  return start();
});
