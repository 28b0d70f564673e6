// The note that is open: its text, its links both ways, and its neighbourhood.

import { clean, h, icon, line } from "./dom.js";
import { markdown } from "./markdown.js";
import { Graph } from "./model.js";

export class Reader {
  /** `open(at)`, `close()`, `near(hops)` are told what is chosen; `look(at)` is a colour; `read` see
   * `mount`. */
  constructor(graph, { open, close, near, look, read }) {
    Object.assign(this, { graph, open, close, near, look, read });
    this.element = h("aside", { class: "reader panel", "aria-label": "Note", hidden: true });
  }

  show(at, hops) {
    const node = this.graph.nodes[at];
    this.title = h("h2", { tabindex: "-1", dir: "auto" }, line(node.title) || "untitled");
    const body = h("div", { class: "text", dir: "auto" }, markdown(node.text, node.title, (target) => this.follow(at, target)));
    this.element.replaceChildren(
      h(
        "header",
        {},
        h("button", { class: "round close", type: "button", "aria-label": "Close the note", on: { click: this.close } }, icon("M4 4l8 8M12 4l-8 8")),
        this.kind(at),
        this.title,
        this.facts(node),
        this.hops(hops),
      ),
      h(
        "div",
        { class: "scroll", tabindex: "0" },
        this.read ? this.later(node) : node.text ? body : h("p", { class: "quiet" }, node.cut ? "Its text is not in this page." : "It has no text."),
        node.text && node.cut && h("p", { class: "quiet" }, "The rest of its text is not in this page."),
        this.links("Links to", at, (edge) => edge.from === at),
        this.links("Linked from", at, (edge) => edge.to === at),
      ),
    );
    this.element.hidden = false;
  }

  later(node) {
    const place = h("div", { class: "text", dir: "auto" });
    this.read(node).then((shown) => place.replaceChildren(shown));
    return place;
  }

  hide() {
    this.element.hidden = true;
  }

  follow(at, target) {
    const to = this.graph.target(at, target);
    return to === undefined ? null : () => this.open(to, true);
  }

  kind(at) {
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = this.look(at);
    return h("p", { class: "kind" }, dot, clean(this.graph.nodes[at].type ?? "note"));
  }

  facts(node) {
    const place = [node.date.slice(0, 10), node.agent && `${node.agent}'s memory`, `${node.vault}/${node.path}`];
    return h(
      "div",
      { class: "facts" },
      h("p", { class: "quiet" }, h("bdi", {}, place.filter(Boolean).map((part) => line(part)).join("  ·  "))),
      node.tags.length > 0 && h("p", { class: "tags" }, node.tags.map((tag) => h("span", { class: "tag" }, `#${line(tag, 60)}`))),
    );
  }

  hops(chosen) {
    const button = (hops, label) =>
      h("button", { type: "button", "aria-pressed": String(hops === chosen), on: { click: () => this.near(hops) } }, label);
    return h(
      "div",
      { class: "choice", role: "group", "aria-label": "Show its neighbourhood" },
      button(0, "All"), button(1, "1 link"), button(2, "2 links"), button(3, "3 links"),
    );
  }

  links(label, at, test) {
    const edges = this.graph.around[at].filter(test);
    if (!edges.length) return null;
    return h("section", { class: "links" }, h("h3", {}, `${label} `, h("span", { class: "count" }, String(edges.length))), h("ul", {}, edges.map((edge) => this.link(edge, at))));
  }

  link(edge, at) {
    const other = Graph.other(edge, at);
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = this.look(other);
    const sure = edge.confidence < 1 ? `, ${Math.round(edge.confidence * 100)} %` : "";
    const title = line(this.graph.nodes[other].title);
    const said = line(edge.text, 80);
    const more = [edge.type !== "references" || sure ? edge.type.replaceAll("_", " ") + sure : "", said && said !== title ? `“${said}”` : ""];
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", on: { click: () => this.open(other, true) } },
        dot,
        h("span", { class: "name", dir: "auto" }, title || "untitled", more.some(Boolean) && h("small", {}, line(more.filter(Boolean).join(" ")))),
      ),
    );
  }
}
