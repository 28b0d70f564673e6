// The nodes as a list, for the keyboard and screen readers too. Only rows in sight are made.

import { h, line } from "./dom.js";

const ROW = 38;
const SPARE = 6;
let lists = 0;

export class NodeList {
  /** `look(at)` returns the colour of a node, `open(at)` and `point(at)` are told what is chosen. */
  constructor(graph, { look, open, point }) {
    Object.assign(this, { graph, look, open, point });
    this.id = `djinn-list-${++lists}`;
    this.rows = [];
    this.active = -1;
    this.space = h("div", { class: "rows", role: "presentation" });
    this.element = h(
      "div",
      {
        class: "list",
        role: "listbox",
        tabindex: "0",
        "aria-label": "Notes",
        on: {
          scroll: () => this.render(),
          keydown: (event) => this.key(event),
          click: (event) => this.click(event),
          focus: () => this.active < 0 && this.activate(0),
          blur: () => this.point(-1),
          pointermove: (event) => this.point(this.nodeOf(event)),
          pointerleave: () => this.point(-1),
        },
      },
      this.space,
    );
  }

  nodeOf(event) {
    const row = event.target.closest("[role=option]");
    return row ? Number(row.dataset.node) : -1;
  }

  click(event) {
    const at = this.nodeOf(event);
    if (at < 0) return;
    this.activate(this.rows.indexOf(at), false);
    this.open(at);
  }

  /** Show these nodes, in this order. */
  show(rows) {
    const before = this.rows[this.active];
    this.rows = rows;
    this.active = rows.indexOf(before);
    this.space.style.height = `${rows.length * ROW}px`;
    this.render();
  }

  /** Mark the row of a node, and bring it into sight. */
  mark(at) {
    this.chosen = at;
    const row = this.rows.indexOf(at);
    if (row >= 0) this.activate(row, false);
    else this.render();
  }

  activate(row, tell = true) {
    this.active = Math.max(-1, Math.min(this.rows.length - 1, row));
    const top = this.active * ROW;
    const { element } = this;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW > element.scrollTop + element.clientHeight) element.scrollTop = top + ROW - element.clientHeight;
    this.render();
    if (tell && this.active >= 0) this.point(this.rows[this.active]);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps) {
      const row = Math.max(this.active, 0) + steps[event.key];
      this.activate(Math.max(0, Math.min(this.rows.length - 1, row)));
    } else if ((event.key === "Enter" || event.key === " ") && this.active >= 0) this.open(this.rows[this.active], true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  render() {
    const { element, rows } = this;
    const first = Math.max(0, Math.floor(element.scrollTop / ROW) - SPARE);
    const last = Math.min(rows.length, Math.ceil((element.scrollTop + (element.clientHeight || 400)) / ROW) + SPARE);
    // Rows that stay are kept: one that is replaced under the pointer would take no click.
    const kept = new Map([...this.space.children].map((row) => [`${row.dataset.row} ${row.dataset.node}`, row]));
    const shown = rows.slice(first, last).map((at, step) => kept.get(`${first + step} ${at}`) ?? this.row(at, first + step));
    for (const row of kept.values()) if (!shown.includes(row)) row.remove();
    shown.forEach((row, step) => {
      if (this.space.children[step] !== row) this.space.insertBefore(row, this.space.children[step] ?? null);
      this.update(row);
    });
    const active = this.active >= first && this.active < last;
    if (active) element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
    else element.removeAttribute("aria-activedescendant");
  }

  row(at, number) {
    const node = this.graph.nodes[at];
    const row = h(
      "div",
      {
        id: `${this.id}-${number}`,
        class: "row",
        role: "option",
        "aria-posinset": String(number + 1),
        "data-row": String(number),
        "data-node": String(at),
      },
      h("span", { class: "dot", "aria-hidden": "true" }),
      h("span", { class: "name", dir: "auto" }, line(node.title) || "untitled"),
      h("span", { class: "count", "aria-label": `${node.degree} links` }, node.degree ? String(node.degree) : ""),
    );
    row.style.transform = `translateY(${number * ROW}px)`;
    return row;
  }

  update(row) {
    const at = Number(row.dataset.node);
    row.firstChild.style.background = this.look(at);
    row.classList.toggle("active", Number(row.dataset.row) === this.active);
    row.setAttribute("aria-selected", String(at === this.chosen));
    row.setAttribute("aria-setsize", String(this.rows.length));
  }
}
