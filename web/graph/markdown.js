// Markdown of notes as elements: the common parts, and everything else as it is written. No HTML
// of a note is read, and no address but a web page's becomes a link.

import { clean, h } from "./dom.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([\w+-]*)/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^\s{0,3}>\s?/;
const BULLET = /^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(?:\[([ xX])\]\s+)?(.*)$/;
const TABLE = /^\s*\|.*\|\s*$/;
const DEEPEST = 6;

const INLINE = new RegExp(
  [
    /(`+)(?<code>[^`]|[^`].*?[^`])\1(?!`)/,
    /!?\[\[(?<wiki>[^[\]\n]{1,400})\]\]/,
    /!?\[(?<label>[^[\]\n]{0,400})\]\((?<address>[^()\s]{1,800}(?:\([^()\s]*\)[^()\s]*)?)(?:\s+"[^"\n]*")?\)/,
    /(?<bare>https?:\/\/[^\s<>()"'\]]{3,800}[^\s<>()"'\].,;:!?])/,
    /\*\*(?<strong>[^*\n]{1,1000})\*\*|__(?<strong2>[^_\n]{1,1000})__/,
    /(?<![\w*])\*(?<em>[^*\s\n][^*\n]{0,1000})\*(?!\w)|(?<!\w)_(?<em2>[^_\s\n][^_\n]{0,1000})_(?!\w)/,
    /~~(?<struck>[^~\n]{1,1000})~~/,
    /==(?<marked>[^=\n]{1,1000})==/,
  ]
    .map((part) => part.source)
    .join("|"),
  "g",
);

/**
 * The elements of a text. `follow(target)` returns what opens the note that a link means, or
 * nothing. A first heading that repeats the title is left out.
 */
export function markdown(text, title, follow) {
  const lines = clean(text).split("\n");
  const repeated = HEADING.exec(lines[0])?.[2].toLowerCase() === clean(title).trim().toLowerCase();
  return blocks(repeated ? lines.slice(1) : lines, follow, 0);
}

function blocks(lines, follow, depth) {
  const made = [];
  let at = 0;
  const take = (test) => {
    const from = at;
    while (at < lines.length && test(lines[at])) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const text = lines[at];
    const fence = FENCE.exec(text);
    const heading = HEADING.exec(text);
    if (!text.trim()) at++;
    else if (fence) {
      at++;
      const inner = take((each) => !each.trim().startsWith(fence[1]));
      at++;
      made.push(h("pre", { tabindex: "0" }, h("code", {}, inner.join("\n"))));
    } else if (heading) {
      at++;
      // The title of the note is the first heading of the page's part.
      made.push(h(`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2], follow)));
    } else if (RULE.test(text)) {
      at++;
      made.push(h("hr"));
    } else if (QUOTE.test(text) && depth < DEEPEST) {
      const inner = take((each) => QUOTE.test(each)).map((each) => each.replace(QUOTE, ""));
      made.push(h("blockquote", {}, blocks(inner, follow, depth + 1)));
    } else if (BULLET.test(text)) made.push(list(take((each) => BULLET.test(each) || /^\s+\S/.test(each)), follow));
    else if (TABLE.test(text)) made.push(table(take((each) => TABLE.test(each)), follow));
    else {
      const starts = (each) => FENCE.test(each) || HEADING.test(each) || QUOTE.test(each) || BULLET.test(each);
      const first = at++;
      const inner = [lines[first], ...take((each) => each.trim() && !starts(each))];
      made.push(h("p", {}, inner.flatMap((each, number) => (number ? [h("br"), ...inline(each, follow)] : inline(each, follow)))));
    }
  }
  return made;
}

/** A list by indentation: deeper bullets become a list in the one above. */
function list(lines, follow) {
  const top = h(/^\s*\d/.test(lines[0]) ? "ol" : "ul");
  const open = [{ indent: -1, list: top }];
  let last = null;
  for (const text of lines) {
    const bullet = BULLET.exec(text);
    if (!bullet) {
      last?.append(h("br"), ...inline(text.trim(), follow));
      continue;
    }
    const [, space, number, box, rest] = bullet;
    const indent = space.replace(/\t/g, "    ").length;
    while (open.length > 1 && indent < open.at(-1).indent) open.pop();
    if (open.length === 1) open[0].indent = Math.max(0, open[0].indent);
    if (last && indent > open.at(-1).indent + 1 && open.length < DEEPEST) {
      const inner = h(number ? "ol" : "ul");
      last.append(inner);
      open.push({ indent, list: inner });
    }
    const mark = box === undefined ? [] : [h("span", { class: "box", role: "img", "aria-label": box === " " ? "open" : "done" }, box === " " ? "☐" : "☑"), " "];
    last = h("li", { class: box === undefined ? null : "task" }, mark, inline(rest, follow));
    open.at(-1).list.append(last);
  }
  return top;
}

function table(lines, follow) {
  const cells = (text) => text.trim().slice(1, -1).split(/(?<!\\)\|/).map((each) => each.trim());
  const rows = lines.filter((each) => !/^[\s|:-]+$/.test(each)).map(cells);
  const [head, ...body] = rows;
  const row = (name, values) => h("tr", {}, values.map((value) => h(name, {}, inline(value, follow))));
  return h("div", { class: "table", tabindex: "0" }, h("table", {}, head && h("thead", {}, row("th", head)), h("tbody", {}, body.map((each) => row("td", each)))));
}

function inline(text, follow, depth = 0) {
  const made = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    made.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    made.push(span(match.groups, follow, depth));
  }
  made.push(text.slice(end));
  return made.filter((part) => part !== "");
}

function span(found, follow, depth) {
  const within = (name, inner) => h(name, {}, depth < DEEPEST ? inline(inner, follow, depth + 1) : inner);
  if (found.code !== undefined) return h("code", {}, found.code.trim() || found.code);
  if (found.wiki !== undefined) {
    const [target, label] = found.wiki.split(/\\?\|/);
    return reference(label ?? target, [label, target, target.replace(/#.*$/, "")], follow);
  }
  if (found.address !== undefined) {
    if (/^https?:\/\//i.test(found.address)) return outside(found.address, found.label || found.address);
    return reference(found.label || found.address, [found.label, decoded(found.address).replace(/#.*$/, "")], follow);
  }
  if (found.bare !== undefined) return outside(found.bare, found.bare);
  if (found.struck !== undefined) return within("s", found.struck);
  if (found.marked !== undefined) return within("mark", found.marked);
  const strong = found.strong ?? found.strong2;
  return strong !== undefined ? within("strong", strong) : within("em", found.em ?? found.em2);
}

function reference(label, targets, follow) {
  for (const target of targets) {
    const open = target && follow(target);
    if (open) return h("button", { class: "reference", type: "button", on: { click: open } }, label);
  }
  return h("span", { class: "reference missing" }, label);
}

const outside = (address, label) =>
  h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, label);

function decoded(address) {
  try {
    return decodeURIComponent(address);
  } catch {
    return address;
  }
}
