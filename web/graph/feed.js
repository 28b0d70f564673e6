// What a page of the server gets: the graph as arrays, and a note as the page of notes shows it.

const KINDS = { "<f4": Float32Array, "<u4": Uint32Array, "<u2": Uint16Array };

/** The answer of `graph.view`, without texts, from that of `GET /v1/graph`. */
export function unpacked(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const arrays = Object.fromEntries(
    Object.entries(header.arrays).map(([name, { dtype, shape, offset }]) => {
      const count = shape.reduce((product, each) => product * each, 1);
      return [name, new KINDS[dtype](buffer, 4 + length + offset, count)];
    }),
  );
  const { spots, flat, edges, degrees, communities } = arrays;
  const nodes = header.ids.map((id, at) => {
    const [, vault, path, block] = /^([^:]*):(.*?)(?:#\^([^#]*))?$/s.exec(id);
    return {
      vault, path, block: block ?? null, title: header.titles[at], date: header.dates[at],
      agent: header.agents[at], tags: header.tags[at], type: header.kinds[arrays.kinds[at]] || null,
      degree: degrees[at], community: communities[at] || null, text: "", cut: false,
      spot: spots.subarray(3 * at, 3 * at + 3), flat: flat.subarray(2 * at, 2 * at + 2),
    };
  });
  const links = Array.from(arrays.types, (type, at) => ({
    source: header.ids[edges[2 * at]], target: header.ids[edges[2 * at + 1]],
    type: header.types[type], text: header.texts[arrays.texts[at]],
    weight: arrays.weights[at], confidence: arrays.confidences[at],
  }));
  return { ...header, nodes, edges: links };
}

/** What the page of a note shows of it, below a link to that page. */
export async function read({ vault, path, block }) {
  const place = `${vault}/${path}${block ? `#^${block}` : ""}`;
  const address = `/note/${place.split("/").map(encodeURIComponent).join("/")}`;
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const link = Object.assign(document.createElement("a"), { href: address, textContent: "Open the note" });
  const shown = document.createElement("div");
  shown.append(link, page.querySelector(answer.ok ? ".prose" : ".error") ?? "");
  return shown;
}
