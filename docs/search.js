// The theme searches when a key is let go. A λ that was pasted, or put in by an input method, lets go of none.
document.querySelector("[data-md-component=search-query]")?.addEventListener("input", (event) => {
  event.target.dispatchEvent(new KeyboardEvent("keyup"));
});
