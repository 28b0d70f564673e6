// The panel of choices: search, colours that are filters too, tags, orphans, and the list.

import { clean, h, icon, line, plural } from "./dom.js";
import { GROUPINGS, NONE, groups } from "./filters.js";

const LABELS = { type: "Type", community: "Community", vault: "Vault", agent: "Agent" };
const UNNAMED = { type: "no type", community: "on their own", vault: "", agent: "everybody" };
const MOST_TAGS = 300;

export class Panel {
  /**
   * `filters` is changed directly. `changed()` is told of it, `search(query)` and `find()` of the
   * search box, `colour(grouping)` of another grouping, `swatch(grouping, name)` returns a colour.
   */
  constructor(graph, filters, { changed, search, find, colour, swatch, list, grouping }) {
    Object.assign(this, { graph, filters, changed, colour, swatch, grouping });
    const total = graph.nodes.length;
    this.count = h("p", { class: "quiet", role: "status" });
    this.field = h("input", {
      type: "search", placeholder: "Search notes", "aria-label": "Search notes", autocomplete: "off", spellcheck: "false",
      on: {
        input: () => search(this.field.value),
        keydown: (event) => {
          if (event.key === "Enter") find();
          else if (event.key === "ArrowDown") list.element.focus();
          else if (event.key === "Escape" && this.field.value) this.clear(search);
          else return;
          event.preventDefault();
          event.stopPropagation();
        },
      },
    });
    this.kinds = Object.keys(GROUPINGS).filter((kind) => this.groups(kind).length > 1 || kind === "type");
    this.legend = h("div", { class: "legend" });
    this.chooser = h("div", { class: "choice", role: "group", "aria-label": "Colour by" }, this.kinds.map((kind) =>
      h("button", { type: "button", "data-kind": kind, on: { click: () => this.choose(kind) } }, LABELS[kind])));
    this.orphans = h("input", { type: "checkbox", on: { change: () => { filters.orphans = this.orphans.checked; changed(); } } });
    this.orphans.disabled = !graph.nodes.some((node) => node.degree === 0);
    this.reset = h("button", { class: "plain", type: "button", hidden: true }, "Show all");
    this.tags = this.tagFilter();
    this.list = list;
    this.element = h(
      "section",
      { class: "side panel", "aria-label": "Search and filters" },
      h("header", {}, h("div", { class: "brand" }, lamp(), h("h1", {}, graph.title ?? "djinn")), this.count),
      h("label", { class: "field" }, icon("M11 11l3.4 3.4M12.4 7.2a5.2 5.2 0 1 1-10.4 0 5.2 5.2 0 0 1 10.4 0z"), this.field),
      total > 0 && this.chooser,
      total > 0 && this.legend,
      h("div", { class: "more" }, this.tags, h("label", { class: "switch" }, this.orphans, "Orphans only"), this.reset),
      list.element,
    );
    this.choose(grouping, false);
  }

  groups(kind) {
    return groups(this.graph.nodes, GROUPINGS[kind]);
  }

  clear(search) {
    this.field.value = "";
    search("");
  }

  choose(kind, tell = true) {
    this.grouping = kind;
    for (const button of this.chooser.children) button.setAttribute("aria-pressed", String(button.dataset.kind === kind));
    if (tell) this.colour(kind);
    this.drawLegend();
  }

  drawLegend() {
    const kind = this.grouping;
    this.legend.setAttribute("role", "group");
    this.legend.setAttribute("aria-label", `Filter by ${kind}`);
    this.legend.replaceChildren(...this.groups(kind).slice(0, 60).map(([name, count]) => this.chip(kind, name, count)));
  }

  chip(kind, name, count) {
    const hidden = this.filters.hidden[kind];
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = this.swatch(kind, name);
    const chip = h(
      "button",
      {
        class: "chip", type: "button", "aria-pressed": String(!hidden.has(name)), title: "Click hides or shows; double-click shows these alone",
        "data-group": name,
        on: {
          click: () => {
            if (!hidden.delete(name)) hidden.add(name);
            this.refresh();
          },
          dblclick: () => {
            const others = this.groups(kind).map(([other]) => other).filter((other) => other !== name);
            const alone = others.every((other) => hidden.has(other));
            hidden.clear();
            if (!alone) for (const other of others) hidden.add(other);
            this.refresh();
          },
        },
      },
      dot,
      h("bdi", {}, name === NONE ? UNNAMED[kind] : this.nameOf(kind, name)),
      h("span", { class: "count" }, count.toLocaleString("en")),
    );
    return chip;
  }

  /** A community is called after its note with the most links. */
  nameOf(kind, name) {
    if (kind !== "community") return line(name, 40);
    const hub = this.graph.order.find((at) => String(this.graph.nodes[at].community) === name);
    return line(this.graph.nodes[hub].title, 24);
  }

  refresh() {
    for (const chip of this.legend.children)
      chip.setAttribute("aria-pressed", String(!this.filters.hidden[this.grouping].has(chip.dataset.group)));
    this.changed();
  }

  tagFilter() {
    const tags = groups(this.graph.nodes, (node) => node.tags.map(clean)).slice(0, MOST_TAGS);
    if (!tags.length) return null;
    this.boxes = tags.map(([name, count]) => {
      const box = h("input", { type: "checkbox", value: name, on: { change: () => {
        if (box.checked) this.filters.tags.add(name);
        else this.filters.tags.delete(name);
        this.changed();
      } } });
      return h("label", {}, box, h("bdi", {}, `#${line(name, 40)}`), h("span", { class: "count" }, String(count)));
    });
    this.tagCount = h("span", { class: "count" }, String(tags.length));
    return h("details", { class: "tagbox" }, h("summary", {}, "Tags ", this.tagCount), h("div", { class: "boxes", role: "group", "aria-label": "Filter by tag" }, this.boxes));
  }

  /** Show the state of the filters, after they were set elsewhere. */
  sync(shown) {
    const total = this.graph.nodes.length;
    const links = plural(this.graph.edges.length, "link");
    this.count.textContent = shown < total ? `${shown.toLocaleString("en")} of ${plural(total, "note")}` : `${plural(total, "note")}, ${links}`;
    this.orphans.checked = this.filters.orphans;
    for (const label of this.boxes ?? []) label.firstChild.checked = this.filters.tags.has(label.firstChild.value);
    this.reset.hidden = !this.filters.any;
  }
}

/** djinn's lamp. */
function lamp() {
  const drawing = icon("M8 1.2c.9 1.5-.8 2 .2 3.3M2 8.2c1.300.3 1.700 2.900 4 3.600h3.200c2.300-.3 3.300-2.500 5.300-3.400-1.300-.500-2.700-.2-3.600.6-1.300-2.300-4.500-2.300-5.700-.2C4.200 7.700 3 7.500 2 8.200zM5.200 14.200h5.200");
  drawing.classList.add("lamp");
  return drawing;
}
