// What pages do with a script, besides what htmx does. Without it, everything still works.
import htmx from "htmx.org/dist/htmx.esm.js";
import { watchUploads } from "./uploads.js";

const typing = (element) => element.matches("input, textarea, select, [contenteditable]");
const wide = matchMedia("(min-width: 900px)");

// The entry that was reached last, from which the next one counts when its note has the focus.
let reached;

function move(step) {
  const links = [...document.querySelectorAll(".row > a, .row > :is(h2, h3) > a")];
  const at = links.indexOf(links.includes(document.activeElement) ? document.activeElement : reached);
  reached = links[Math.min(Math.max(at + step, 0), links.length - 1)];
  reached?.focus();
}

// The palette lists the pages, and what the open page offers, and searches for anything else.
function fillPalette(text) {
  const list = document.getElementById("commands");
  const offered = document.querySelectorAll("nav a, main a.button, main .actions a");
  const entries = [...offered].map((link) => [link.textContent.trim(), link.href]);
  if (text) entries.push([`Search for “${text}”`, `/search?query=${encodeURIComponent(text)}`]);
  const words = text.toLowerCase().split(/\s+/);
  const matching = new Map(
    entries.filter(([name], at) =>
      at === entries.length - 1 || words.every((word) => name.toLowerCase().includes(word))),
  );
  list.replaceChildren(
    ...[...matching].map(([name, address]) => {
      const link = Object.assign(document.createElement("a"), { href: address, textContent: name });
      const row = document.createElement("li");
      row.append(link);
      return row;
    }),
  );
}

function openPalette() {
  const input = document.getElementById("command");
  input.value = "";
  fillPalette("");
  document.getElementById("palette").showModal();
}

const actions = {
  "/": () => document.getElementById("find")?.focus(),
  "?": () => document.getElementById("keys")?.showModal(),
  ":": openPalette,
  j: () => move(1),
  k: () => move(-1),
  e: () => document.querySelector("[data-key=e]")?.click(),
  n: () => (location.href = "/new"),
};

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("#palette")) {
    const input = document.getElementById("command");
    const stops = [input, ...document.querySelectorAll("#commands a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) stops[stops.indexOf(event.target) + step]?.focus();
    const enters = event.key === "Enter" && event.target === input;
    if (enters) stops[1]?.click();
    if (step || enters) event.preventDefault();
    return;
  }
  if (typing(event.target)) {
    if (event.key === "Escape") {
      // A field for searches would be emptied.
      event.preventDefault();
      event.target.blur();
    }
    return;
  }
  const action = !document.querySelector("dialog[open]") && actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

document.getElementById("command")?.addEventListener("input", (event) =>
  fillPalette(event.target.value.trim()));

// A hit opens beside the list where there is room.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-beside]");
  if (!link || !wide.matches || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  reached = link;
  await htmx.ajax("GET", link.href, { target: "#beside", swap: "innerHTML" });
  document.getElementById("beside").focus();
});

document.querySelector(".bar [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
watchUploads(htmx);
