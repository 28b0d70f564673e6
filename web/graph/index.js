// The graph view. `mount(element, data, options)` puts it into an element; `data` is the answer of
// the operation `graph.view`. A page without a script of its own marks the element with
// `data-graph`, whose value is the id of an element with the data as JSON, or with
// `data-graph-from`, the address from which it gets them.

import { Eye, TURN } from "./camera.js";
import { h, icon, line, plural } from "./dom.js";
import { read, unpacked } from "./feed.js";
import { Filters, GROUPINGS, groups, matcher } from "./filters.js";
import { gestures } from "./gestures.js";
import { Labels } from "./labels.js";
import { NodeList } from "./list.js";
import { Graph } from "./model.js";
import { colour, css } from "./palette.js";
import { Panel } from "./panel.js";
import { Reader } from "./reader.js";
import { Scene } from "./scene.js";
import { Timeline } from "./timeline.js";

const THEMES = {
  dark: { fog: [13, 15, 26], ink: [255, 224, 166], glow: 0.5, light: 0, strength: 0.4, label: "#e9e6f2", halo: "rgba(11,12,22,.85)" },
  light: { fog: [246, 244, 239], ink: [150, 88, 10], glow: 0.2, light: 1, strength: 0.62, label: "#23212d", halo: "rgba(250,248,244,.9)" },
};

const UNFOLD_MILLISECONDS = 1300;
const FLATTEN_MILLISECONDS = 900;
const SETTLE_MILLISECONDS = 140;
/** Milliseconds of a frame above which fewer pixels are drawn while the picture moves. */
const SLOW = 30;
/** Milliseconds after a frame within which a movement asks for the next one. */
const AT_ONCE = 8;
const DIM = 46;
const REACH = { still: 3.2, moving: 1.9 };

/**
 * Options: `theme` ("dark", "light"; by default the system's), `flat` (begin in 2D), `focus` (the
 * address of a note to open), `onOpen(node)`, `read(node)` (gets what a note shows, as an element,
 * if the data has no texts). Returns `focus(address)`, `search(text)`,
 * `setTheme(name)`, `setFlat(flat)`, `fit()`, `turn(right, down)`, `filters` with `refilter()`, and
 * `destroy()`. Tests also get `stats()`, `spot(address)` and `labels()`.
 */
export function mount(element, data, options = {}) {
  return new View(element, data, options).handle;
}

class View {
  constructor(element, data, options) {
    this.root = element;
    this.data = data;
    this.options = options;
    this.graph = new Graph(data);
    this.filters = new Filters(this.graph);
    this.still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.theme = options.theme ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
    this.opened = this.hovered = -1;
    this.hops = 0;
    this.query = "";
    this.quality = 1;
    this.tweens = new Map();
    this.frames = 0;
    this.grouping = this.bestGrouping();
    this.build();
    this.stop = new AbortController();
    this.listen();
    this.setTheme(this.theme);
    this.refilter();
    this.resize();
    this.fit(true);
    if (options.flat) this.setFlat(true);
    this.unfold();
    const first = options.focus ?? this.graph.note;
    if (first !== null && this.graph.number.has(first)) this.open(this.graph.number.get(first));
    this.handle = {
      focus: (address) => this.open(this.graph.number.get(address) ?? -1),
      search: (text) => this.search(text),
      setTheme: (name) => this.setTheme(name),
      setFlat: (flat) => this.setFlat(flat),
      fit: () => this.fit(),
      filters: this.filters,
      refilter: () => this.refilter(),
      turn: (right, down) => { this.eye.turn(right, down); this.invalidate(); },
      stats: () => ({ calls: this.calls ?? 0, frames: this.frames, shown: this.visible.filter(Boolean).length, resting: this.resting }),
      spot: (address) => [...this.scene.project().slice(this.graph.number.get(address) * 4).slice(0, 4)],
      labels: () => this.labels.boxes,
      destroy: () => this.destroy(),
    };
  }

  /** By type, unless most notes have none: then by community, which every vault has. */
  bestGrouping() {
    const typed = this.graph.nodes.filter((node) => node.type).length;
    const clustered = this.graph.nodes.some((node) => node.community);
    return typed * 2 >= this.graph.nodes.length || !clustered ? "type" : "community";
  }

