// Before the first paint: the theme that was chosen last time.
"use strict";
try {
  const theme = localStorage.getItem("akgnn-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden; the system's theme then holds.
}
document.documentElement.classList.add("scripted");
