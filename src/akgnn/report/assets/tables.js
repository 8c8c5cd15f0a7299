// Tables: intervals and single runs, sorting by a column, opening a row, choosing a graph. And
// commands, to be copied.
"use strict";
akgnn.loaded.then(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const { tables = {}, texts = [], command } = akgnn.data;
  const dataOf = new Map();

  const make = (name, attributes = {}, text = "") => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };
  const draw = (name, attributes) => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };

  // The number that a cell begins with, in the column of this key; null where it has none.
  const keysOf = (table) => table.dataset.keys.split(" ");
  function numberIn(line, key) {
    const cell = line.cells[keysOf(line.closest("table")).indexOf(key)];
    const value = Number.parseFloat(cell?.textContent.replace("−", "-").replace("±", ""));
    return Number.isFinite(value) ? value : null;
  }

  // The mean with its interval, every run, and the published value, on the scale of the graph.
  function drawInterval(cell, row, scale) {
    const at = (value) => {
      const place = (100 * (value - scale.low)) / (scale.high - scale.low);
      return `${Math.min(100, Math.max(0, place)).toFixed(2)}%`;
    };
    const parts = [draw("line", { class: "base", x1: 0, y1: 10, x2: "100%", y2: 10 })];
    const mark = (value, name, attributes) => {
      const group = draw("svg", { x: at(value), overflow: "visible" });
      group.append(draw(name, attributes));
      parts.push(group);
    };
    for (const score of row.scores) {
      if (score !== null) parts.push(draw("circle", { class: "run", cx: at(score), cy: 21, r: 2.5 }));
    }
    const known = row.scores.filter((score) => score !== null);
    const mean = known.reduce((sum, score) => sum + score, 0) / known.length;
    const published = numberIn(cell.parentElement, "published");
    const said = known.length ? [`mean ${mean.toFixed(1)}`] : [];
    if (row.ci && row.ci[0] !== null) {
      const [low, high] = row.ci;
      parts.push(draw("line", { class: "ci", x1: at(low), y1: 10, x2: at(high), y2: 10 }));
      said.push(`95 % interval ${low} to ${high}`);
    }
    if (known.length) mark(mean, "line", { class: "mean", x1: 0, y1: 3, x2: 0, y2: 17 });
    if (published !== null) {
      mark(published, "path", { class: "published", d: "M0 4.5 5 10 0 15.5 -5 10z" });
      said.push(`published ${published}`);
    }
    const picture = draw("svg", { class: "interval", role: "img", "aria-label": said.join(", ") || "no run" });
    picture.append(...parts);
    cell.replaceChildren(picture);
  }

  for (const [id, data] of Object.entries(tables)) {
    const table = document.getElementById(id);
    [...table.tBodies].forEach((body, k) => dataOf.set(body, data.rows[k]));
    const drawAll = () => {
      if (table.dataset.drawn || table.closest("details:not([open])")) return;
      table.dataset.drawn = "true";
      for (const body of table.tBodies) {
        drawInterval(body.rows[0].querySelector(".drawn"), dataOf.get(body), data);
      }
    };
    table.closest("details")?.addEventListener("toggle", drawAll);
    drawAll();
  }

  function valueOf(body, key, column) {
    const line = body.rows[0];
    if (key === "label" || key === "verdict") return line.cells[column].textContent.trim().toLowerCase();
    return key === "ci" ? dataOf.get(body).ci?.[0] ?? null : numberIn(line, key);
  }

  // What is missing stays at the end, whichever way the column is sorted.
  function compare(first, second, direction) {
    if (first === null || second === null) return (first === null) - (second === null);
    if (typeof first === "string") return direction * first.localeCompare(second);
    return direction * (first - second);
  }

  // The best to the top, and names by the alphabet.
  function firstOrder(table, key) {
    if (key === "label" || key === "verdict") return "ascending";
    const isScore = key === "mean" || key === "ci" || key === "published";
    return isScore && "lowerIsBetter" in table.dataset ? "ascending" : "descending";
  }

  function sort(button) {
    const head = button.closest("th");
    const table = head.closest("table");
    const now = head.getAttribute("aria-sort");
    const turned = now === "ascending" ? "descending" : "ascending";
    const key = keysOf(table)[head.cellIndex];
    const order = now === "none" ? firstOrder(table, key) : turned;
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    const bodies = [...table.tBodies].map((body) => ({
      body, value: valueOf(body, key, head.cellIndex),
    }));
    bodies.sort((a, b) => compare(a.value, b.value, order === "ascending" ? 1 : -1));
    table.append(...bodies.map((entry) => entry.body));
  }

  for (const head of document.querySelectorAll(".results thead th")) {
    const button = make("button", { type: "button" }, head.firstChild.textContent);
    button.addEventListener("click", () => sort(button));
    head.firstChild.replaceWith(button);
    head.setAttribute("aria-sort", "none");
  }

  function detailsOf(row, dataset) {
    const list = make("dl");
    const add = (term, value) => {
      const entry = make("div");
      entry.append(make("dt", {}, term), value);
      list.append(entry);
    };
    for (let k = 0; k < row.detail.length; k += 2) {
      const [term, text] = [texts[row.detail[k]], texts[row.detail[k + 1]]];
      const value = make("dd", term.startsWith("Failed") ? { class: "failed" } : {});
      value.append(term === command ? make("code", {}, text.replace("--dataset @", `--dataset ${dataset}`)) : text);
      add(term, value);
    }
    if (row.scores.length) {
      const value = make("dd", { class: "seeds" });
      row.scores.forEach((score, k) => {
        const run = make("span");
        run.append(make("span", { class: "quiet" }, String(row.seeds ? row.seeds[k] : k)), ` ${score ?? "–"}`);
        value.append(run, " ");
      });
      add("Score by seed", value);
    }
    return list;
  }

  function open(button) {
    const body = button.closest("tbody");
    if (body.rows.length === 1) {
      const line = make("tr", { class: "detail" });
      const cell = make("td", { colspan: body.rows[0].cells.length });
      cell.append(detailsOf(dataOf.get(body), tables[body.closest("table").id].dataset));
      line.append(cell);
      body.append(line);
    } else {
      body.rows[1].hidden = !body.rows[1].hidden;
    }
    button.setAttribute("aria-expanded", String(!body.rows[1].hidden));
  }

  for (const button of document.querySelectorAll(".results tbody button")) {
    button.className = "open";
    button.setAttribute("aria-expanded", "false");
    button.addEventListener("click", () => open(button));
  }

  // A command is copied, or selected where the browser does not let pages copy.
  for (const button of document.querySelectorAll(".copy")) {
    const text = document.getElementById(button.getAttribute("aria-controls"));
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
      }
    });
  }

  function chooseGraph(choice) {
    const chosen = choice.querySelector("input:checked").value;
    const section = choice.closest("details");
    for (const block of section.querySelectorAll(".graph-block")) {
      block.classList.toggle("other", chosen !== "all" && block.id !== chosen);
    }
  }

  for (const choice of document.querySelectorAll("[data-graphs]")) {
    choice.addEventListener("change", () => chooseGraph(choice));
    chooseGraph(choice);
  }

  // What goes on beyond an edge of its box fades there.
  function fade(box) {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("more-right", rest > 1);
    box.classList.toggle("more-left", box.scrollLeft > 1);
  }
  const sizes = new ResizeObserver((entries) => {
    for (const entry of entries) fade(entry.target.closest(".scroll"));
  });
  for (const box of document.querySelectorAll(".scroll")) {
    box.addEventListener("scroll", () => fade(box), { passive: true });
    sizes.observe(box);
    if (box.firstElementChild) sizes.observe(box.firstElementChild);
  }
});