  build() {
    const { graph } = this;
    this.list = new NodeList(graph, {
      look: (at) => css(this.colours[at]),
      open: (at, focus) => this.open(at, focus),
      point: (at) => this.hover(at),
    });
    this.groupNumbers();
    this.panel = new Panel(graph, this.filters, {
      grouping: this.grouping,
      list: this.list,
      changed: () => this.refilter(),
      search: (text) => this.search(text),
      find: () => this.list.rows.length && this.open(this.list.rows[0]),
      colour: (grouping) => { this.grouping = grouping; this.groupNumbers(); this.repaint(); },
      swatch: (kind, name) => css(colour(this.numbers[kind].get(name) ?? -1, this.theme)),
    });
    this.panel.reset.addEventListener("click", () => this.showAll());
    this.reader = new Reader(graph, {
      open: (at, focus) => this.open(at, focus),
      close: () => this.open(-1),
      near: (hops) => this.near(hops),
      look: (at) => css(this.colours[at]),
      read: this.options.read,
    });
    this.timeline = new Timeline(graph, (until) => { this.filters.until = until; this.refilter(); });
    this.canvas = h("canvas", { class: "picture", tabindex: "0", role: "application", "aria-roledescription": "graph", "aria-label": `Graph of ${plural(graph.nodes.length, "note")}. Arrow keys turn it, plus and minus zoom. The list of notes has the same notes.` });
    this.letters = h("canvas", { class: "letters", "aria-hidden": "true" });
    this.buttons = {
      flat: h("button", { type: "button", "aria-pressed": "false", title: "3D or 2D (2)", on: { click: () => this.setFlat(!this.eye.flat) } }, "3D"),
      theme: h("button", { class: "round", type: "button", title: "Light or dark (t)", "aria-label": "Light or dark", on: { click: () => this.setTheme(this.theme === "dark" ? "light" : "dark") } }, icon("M8 2.200a5.800 5.800 0 1 0 0 11.600zM8 2.200a5.800 5.800 0 0 1 0 11.600")),
      fit: h("button", { class: "round", type: "button", title: "Show the whole graph (0)", "aria-label": "Show the whole graph", on: { click: () => this.fit() } }, icon("M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10")),
    };
    this.notices = h("div", { class: "notices", role: "status" }, notices(this.data).map((text) => h("p", {}, text)));
    const parts = [this.canvas, this.letters, this.panel.element, h("div", { class: "tools panel" }, Object.values(this.buttons)), this.notices, this.timeline.element, this.reader.element];
    this.root.classList.add("djinn-graph");
    this.root.replaceChildren(...parts);
    this.scene = null;
    this.eye = new Eye({}, this.still);
    try {
      this.scene = new Scene(this.canvas, graph);
      this.eye.camera = this.scene.camera;
      this.labels = new Labels(this.letters, graph);
    } catch {
      this.notices.append(h("p", {}, "This browser cannot draw the graph (WebGL 2 is off). The list has all notes."));
    }
    if (!graph.nodes.length) this.root.append(h("p", { class: "empty" }, "There is no note yet. Write one with djinn remember, then look again."));
  }

