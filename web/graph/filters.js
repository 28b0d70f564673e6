// Which nodes are shown: by groups that are switched off, tags, orphans, time and neighbourhood.

import { clean } from "./dom.js";

export const NONE = "–";

/** The ways to put nodes into groups, each with what a node's group is called. */
export const GROUPINGS = {
  type: (node) => node.type ?? NONE,
  community: (node) => (node.community ? String(node.community) : NONE),
  vault: (node) => node.vault,
  agent: (node) => node.agent ?? NONE,
};

/** The groups with their counts, the largest first, those without a name last. */
export function groups(nodes, nameOf) {
  const counts = new Map();
  for (const node of nodes) for (const name of [nameOf(node)].flat()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => (a[0] === NONE) - (b[0] === NONE) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

export class Filters {
  constructor(graph) {
    this.graph = graph;
    this.hidden = { type: new Set(), community: new Set(), vault: new Set(), agent: new Set() };
    this.tags = new Set();
    this.orphans = false;
    this.until = Infinity;
    /** The nodes of a neighbourhood; null shows all. */
    this.near = null;
  }

  get any() {
    return this.orphans || this.near !== null || this.until !== Infinity || this.tags.size > 0 ||
      Object.values(this.hidden).some((names) => names.size);
  }

  reset() {
    for (const names of Object.values(this.hidden)) names.clear();
    this.tags.clear();
    this.orphans = false;
    this.until = Infinity;
    this.near = null;
  }

  /** Whether each node is shown. A node without a date is shown at every time. */
  shown() {
    const off = Object.entries(this.hidden).filter(([, names]) => names.size);
    return this.graph.nodes.map(
      (node, at) =>
        (!this.near || this.near.has(at)) &&
        (!this.orphans || node.degree === 0) &&
        !(this.graph.times[at] > this.until) &&
        (!this.tags.size || node.tags.some((tag) => this.tags.has(tag))) &&
        off.every(([kind, names]) => !names.has(GROUPINGS[kind](node))),
    );
  }
}

/** Search in titles, tags, paths and texts. Returns a function from the number of a node to its rank, 0 if it does not match. */
export function matcher(graph, query) {
  const words = clean(query).toLowerCase().split(/\s+/).filter(Boolean);
  graph.lower ??= graph.nodes.map((node) => ({
    title: clean(node.title).toLowerCase(),
    rest: [node.path, node.type, ...node.tags].join("\n").toLowerCase(),
    text: node.text.toLowerCase(),
  }));
  return (at) => {
    let rank = 1;
    const { title, rest, text } = graph.lower[at];
    for (const word of words) {
      if (title.startsWith(word)) rank += 8;
      else if (title.includes(word)) rank += 5;
      else if (rest.includes(word)) rank += 2;
      else if (text.includes(word)) rank += 0.5;
      else return 0;
    }
    return rank + Math.min(0.4, graph.degree(at) / 100);
  };
}
