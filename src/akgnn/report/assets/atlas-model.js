// The trained model, run in the page by its own formula (see chain.py and ops/adaptive.py):
// with d the degrees and c = a + |w| d, a layer is
//   symmetric:  h ← c^-1/2 (a I + w A) c^-1/2 h
//   by row:     h ← c^-1   (a I + w A)        h
// and a node without edges keeps its signal.
"use strict";
akgnn.network = (chain, graph, calibration) => {
  const { kind, form, readout, readsInput, channels, slope } = chain;
  const layers = chain.scalars.length;
  const groups = chain.scalars[0].length;
  const width = channels / groups;
  const isConcat = readout === "concat";
  const signals = layers + (readsInput ? 1 : 0);
  const readWidth = isConcat ? channels * signals : channels;
  const classes = chain.head[chain.head.length - 1].bias.length;

  // The weight a of a node itself and w of an edge. Infinity stands for a limit.
  function weightsOf(scalar, meanDegree) {
    if (kind === "lambda") return Number.isFinite(scalar) ? [scalar - 1, 1] : [1, 0];
    if (kind === "tau") {
      return Number.isFinite(scalar) ? [1, scalar / meanDegree] : [0, Math.sign(scalar)];
    }
    return [1 - Math.abs(scalar), scalar / meanDegree];
  }

  // One layer for the first `rows` nodes, which need the first `reach` ones.
  function step(g, h, out, scaled, scalars, meanDegree, rows, reach) {
    const { rowptr, col, weight, degree } = g;
    const sum = new Float64Array(channels);
    const isSymmetric = form === "sym";
    for (let group = 0; group < groups; group += 1) {
      const [a, w] = weightsOf(scalars[group], meanDegree);
      const from = group * width;
      const to = from + width;
      const source = isSymmetric ? scaled : h;
      for (let j = 0; isSymmetric && j < reach; j += 1) {
        const c = a + Math.abs(w) * degree[j];
        const scale = c > 0 && degree[j] > 0 ? 1 / Math.sqrt(c) : 0;
        for (let k = j * channels + from, end = j * channels + to; k < end; k += 1) scaled[k] = scale * h[k];
      }
      for (let i = 0; i < rows; i += 1) {
        const at = i * channels;
        const c = a + Math.abs(w) * degree[i];
        if (!(c > 0) || degree[i] === 0) {
          for (let k = from; k < to; k += 1) out[at + k] = h[at + k];
          continue;
        }
        for (let k = from; k < to; k += 1) sum[k] = 0;
        for (let e = rowptr[i], end = rowptr[i + 1]; e < end; e += 1) {
          const other = col[e] * channels;
          if (weight) {
            const value = weight[e];
            for (let k = from; k < to; k += 1) sum[k] += value * source[other + k];
          } else {
            for (let k = from; k < to; k += 1) sum[k] += source[other + k];
          }
        }
        const own = a / c;
        const left = isSymmetric ? w / Math.sqrt(c) : w / c;
        for (let k = from; k < to; k += 1) out[at + k] = own * h[at + k] + left * sum[k];
      }
    }
  }

  function read(mixed, h, number, rows) {
    for (let i = 0; i < rows; i += 1) {
      const from = i * channels;
      const to = i * readWidth + (isConcat ? number * channels : 0);
      for (let k = 0; k < channels; k += 1) {
        const value = h[from + k];
        if (isConcat || readout === "last" || number === 0) mixed[to + k] = value;
        else if (readout === "max") mixed[to + k] = Math.max(mixed[to + k], value);
        else mixed[to + k] += value;
      }
    }
  }

  // y = x W + b.
  function multiply(x, size, weight, bias, y) {
    const wide = bias.length;
    for (let c = 0; c < wide; c += 1) y[c] = bias[c];
    for (let k = 0, at = 0; k < size; k += 1, at += wide) {
      const value = x[k];
      if (value !== 0) for (let c = 0; c < wide; c += 1) y[c] += value * weight[at + c];
    }
  }

  // What comes after the readout, for the first `rows` nodes.
  function classify(mixed, rows) {
    const logits = new Float32Array(rows * classes);
    const factor = readout === "mean" ? 1 / signals : 1;
    const widest = Math.max(readWidth, ...chain.head.map((layer) => layer.bias.length));
    let x = new Float64Array(widest);
    let y = new Float64Array(widest);
    for (let i = 0; i < rows; i += 1) {
      let size = readWidth;
      for (let k = 0; k < size; k += 1) x[k] = factor * mixed[i * readWidth + k];
      for (let number = 0; number < chain.head.length; number += 1) {
        const { weight, bias } = chain.head[number];
        for (let k = 0; number > 0 && k < size; k += 1) if (x[k] < 0) x[k] *= slope;
        if (weight) {
          multiply(x, size, weight, bias, y);
          [x, y] = [y, x];
        } else {
          for (let c = 0; c < bias.length; c += 1) x[c] += bias[c];
        }
        size = bias.length;
      }
      for (let c = 0; c < classes; c += 1) logits[i * classes + c] = x[c];
    }
    return logits;
  }

  // Buffers for passes over the whole graph, made once.
  const whole = [0, 1, 2].map(() => new Float32Array(graph.count * channels));
  const wholeMixed = new Float32Array(graph.count * readWidth);

  // Class scores. Of part of a graph, sorted by distance, `within[d]` nodes are up to d edges from
  // the first, which alone is read out.
  function scores(g, signal, scalars, meanDegree, within = null) {
    let [h, out, scaled] = within ? [0, 1, 2].map(() => new Float32Array(g.count * channels)) : whole;
    const rows = within ? 1 : g.count;
    const mixed = within ? new Float32Array(readWidth) : wholeMixed;
    h.set(signal);
    if (readsInput) read(mixed, h, 0, rows);
    for (let k = 0; k < layers; k += 1) {
      const first = within ? within[layers - k - 1] : g.count;
      const reach = within ? within[layers - k] : g.count;
      step(g, h, out, scaled, scalars[k], meanDegree, first, reach);
      [h, out] = [out, h];
      read(mixed, h, k + (readsInput ? 1 : 0), rows);
    }
    return classify(mixed, rows);
  }

  // Probabilities of one node, as calibration.py makes them of its scores.
  function probabilities(logits, node) {
    const z = Array.from(logits.subarray(node * classes, (node + 1) * classes));
    const { temperature, power, size, uniform_share: share } = calibration;
    let divisor = temperature;
    if (power !== 0) {
      const mean = z.reduce((sum, value) => sum + value, 0) / classes;
      const spread = Math.sqrt(Math.max(z.reduce((sum, value) => sum + (value - mean) ** 2, 0) / classes, 1e-36));
      const ratio = Math.max(spread / size, 1e-6);
      divisor = temperature * (Number.isFinite(ratio) ? ratio : 1) ** power;
    }
    const top = Math.max(...z);
    const parts = z.map((value) => Math.exp((value - top) / divisor));
    const total = parts.reduce((sum, value) => sum + value, 0);
    return parts.map((value) => ((1 - share) * value) / total + share / classes);
  }

  // The log-odds of one class against all others together.
  function logOdds(p, chosen) {
    const others = p.reduce((sum, value, k) => (k === chosen ? sum : sum + value), 0);
    return Math.log(p[chosen]) - Math.log(Math.max(others, 1e-300));
  }

  const best = (p) => p.indexOf(Math.max(...p));

  function run(scalars) {
    const start = performance.now();
    const logits = scores(graph, chain.signal, scalars, graph.meanDegree);
    const predicted = new Uint16Array(graph.count);
    for (let i = 0; i < graph.count; i += 1) {
      let top = i * classes;
      for (let k = top + 1; k < (i + 1) * classes; k += 1) if (logits[k] > logits[top]) top = k;
      predicted[i] = top - i * classes;
    }
    return { logits, predicted, milliseconds: performance.now() - start };
  }

  // The nodes that one of them can hear from, sorted by distance, as a small graph.
  function around(node) {
    const order = [node];
    const place = new Map([[node, 0]]);
    const within = [1];
    for (let d = 1, at = 0; d <= layers; d += 1) {
      for (const end = order.length; at < end; at += 1) {
        for (let e = graph.rowptr[order[at]]; e < graph.rowptr[order[at] + 1]; e += 1) {
          const other = graph.col[e];
          if (!place.has(other)) {
            place.set(other, order.length);
            order.push(other);
          }
        }
      }
      within.push(order.length);
    }
    const rows = within[layers - 1];
    const rowptr = new Uint32Array(order.length + 1);
    const col = [];
    const weight = [];
    for (let i = 0; i < order.length; i += 1) {
      for (let e = graph.rowptr[order[i]]; i < rows && e < graph.rowptr[order[i] + 1]; e += 1) {
        col.push(place.get(graph.col[e]));
        weight.push(graph.weight ? graph.weight[e] : 1);
      }
      rowptr[i + 1] = col.length;
    }
    const signal = new Float32Array(order.length * channels);
    order.forEach((other, i) => signal.set(chain.signal.subarray(other * channels, (other + 1) * channels), i * channels));
    const degree = Float64Array.from(order, (other) => graph.degree[other]);
    return { part: { rowptr, col, weight, degree, count: order.length }, place, within, signal };
  }

  // The degree of a node without what comes from another one.
  function degreeWithout(node, other) {
    let degree = 0;
    for (let e = graph.rowptr[node]; e < graph.rowptr[node + 1]; e += 1) {
      if (graph.col[e] !== other) degree += graph.weight ? graph.weight[e] : 1;
    }
    return degree;
  }

  // Why a node gets its class, by the definition of explain/explanation.py: the log-odds as they
  // are, less those on the graph without the edges between the two nodes.
  function explainer(node, scalars) {
    const { part, place, within, signal } = around(node);
    const now = probabilities(scores(part, signal, scalars, graph.meanDegree, within), 0);
    const chosen = best(now);
    const odds = logOdds(now, chosen);

    function effect(other) {
      let total = graph.degreeSum;
      let connected = graph.connected;
      const undo = [];
      for (const [one, two] of [[node, other], [other, node]]) {
        const degree = degreeWithout(one, two);
        total += degree - graph.degree[one];
        connected -= graph.degree[one] > 0 && !(degree > 0) ? 1 : 0;
        const at = place.get(one);
        const from = place.get(two);
        if (at === undefined) continue;
        undo.push(() => { part.degree[at] = graph.degree[one]; });
        part.degree[at] = degree;
        for (let e = part.rowptr[at]; e < part.rowptr[at + 1]; e += 1) {
          if (part.col[e] !== from) continue;
          const value = part.weight[e];
          undo.push(() => { part.weight[e] = value; });
          part.weight[e] = 0;
        }
      }
      const meanDegree = !chain.followsDegree ? graph.meanDegree : connected ? total / connected : 1;
      const p = probabilities(scores(part, signal, scalars, meanDegree, within), 0);
      undo.forEach((back) => back());
      return { node: other, effect: odds - logOdds(p, chosen), without: best(p) };
    }

    const single = { rowptr: [0, 0], col: [], weight: null, degree: [0], count: 1 };
    const own = chain.signal.subarray(node * channels, (node + 1) * channels);
    const alone = probabilities(scores(single, own, scalars, graph.meanDegree, Array(layers + 1).fill(1)), 0);
    return { probabilities: now, chosen, logOdds: odds, alone, effect };
  }

  return { run, probabilities, explainer, classes, best };
};
