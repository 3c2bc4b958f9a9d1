// Build elements without innerHTML, so that the words of users and models are never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

function build(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.setAttribute("class", value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

export const h = (tag, properties = {}, ...children) =>
  build(document.createElement(tag), properties, children);

export const s = (tag, properties = {}, ...children) =>
  build(document.createElementNS(SVG, tag), properties, children);

export const percent = (share) => `${Math.round(100 * share)} %`;

export const words = (value) => (Array.isArray(value) ? value.join(" ") : String(value));

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export const button = (text, onclick, properties = {}) =>
  h("button", { type: "button", onclick, ...properties }, text);

/** Radio buttons that look like one control. */
export function segments(name, choices, chosen, take) {
  return choices.map(([value, text]) =>
    h("label", {},
      h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => take(value) }),
      h("span", {}, text)));
}

export const tokens = (values) => h("span", { class: "tokens" }, [values].flat().map((one) => h("b", {}, String(one))));

/** A sequence of tokens, or a label in its colour. */
export function answer(value, hue) {
  return Array.isArray(value) ? tokens(value) : h("span", { class: `label hue${hue}` }, String(value));
}
