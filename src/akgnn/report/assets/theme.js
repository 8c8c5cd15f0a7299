// Light and dark: the system decides until the button is pressed.
"use strict";
const akgnn = {
  data: JSON.parse(document.getElementById("drawn").textContent),
  redraw: [],
};

(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function show() {
    button.setAttribute("aria-pressed", String(isDark()));
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
  button.setAttribute("aria-pressed", String(isDark()));

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
})();
