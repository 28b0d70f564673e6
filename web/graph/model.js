// The graph as the page uses it: nodes and edges by number, and what stands around a node.

/** The name of a memory alone, as edges write it. */
export const address = (node) => `${node.vault}:${node.path}${node.block ? `#^${node.block}` : ""}`;

export class Graph {
  /** `data` is the answer of `graph.view`: edges name their ends by address. */
  constructor(data) {
    this.nodes = data.nodes;
    this.note = data.note ?? null;
    const number = new Map(this.nodes.map((node, at) => [address(node), at]));
    this.edges = data.edges
      .map((edge) => ({ ...edge, from: number.get(edge.source), to: number.get(edge.target) }))
      .filter((edge) => edge.from !== undefined && edge.to !== undefined);
    this.number = number;
    this.around = this.nodes.map(() => []);
    for (const edge of this.edges) {
      this.around[edge.from].push(edge);
      if (edge.to !== edge.from) this.around[edge.to].push(edge);
    }
    this.times = Float64Array.from(this.nodes, (node) => Date.parse((node.date || "").slice(0, 10)));
    /** The nodes by their number of links, the most first: the order of labels and of the list. */
    this.order = this.nodes.map((_, at) => at).sort((a, b) => this.degree(b) - this.degree(a) || a - b);
  }

  degree(at) {
    return this.nodes[at].degree;
  }

  /** The number at the other end of an edge. */
  static other(edge, at) {
    return edge.from === at ? edge.to : edge.from;
  }

  /** The nodes within so many links of a node, with itself. */
  within(at, hops) {
    const reached = new Set([at]);
    let edge = [at];
    for (let hop = 0; hop < hops; hop++) {
      const next = [];
      for (const near of edge)
        for (const link of this.around[near]) {
          const other = Graph.other(link, near);
          if (!reached.has(other)) {
            reached.add(other);
            next.push(other);
          }
        }
      edge = next;
    }
    return reached;
  }

  /** The node that a link in the text of a note leads to, by what the link says. */
  target(at, text) {
    const wanted = text.trim().toLowerCase();
    const named = (node) => [node.title, node.path.replace(/^.*\/|\.md$/g, ""), node.path.replace(/\.md$/, "")];
    const edges = this.around[at].filter((edge) => edge.from === at);
    const edge =
      edges.find((each) => each.text.trim().toLowerCase() === wanted) ??
      edges.find((each) => named(this.nodes[each.to]).some((name) => name.toLowerCase() === wanted));
    return edge?.to;
  }
}
