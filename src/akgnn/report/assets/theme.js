// What the page carries; and light and dark: the system decides until the button is pressed.
"use strict";
const akgnn = { redraw: [] };

// What the page carries compressed, by its name (see packing.py).
akgnn.inflated = (name) => {
  const text = atob(document.getElementById(`packed-${name}`).textContent);
  const packed = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) packed[k] = text.charCodeAt(k);
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
};

// First the page is painted, then its numbers are read. A tab that is not shown paints nothing.
akgnn.loaded = new Promise((go) => {
  requestAnimationFrame(() => setTimeout(go));
  setTimeout(go, 250);
}).then(() => akgnn.inflated("drawn").json()).then((data) => { akgnn.data = data; });
if (!("DecompressionStream" in window)) document.getElementById("too-old").hidden = false;

(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  // The button says what it will do.
  const name = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
  };

  function show() {
    name();
    for (const draw of akgnn.redraw) draw();
  }

  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try {
      localStorage.setItem("akgnn-theme", root.dataset.theme);
    } catch {
      // The choice then lasts as long as the page.
    }
    show();
  });
  system.addEventListener("change", show);
  name();

  // Colours are named in the style sheet; the charts ask for them as the browser resolves them.
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  akgnn.colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  akgnn.faded = (name, alpha) => {
    const [red, green, blue] = akgnn.colour(name).match(/[\d.]+/g);
    return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
  };

  // A number with a true minus; adding 0 turns -0 into 0.
  akgnn.number = (value, digits) => (Number(value.toFixed(digits)) + 0).toFixed(digits).replace("-", "−");

  // Draws at once what can be seen, and what is folded away when it is unfolded.
  akgnn.whenShown = (element, draw) => {
    let isDrawn = false;
    const tryIt = () => {
      // What is in a closed box has a size all the same.
      if (isDrawn || element.closest("details:not([open])")) return;
      isDrawn = true;
      akgnn.redraw.push(draw);
      draw();
    };
    for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.addEventListener("toggle", tryIt);
    }
    tryIt();
  };

  // A link to something folded away unfolds it.
  function unfold() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    if (target?.matches("details")) target.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {
    // The same link again changes no hash.
    if (event.target.closest("a[href^='#']")) setTimeout(unfold);
  });
  if (location.hash) unfold();
})();
