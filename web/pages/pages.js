// What pages do with a script, besides what htmx does: keys. Without it, everything still works.
import "htmx.org/dist/htmx.esm.js";

const typing = (element) => element.matches("input, textarea, select, [contenteditable]");

function move(step) {
  const links = [...document.querySelectorAll(".row > a, .row h2 a")];
  const at = links.indexOf(document.activeElement);
  const next = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  next?.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (typing(event.target)) {
    if (event.key !== "Escape") return;
    // It would empty the field, and the hits would go.
    event.preventDefault();
    event.target.blur();
    return;
  }
  const actions = {
    "/": () => document.getElementById("find")?.focus(),
    "?": () => document.getElementById("keys")?.showModal(),
    j: () => move(1),
    k: () => move(-1),
    e: () => document.querySelector("[data-key=e]")?.click(),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
