// Titles beside nodes, on a layer of their own. The most important are placed first, and none
// covers another.

import { line } from "./dom.js";

/** Pixels of the page for each label: more would cover the picture. */
const ROOM = 24_000;
const MOST_TRIED = 900;
const LONGEST = 38;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";

export class Labels {
  constructor(canvas, graph) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.graph = graph;
    this.texts = graph.nodes.map((node) => line(node.title, LONGEST));
    this.widths = new Map();
    this.shown = new Set();
    this.boxes = [];
  }

  resize(width, height, ratio) {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  /**
   * Draw the labels. `spots` are places as `Scene.project` returns them, `first` the nodes whose
   * labels come first, `strong(at)` the strength of a node from 0 to 1, and `free` the left and the
   * right end of the part that no panel covers. While `moving`, labels that were there stay, so
   * that none flickers.
   */
  draw(spots, { first, strong, ink, halo, moving, near, far, free }) {
    const { pen } = this;
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    pen.textAlign = "center";
    pen.textBaseline = "top";
    pen.lineJoin = "round";
    pen.strokeStyle = halo;
    pen.fillStyle = ink;
    const boxes = [];
    const placed = new Set();
    const important = new Set(first);
    const most = first.length + Math.ceil(((free[1] - free[0]) * this.height) / ROOM);
    const order = [...first, ...(moving ? this.shown : []), ...this.graph.order];
    let tried = 0;
    for (const at of order) {
      if (placed.size >= most || tried > MOST_TRIED) break;
      if (placed.has(at)) continue;
      const [x, y, radius, away] = spots.subarray(at * 4, at * 4 + 4);
      const strength = strong(at);
      if (!radius || (strength < 0.5 && !important.has(at))) continue;
      if (x < free[0] || x > free[1] || y < -20 || y > this.height + 10) continue;
      tried++;
      const chief = important.has(at);
      const fade = chief ? 1 : Math.min(1, Math.max(0, (far - away) / (far - near)) * 1.15);
      if (fade < 0.12 || (!chief && radius < 1.6)) continue;
      const size = chief ? 13 : Math.round(Math.min(15, Math.max(10, 8.5 + radius * 0.28 + 4 * this.share(at))));
      const width = this.measure(at, size);
      const top = y + radius + 3;
      // Beside a panel a label stands in the free part of the page.
      const middle = Math.max(free[0] + width / 2 + 8, Math.min(free[1] - width / 2 - 8, x));
      const box = [middle - width / 2 - 4, top - 1, middle + width / 2 + 4, top + size + 3];
      if (boxes.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      boxes.push(box);
      placed.add(at);
      pen.font = this.font(size, chief);
      pen.globalAlpha = fade * (chief ? 1 : 0.9);
      pen.lineWidth = 3.5;
      pen.strokeText(this.texts[at], middle, top);
      pen.fillText(this.texts[at], middle, top);
    }
    pen.globalAlpha = 1;
    this.shown = placed;
    this.boxes = boxes;
  }

  /** The links of a node as a share of the most. */
  share(at) {
    return this.graph.degree(at) / Math.max(8, this.graph.degree(this.graph.order[0]));
  }

  font(size, chief) {
    return `${chief ? 600 : 500} ${size}px ${FONT}`;
  }

  measure(at, size) {
    const key = at * 32 + size;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.pen.font = this.font(size, true);
      width = this.pen.measureText(this.texts[at]).width;
      this.widths.set(key, width);
    }
    return width;
  }
}
