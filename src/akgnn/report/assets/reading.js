// What the lines of a chart say where the pointer is: a box below the chart, so that it covers none
// of them. In the order of the key.
"use strict";
akgnn.reading = (() => {
  const known = new WeakSet();
  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = { dash: "7 4", dot: "2 3", dashdot: "7 3 2 3", longdash: "11 4", longdashdot: "11 3 2 3" };
  const GAP = 4;

  const make = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  function swatch(trace) {
    const picture = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    const look = {
      x1: 0, y1: 5, x2: 24, y2: 5, "stroke-width": trace.line ? 2 : 8, stroke: (trace.line ?? trace.marker).color,
      "stroke-dasharray": DASHES[trace.line?.dash] ?? "",
    };
    for (const [key, value] of Object.entries(look)) line.setAttribute(key, value);
    picture.setAttribute("width", 24);
    picture.setAttribute("height", 10);
    picture.append(line);
    return picture;
  }

  function fill(chart, points) {
    const { x } = points[0];
    const at = typeof x === "number" ? x.toLocaleString("en", { maximumFractionDigits: 3 }).replace("-", "−") : x;
    const rows = [...points].sort((a, b) => a.curveNumber - b.curveNumber).map(({ data, y }) => {
      const row = make("div", "");
      row.append(swatch(data), make("span", data.name), make("b", data.said(y)));
      return row;
    });
    box.replaceChildren(make("p", `${chart.layout.xaxis.title.text} ${at}`), ...rows);
  }

  // One box for all charts, beside all else, so that nothing moves when it comes.
  const box = make("div", "", { class: "reading", "aria-hidden": "true" });
  const hide = () => { box.hidden = true; };
  hide();
  document.body.append(box);
  addEventListener("scroll", hide, { passive: true });

  // Below the chart; above where the window ends there; and where there is room for neither, over
  // the half of it that is not pointed at.
  function place(chart, across) {
    const area = chart.getBoundingClientRect();
    box.style.left = "0";
    const { width, height } = box.getBoundingClientRect();
    const [below, above] = [area.bottom + GAP, area.top - height - GAP];
    const isFree = below + height <= innerHeight || above >= 0;
    const side = across > area.width / 2 ? 0 : area.width - width;
    const left = isFree ? across - width / 2 : side;
    const top = below + height <= innerHeight ? below : above >= 0 ? above : innerHeight - height - GAP;
    const most = document.documentElement.clientWidth - width;
    box.style.left = `${Math.max(0, Math.min(area.left + left, most)) + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  }

  // Makes a chart that plotly has drawn tell what is under the pointer.
  return (chart) => {
    hide();
    if (known.has(chart)) return;
    known.add(chart);
    chart.on("plotly_hover", ({ points }) => {
      const told = points.filter(({ data }) => data.said);
      if (!told.length) return;
      fill(chart, told);
      box.hidden = false;
      const { xaxis } = told[0];
      place(chart, xaxis._offset + xaxis.d2p(told[0].x));
    });
    chart.on("plotly_unhover", hide);
  };
})();
