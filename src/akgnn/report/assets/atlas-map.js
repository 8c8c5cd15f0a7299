// The map of the nodes on a canvas: drawn, zoomed, and asked which node is where.
"use strict";
akgnn.map = (canvas, nodes) => {
  const { count, x, y, source, target } = nodes;
  const COLOURS = 8;
  const MOST_EDGES = 40000;
  // Of more classes the names would cover the map.
  const mostNames = 12;
  // A class has a colour and, from the ninth on, another shape.
  const SHAPES = [
    (path, px, py, r) => { path.moveTo(px + r, py); path.arc(px, py, r, 0, 2 * Math.PI); },
    (path, px, py, r) => path.rect(px - 0.9 * r, py - 0.9 * r, 1.8 * r, 1.8 * r),
    (path, px, py, r) => polygon(path, [[px, py - 1.3 * r], [px + 1.2 * r, py + 0.9 * r], [px - 1.2 * r, py + 0.9 * r]]),
    (path, px, py, r) => diamond(path, px, py, 1.3 * r),
    (path, px, py, r) => polygon(path, [[px, py + 1.3 * r], [px + 1.2 * r, py - 0.9 * r], [px - 1.2 * r, py - 0.9 * r]]),
  ];
  const view = { zoom: 1, dx: 0, dy: 0 };
  const behind = document.createElement("canvas");
  let size = { width: 0, height: 0, ratio: 1 };
  let px = new Float32Array(count);
  let py = new Float32Array(count);

  function polygon(path, corners) {
    corners.forEach(([cx, cy], k) => (k ? path.lineTo(cx, cy) : path.moveTo(cx, cy)));
    path.closePath();
  }

  function diamond(path, cx, cy, r) {
    polygon(path, [[cx, cy - r], [cx + r, cy], [cx, cy + r], [cx - r, cy]]);
  }

  const colourOf = (which) => akgnn.colour(`class-${(which % COLOURS) + 1}`);
  const shapeOf = (which) => SHAPES[Math.floor(which / COLOURS) % SHAPES.length];
  const radius = () => Math.min(5, Math.max(1.7, 105 / Math.sqrt(count))) * Math.sqrt(view.zoom) * (size.width < 500 ? 0.8 : 1);

  function place() {
    const box = canvas.getBoundingClientRect();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    size = { width: box.width, height: box.height, ratio };
    for (const each of [canvas, behind]) {
      each.width = Math.round(box.width * ratio);
      each.height = Math.round(box.height * ratio);
    }
    const margin = 16;
    for (let i = 0; i < count; i += 1) {
      px[i] = (margin + x[i] * (box.width - 2 * margin)) * view.zoom + view.dx;
      py[i] = (margin + (1 - y[i]) * (box.height - 2 * margin)) * view.zoom + view.dy;
    }
    drawEdges();
  }

  // Edges do not change with the classes, so they are drawn once for each view.
  function drawEdges() {
    const pen = behind.getContext("2d");
    pen.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    pen.strokeStyle = akgnn.faded("muted", Math.min(0.25, Math.max(0.03, 350 / source.length)));
    pen.lineWidth = 0.6;
    const every = Math.max(1, Math.ceil(source.length / MOST_EDGES));
    pen.beginPath();
    for (let e = 0; e < source.length; e += every) {
      pen.moveTo(px[source[e]], py[source[e]]);
      pen.lineTo(px[target[e]], py[target[e]]);
    }
    pen.stroke();
  }

  // What is shown: the class of each node, which nodes are faint, ringed, marked or chosen.
  function draw({ predicted, learned, isShown, ring, marked, chosen, around, names }) {
    const pen = canvas.getContext("2d");
    pen.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    pen.drawImage(behind, 0, 0, size.width, size.height);
    const r = radius();
    const classes = names.length;
    const lists = Array.from({ length: 2 * classes }, () => []);
    for (let i = 0; i < count; i += 1) lists[predicted[i] + (isShown(i) ? classes : 0)].push(i);
    lists.forEach((list, number) => {
      if (!list.length) return;
      const which = number % classes;
      const shape = shapeOf(which);
      pen.globalAlpha = number < classes ? 0.1 : 0.8;
      pen.fillStyle = colourOf(which);
      pen.beginPath();
      for (const i of list) shape(pen, px[i], py[i], predicted[i] === learned[i] ? r : 1.4 * r);
      pen.fill();
    });
    pen.globalAlpha = 1;
    drawRings(pen, ring, isShown, r, classes);
    drawMarks(pen, marked, isShown, r);
    if (chosen >= 0) drawChosen(pen, chosen, around, r);
    if (classes <= mostNames) drawNames(pen, predicted, isShown, names);
  }

  // A mistake has a ring in the colour of its label.
  function drawRings(pen, ring, isShown, r, classes) {
    pen.lineWidth = 1.4;
    for (let which = 0; which < classes; which += 1) {
      pen.strokeStyle = colourOf(which);
      pen.beginPath();
      for (let i = 0; i < count; i += 1) {
        if (ring[i] !== which + 1 || !isShown(i)) continue;
        pen.moveTo(px[i] + r + 3, py[i]);
        pen.arc(px[i], py[i], r + 3, 0, 2 * Math.PI);
      }
      pen.stroke();
    }
  }

  function drawMarks(pen, marked, isShown, r) {
    pen.strokeStyle = akgnn.colour("ink");
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const i of marked) if (isShown(i)) diamond(pen, px[i], py[i], r + 7);
    pen.stroke();
  }

  function drawChosen(pen, chosen, around, r) {
    pen.strokeStyle = akgnn.colour("ink");
    pen.lineWidth = 1.2;
    pen.beginPath();
    for (const i of around) {
      pen.moveTo(px[chosen], py[chosen]);
      pen.lineTo(px[i], py[i]);
    }
    pen.stroke();
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(px[chosen], py[chosen], r + 6, 0, 2 * Math.PI);
    pen.stroke();
  }

  // The name of each class where most of its nodes are, none over another.
  function drawNames(pen, predicted, isShown, names) {
    pen.font = `600 ${size.width < 500 ? 11 : 13}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    const taken = [];
    names.forEach((name, which) => {
      const list = [];
      for (let i = 0; i < count; i += 1) if (predicted[i] === which && isShown(i)) list.push(i);
      if (!list.length) return;
      const middle = (values) => list.map((i) => values[i]).sort((a, b) => a - b)[list.length >> 1];
      const text = name.length > 24 ? `${name.slice(0, 23)}…` : name;
      const half = pen.measureText(text).width / 2 + 3;
      const left = Math.min(Math.max(middle(px), half + 2), size.width - half - 2);
      let top = Math.min(Math.max(middle(py), 12), size.height - 12);
      while (taken.some(([l, t, h]) => Math.abs(l - left) < h + half && Math.abs(t - top) < 16) && top < size.height - 12) top += 4;
      taken.push([left, top, half]);
      pen.lineWidth = 4;
      pen.strokeStyle = akgnn.colour("paper");
      pen.strokeText(text, left, top);
      pen.fillStyle = akgnn.colour("ink");
      pen.fillText(text, left, top);
    });
  }

  // The node nearest to a place, no further than a finger's width.
  function nodeAt(left, top, isShown, reach = 14) {
    let found = -1;
    let least = reach ** 2;
    for (let i = 0; i < count; i += 1) {
      const distance = (px[i] - left) ** 2 + (py[i] - top) ** 2;
      if (distance < least && isShown(i)) [found, least] = [i, distance];
    }
    return found;
  }

  // The one of some nodes that lies most in a direction from another; -1 where none does.
  function towards(from, others, [right, down]) {
    let found = -1;
    let most = 0.35;
    for (const i of others) {
      const [dx, dy] = [px[i] - px[from], py[i] - py[from]];
      const share = (dx * right + dy * down) / (Math.hypot(dx, dy) || 1);
      if (share > most) [found, most] = [i, share];
    }
    return found;
  }

  function zoomTo(zoom, left = size.width / 2, top = size.height / 2) {
    const next = Math.min(12, Math.max(1, zoom));
    view.dx = left - ((left - view.dx) * next) / view.zoom;
    view.dy = top - ((top - view.dy) * next) / view.zoom;
    view.zoom = next;
    move(0, 0);
  }

  function move(dx, dy) {
    const least = (length) => length * (1 - view.zoom);
    view.dx = Math.min(0, Math.max(least(size.width), view.dx + dx));
    view.dy = Math.min(0, Math.max(least(size.height), view.dy + dy));
    place();
  }

  const at = (i) => [px[i], py[i]];
  return { place, draw, nodeAt, towards, zoomTo, move, at, view, colourOf, shapeOf, mostNames };
};
