// Tables: sorting by a column, opening a row, choosing a graph. And commands, to be copied.
"use strict";
(() => {
  const rank = (cell, kind) => {
    const value = cell.dataset.value;
    if (value === "") return null;
    return kind === "text" ? value.toLowerCase() : Number(value);
  };

  // What is missing stays at the end, whichever way the column is sorted.
  function compare(first, second, direction) {
    if (first === null || second === null) return (first === null) - (second === null);
    if (typeof first === "string") return direction * first.localeCompare(second);
    return direction * (first - second);
  }

  function sort(button) {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = head.cellIndex;
    const rises = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentElement.cells) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", rises ? "ascending" : "descending");
    const bodies = [...table.tBodies].map((body) => ({
      body,
      value: rank(body.rows[0].cells[column], button.dataset.kind),
    }));
    bodies.sort((a, b) => compare(a.value, b.value, rises ? 1 : -1));
    table.append(...bodies.map((entry) => entry.body));
  }

  for (const button of document.querySelectorAll(".results thead button")) {
    button.addEventListener("click", () => sort(button));
  }

  for (const button of document.querySelectorAll(".results .open")) {
    button.addEventListener("click", () => {
      const isOpen = button.getAttribute("aria-expanded") === "true";
      button.setAttribute("aria-expanded", String(!isOpen));
      document.getElementById(button.getAttribute("aria-controls")).hidden = isOpen;
    });
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
    const section = choice.closest("section");
    for (const block of section.querySelectorAll(".graph-block")) {
      block.classList.toggle("other", chosen !== "all" && block.id !== chosen);
    }
  }

  for (const choice of document.querySelectorAll("[data-graphs]")) {
    choice.addEventListener("change", () => chooseGraph(choice));
    chooseGraph(choice);
  }
})();