  listen() {
    const { signal } = this.stop;
    new ResizeObserver(() => this.resize()).observe(this.root);
    this.letGo = gestures(this.canvas, this.eye, {
      nodeAt: (x, y) => this.nodeAt(x, y),
      hover: (at) => this.hover(at),
      open: (at) => this.open(at),
      drag: (at, right, down) => this.drag(at, right, down),
      dropped: () => this.invalidate(),
      fit: () => this.fit(),
      changed: () => this.invalidate(),
    });
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", (event) => this.setTheme(event.matches ? "light" : "dark"), { signal });
    this.canvas.addEventListener("webglcontextrestored", () => this.invalidate(), { signal });
    this.root.addEventListener("keydown", (event) => this.key(event), { signal });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.opened >= 0) {
      this.open(-1);
      this.list.element.focus();
    } else if (event.target.matches("input[type=search]")) return;
    else if (event.key === "/") this.panel.field.focus();
    else if (event.key === "0") this.fit();
    else if (event.key === "2") this.setFlat(!this.eye.flat);
    else if (event.key === "t") this.setTheme(this.theme === "dark" ? "light" : "dark");
    else if (event.key === "n" && this.opened >= 0) this.near((this.hops + 1) % 4);
    else return;
    event.preventDefault();
  }

  /** The number of each group, which has its colour. */
  groupNumbers() {
    this.numbers ??= Object.fromEntries(
      Object.entries(GROUPINGS).map(([kind, nameOf]) => [
        kind,
        new Map(groups(this.graph.nodes, nameOf).filter(([name]) => name !== "–").map(([name], number) => [name, number])),
      ]),
    );
    const numbers = this.numbers[this.grouping];
    const nameOf = GROUPINGS[this.grouping];
    this.colours = this.graph.nodes.map((node) => colour(numbers.get(nameOf(node)) ?? -1, this.theme));
  }

  // What is shown

  refilter() {
    this.visible = this.filters.shown();
    const rank = this.query ? matcher(this.graph, this.query) : null;
    this.ranks = rank ? this.graph.nodes.map((_, at) => (this.visible[at] ? rank(at) : 0)) : null;
    const rows = this.graph.order.filter((at) => this.visible[at] && (!this.ranks || this.ranks[at]));
    if (this.ranks) rows.sort((a, b) => this.ranks[b] - this.ranks[a]);
    this.list.show(rows);
    this.panel.sync(rows.length);
    this.repaint();
  }

  /** The strength of a node: hidden, dim or whole. */
  strength(at) {
    if (!this.visible[at]) return 0;
    if (at === this.opened || at === this.hovered) return 255;
    if (this.ranks && !this.ranks[at]) return DIM;
    const centre = this.hovered >= 0 ? this.hovered : this.opened;
    if (centre >= 0 && !this.ranks && !this.filters.near) return this.beside(centre).has(at) ? 255 : this.hovered >= 0 ? 110 : DIM * 2;
    return 255;
  }

  beside(at) {
    if (this.besideOf !== at) [this.besideOf, this.besideNodes] = [at, this.graph.within(at, 1)];
    return this.besideNodes;
  }

  repaint() {
    if (this.scene) {
      this.scene.paint((at) => [...this.colours[at], this.strength(at)]);
      const marked = this.hovered >= 0 ? this.hovered : this.opened;
      this.scene.uniforms.marked.value = marked;
    }
    this.list.render();
    this.invalidate();
  }

  search(text) {
    this.query = text.trim();
    if (this.panel.field.value !== text) this.panel.field.value = text;
    this.refilter();
    this.list.element.scrollTop = 0;
    this.list.render();
  }

  near(hops) {
    this.hops = hops;
    this.filters.near = hops && this.opened >= 0 ? this.graph.within(this.opened, hops) : null;
    if (this.opened >= 0) this.reader.show(this.opened, hops);
    this.refilter();
    this.fit();
  }

  showAll() {
    this.filters.reset();
    this.hops = 0;
    this.timeline.reset();
    if (this.opened >= 0) this.reader.show(this.opened, 0);
    this.panel.drawLegend();
    this.refilter();
    this.fit();
  }

  hover(at) {
    if (at === this.hovered) return;
    this.hovered = at;
    this.canvas.classList.toggle("over", at >= 0);
    this.repaint();
  }

  /** Open a note, or close it (-1). With `focus` the keyboard goes to its title. */
  open(at, focus = false) {
    if (at === this.opened && at >= 0) return this.fly(at);
    this.opened = at;
    this.hovered = -1;
    if (at < 0) {
      this.reader.hide();
      if (this.hops) return this.near(0);
    } else {
      if (this.hops) {
        this.filters.near = this.graph.within(at, this.hops);
        this.refilter();
      }
      this.reader.show(at, this.hops);
      if (focus) this.reader.title.focus({ preventScroll: true });
      this.options.onOpen?.(this.graph.nodes[at]);
    }
    this.list.mark(at);
    this.place();
    this.repaint();
    if (at >= 0) this.fly(at);
  }

  // The picture

  get wide() {
    return this.root.clientWidth >= 860;
  }

  /** Keep the middle of the picture in the free part of the page. */
  place() {
    const reading = this.opened >= 0;
    this.root.classList.toggle("reading", reading);
    const left = this.wide ? this.panel.element.offsetWidth + 16 : 0;
    const right = this.wide && reading ? this.reader.element.offsetWidth + 16 : 0;
    const top = this.wide ? 0 : 60;
    const bottom = this.wide ? 40 : reading ? this.root.clientHeight * 0.52 : 70;
    this.sides = [left, this.root.clientWidth - right];
    this.free = [this.root.clientWidth - left - right, this.root.clientHeight - top - bottom];
    const goal = [(left - right) / 2, (top - bottom) / 2];
    const from = this.eye.shift;
    this.tween("shift", this.placed ? 500 : 0, (part) => (this.eye.shift = from.map((value, axis) => value + (goal[axis] - value) * part)));
    this.placed = true;
  }

  /** Fly to a node, so near that most of what is beside it can be seen. */
  fly(at) {
    if (!this.scene) return;
    const here = this.scene.at(at);
    const far = (place) => Math.hypot(...place.map((value, axis) => value - here[axis]));
    const beside = [...this.beside(at)].filter((other) => this.visible[other]).map((other) => this.scene.at(other));
    const near = beside.sort((a, b) => far(a) - far(b)).slice(0, Math.ceil(beside.length * 0.75));
    const { distance } = this.eye.around(near, this.eye, this.free, here);
    this.eye.fly({ target: here, distance: Math.min(2.2, Math.max(0.45, distance)) });
    this.invalidate();
  }

  /** Show all nodes that are not hidden. */
  fit(at_once = false) {
    if (!this.scene) return;
    const turn = this.eye.flat ? { yaw: 0, pitch: 0 } : { yaw: this.eye.yaw, pitch: this.eye.pitch };
    this.eye.fly({ ...turn, ...this.eye.around(this.places(), turn, this.free) }, at_once ? 0 : 900);
    if (at_once) this.eye.advance(1);
    this.invalidate();
  }

  /** The places of the shown nodes. */
  places() {
    return this.graph.order.filter((at) => this.visible[at]).map((at) => this.scene.at(at));
  }

  setFlat(flat) {
    this.eye.flat = flat;
    this.buttons.flat.textContent = flat ? "2D" : "3D";
    this.buttons.flat.setAttribute("aria-pressed", String(flat));
    if (!this.scene) return;
    const { flatness } = this.scene.uniforms;
    const from = flatness.value;
    this.tween("flat", FLATTEN_MILLISECONDS, (part) => (flatness.value = from + ((flat ? 1 : 0) - from) * part));
    const turn = flat ? { yaw: 0, pitch: 0 } : TURN;
    flatness.value = flat ? 1 : 0;
    const goal = this.opened >= 0 ? { target: this.scene.at(this.opened) } : this.eye.around(this.places(), turn, this.free);
    flatness.value = from;
    this.eye.fly({ ...turn, ...goal });
    this.invalidate();
  }

  setTheme(theme) {
    this.theme = theme;
    this.root.dataset.theme = theme;
    this.groupNumbers();
    this.scene?.theme(THEMES[theme]);
    this.panel.drawLegend();
    this.timeline.draw();
    if (this.opened >= 0) this.reader.show(this.opened, this.hops);
    if (this.visible) this.repaint();
  }

  unfold() {
    if (!this.scene || this.still) return;
    const { grown } = this.scene.uniforms;
    grown.value = 0;
    this.tween("grown", UNFOLD_MILLISECONDS, (part) => (grown.value = part), (part) => 1 - (1 - part) ** 4);
  }

  /** Change something over time. Without motion it changes at once. */
  tween(name, milliseconds, set, shape = (part) => part * part * (3 - 2 * part)) {
    if (this.still || !milliseconds) {
      this.tweens.delete(name);
      set(1);
    } else this.tweens.set(name, { passed: 0, milliseconds, set, shape });
    this.invalidate();
  }

  /** Neighbours follow a node that is dragged, those with few links more. */
  drag(at, right, down) {
    const [x, y] = this.eye.axes();
    const away = this.scene.project()[at * 4 + 3] || this.eye.distance;
    const size = this.eye.pixel(away);
    const step = [0, 1, 2].map((axis) => (right * x[axis] - down * y[axis]) * size);
    const moved = new Map([[at, 1]]);
    for (const edge of this.graph.around[at]) {
      const other = Graph.other(edge, at);
      if (other !== at) moved.set(other, 0.9 / (this.graph.around[other].length || 1));
    }
    this.scene.shift(moved, step);
  }

  nodeAt(x, y) {
    if (!this.scene) return -1;
    const spots = this.scene.project();
    let best = -1;
    let nearest = Infinity;
    for (let at = 0; at < this.graph.nodes.length; at++) {
      const radius = spots[at * 4 + 2];
      if (!radius || !this.visible[at]) continue;
      const far = Math.hypot(spots[at * 4] - x, spots[at * 4 + 1] - y);
      if (far > Math.max(radius, 4) + 4) continue;
      // Of nodes under the pointer the one in front; near misses come after.
      const order = far <= radius + 1 ? spots[at * 4 + 3] : 100 + far;
      if (order < nearest) [nearest, best] = [order, at];
    }
    return best;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height) return;
    this.eye.height = height;
    this.labels?.resize(width, height, window.devicePixelRatio || 1);
    this.sharp = false;
    this.place();
    this.list.render();
    this.timeline.draw();
    this.invalidate();
  }

  invalidate() {
    if (!this.scene || this.frame) return;
    this.resting = false;
    this.asked = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
  }

  get moving() {
    return this.tweens.size > 0 || this.eye.moving || Boolean(this.eye.held);
  }

  tick(now) {
    this.frame = 0;
    // Time says how long a frame takes only where the next one was asked for at once.
    const taken = this.asked - this.drawn < AT_ONCE ? now - this.last : 16;
    const passed = Math.min(100, taken);
    this.last = now;
    for (const [name, tween] of this.tweens) {
      tween.passed += passed;
      const part = Math.min(1, tween.passed / tween.milliseconds);
      tween.set(tween.shape(part));
      if (part === 1) this.tweens.delete(name);
    }
    this.eye.advance(passed);
    this.adapt(taken);
    this.render(this.quality, REACH.moving < REACH.still && this.quality < 1 ? REACH.moving : REACH.still, true);
    clearTimeout(this.settling);
    this.drawn = performance.now();
    if (this.tweens.size || this.eye.moving) this.invalidate();
    // On a slow machine the next frame of a movement comes later.
    else this.settling = setTimeout(() => this.settle(), Math.max(SETTLE_MILLISECONDS, 2 * this.pace));
  }

  /** Draw fewer pixels in a frame when frames take long, more when there is time. */
  adapt(milliseconds) {
    this.pace = (this.pace ?? 16) * 0.6 + milliseconds * 0.4;
    if (this.pace > SLOW) this.quality = Math.max(0.5, this.quality * Math.max(0.5, Math.sqrt(SLOW / this.pace)));
    else if (this.pace < SLOW / 2 && this.quality < this.full) this.quality = Math.min(this.full, this.quality * 1.1);
  }

  get full() {
    const usual = window.devicePixelRatio || 1;
    return this.pace > 6 * SLOW ? usual : Math.max(2, usual);
  }

  /** What no longer moves is drawn sharply, once. */
  settle() {
    if (this.moving || !this.scene) return;
    this.render(this.full, REACH.still, false);
    this.resting = true;
  }

  render(ratio, reach, moving) {
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height) return;
    const { scene, eye } = this;
    if (scene.ratio !== ratio || scene.width !== width || scene.height !== height) scene.resize(width, height, ratio);
    eye.aim(width, height);
    const near = Math.max(0.1, eye.distance - 0.35);
    scene.uniforms.haze.value.set(near, eye.distance + 1.7);
    scene.uniforms.reach.value = reach;
    this.calls = scene.draw();
    this.frames++;
    this.labels.draw(scene.project(), {
      first: this.chief(),
      strong: (at) => this.strength(at) / 255,
      ink: THEMES[this.theme].label,
      halo: THEMES[this.theme].halo,
      moving,
      free: this.sides,
      near,
      far: eye.flat ? 100 : eye.distance + 1.5,
    });
  }

  /** The nodes whose labels come first: the one pointed at, the open one, and what is beside it. */
  chief() {
    const chosen = [this.hovered, this.opened].filter((at) => at >= 0 && this.visible[at]);
    const centre = chosen[0];
    if (centre === undefined) return this.ranks ? this.list.rows.slice(0, 30) : [];
    const beside = [...this.beside(centre)].filter((at) => this.visible[at] && at !== centre);
    return [...chosen, ...beside.sort((a, b) => this.graph.degree(b) - this.graph.degree(a)).slice(0, 40)];
  }

  destroy() {
    this.stop.abort();
    this.letGo();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.settling);
    this.timeline.stop();
    this.scene?.dispose();
    this.scene = null;
    this.root.replaceChildren();
  }
}

/** What the page leaves out, in words. */
function notices(data) {
  const left = (data.total ?? data.nodes.length) - data.nodes.length;
  const texts = left > 0 ? [`${plural(left, "note")} with fewer links ${left === 1 ? "is" : "are"} not in this page. Narrow it with --vault, or give a note.`] : [];
  return [...texts, ...(data.problems ?? []).map((problem) => line(`${problem.what}: ${problem.why}`, 300))];
}

for (const element of document.querySelectorAll("[data-graph]")) {
  const source = document.getElementById(element.dataset.graph);
  if (source) element.djinn = mount(element, JSON.parse(source.textContent));
}

for (const element of document.querySelectorAll("[data-graph-from]")) {
  const answer = await fetch(element.dataset.graphFrom);
  if (answer.ok) element.djinn = mount(element, unpacked(await answer.arrayBuffer()), { read });
  else element.textContent = (await answer.json()).detail;
}
