// Elements and texts. Texts of notes enter the page only through here, as text nodes.

/** Control characters but the line end and the tab, and marks that turn the direction of text. */
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

export const clean = (text) => String(text ?? "").toWellFormed().replace(UNSAFE, "");

/** A text on one line, cut to a length. */
export function line(text, most = 200) {
  const whole = clean(text).replace(/\s+/g, " ").trim();
  return whole.length > most ? `${whole.slice(0, most - 1).trimEnd()}…` : whole;
}

/**
 * An element. `on` has its listeners, other keys are attributes; children that are not nodes
 * become text, and false, null and undefined are left out.
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") for (const [event, listen] of Object.entries(value)) element.addEventListener(event, listen);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== false && child != null));
  return element;
}

/** A drawing of 16 by 16 units in lines, for a button. */
export function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 16 16", "aria-hidden": "true", class: "icon" }))
    drawing.setAttribute(key, value);
  const shape = document.createElementNS(space, "path");
  shape.setAttribute("d", path);
  drawing.append(shape);
  return drawing;
}

export const plural = (count, noun, many = `${noun}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
