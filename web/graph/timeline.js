// The time slider: notes by date as a curve, and a day up to which the graph is shown.

import { h, icon } from "./dom.js";

const DAY = 86_400_000;
const BINS = 96;
const PLAY_MILLISECONDS = 9000;

export class Timeline {
  /** `change(until)` is told the time in milliseconds; Infinity shows all. */
  constructor(graph, change) {
    this.change = change;
    this.times = graph.times.filter((time) => !Number.isNaN(time));
    this.first = this.times.length ? Math.min(...this.times) : 0;
    this.last = this.times.length ? Math.max(...this.times) : 0;
    const days = Math.max(1, Math.round((this.last - this.first) / DAY));
    this.step = Math.max(1, Math.ceil(days / 2000));
    this.slider = h("input", {
      type: "range", min: "0", max: String(Math.ceil(days / this.step)), value: String(Math.ceil(days / this.step)), "aria-label": "Show notes up to this day",
      on: { input: () => { this.stop(); this.tell(); } },
    });
    this.chart = h("canvas", { class: "chart", "aria-hidden": "true" });
    this.label = h("output", { class: "day" });
    this.button = h("button", { class: "round", type: "button", "aria-label": "Play how the memory grew", on: { click: () => this.toggle() } });
    this.element = h("section", { class: "timeline panel", "aria-label": "Time", hidden: this.times.length < 2 || this.last === this.first }, this.button, h("div", { class: "track" }, this.chart, this.slider), this.label);
    this.stop();
    this.say();
  }

  get until() {
    return this.slider.value === this.slider.max ? Infinity : this.first + (Number(this.slider.value) + 1) * this.step * DAY - 1;
  }

  reset() {
    this.stop();
    this.slider.value = this.slider.max;
    this.say();
    this.draw();
  }

  tell() {
    this.say();
    this.draw();
    this.change(this.until);
  }

  say() {
    const day = Math.min(this.last, this.first + Number(this.slider.value) * this.step * DAY);
    this.label.textContent = new Date(day).toISOString().slice(0, 10);
    this.slider.setAttribute("aria-valuetext", this.label.textContent);
  }

  toggle() {
    if (this.playing) return this.stop();
    this.playing = true;
    this.button.setAttribute("aria-label", "Stop");
    this.button.replaceChildren(icon("M5 3.5v9M11 3.5v9"));
    const most = Number(this.slider.max);
    const from = this.slider.value === this.slider.max ? 0 : Number(this.slider.value);
    let start = null;
    const step = (now) => {
      if (!this.playing) return;
      start ??= now;
      const value = Math.min(most, from + ((now - start) / PLAY_MILLISECONDS) * most);
      if (Math.floor(value) !== Number(this.slider.value) || value === most) {
        this.slider.value = String(Math.floor(value));
        this.tell();
      }
      if (value >= most) this.stop();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.playing = false;
    this.button.setAttribute("aria-label", "Play how the memory grew");
    this.button.replaceChildren(icon("M5 3.2v9.6l7.4-4.8z"));
  }

  /** The notes of each part of the time, in the colours of the theme. */
  draw() {
    const box = this.chart.getBoundingClientRect();
    if (!box.width) return;
    const ratio = window.devicePixelRatio || 1;
    this.chart.width = Math.round(box.width * ratio);
    this.chart.height = Math.round(box.height * ratio);
    const pen = this.chart.getContext("2d");
    pen.scale(ratio, ratio);
    const bins = new Array(BINS).fill(0);
    const span = Math.max(1, this.last - this.first);
    for (const time of this.times) bins[Math.min(BINS - 1, Math.floor(((time - this.first) / span) * BINS))]++;
    const most = Math.max(...bins);
    const style = getComputedStyle(this.element);
    const wide = box.width / BINS;
    const reached = Number(this.slider.value) / Math.max(1, Number(this.slider.max));
    bins.forEach((count, at) => {
      const high = count ? Math.max(2, Math.sqrt(count / most) * (box.height - 2)) : 1;
      pen.fillStyle = style.getPropertyValue(at / BINS < reached ? "--accent" : "--quiet");
      pen.globalAlpha = count ? 0.85 : 0.25;
      pen.beginPath();
      pen.roundRect(at * wide + wide * 0.16, box.height - high, wide * 0.68, high, 1.5);
      pen.fill();
    });
  }
}
