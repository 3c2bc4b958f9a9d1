// The 10×10 grid: a big one to click, drag on or navigate with the arrow keys, and small pictures.

import { h, s } from "./dom.js";
import { SIDE, CELLS, blocked, coordinates } from "./paths.js";

const MOVES = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -SIDE, ArrowDown: SIDE };

function line(cells, kind, shift = 0) {
  const at = (cell) => `${(cell % SIDE) + 0.5 + shift} ${Math.floor(cell / SIDE) + 0.5 + shift}`;
  return s("path", { class: `way ${kind}`, d: cells.length ? `M${cells.map(at).join("L")}` : "" });
}

/** Obstacles, and a path with its ends marked. */
export function smallGrid(layout, path, title) {
  const squares = [...blocked(layout)].map((cell) =>
    s("rect", { class: "wall", x: cell % SIDE, y: Math.floor(cell / SIDE), width: 1, height: 1 }));
  const ends = path.length ? [path[0], path.at(-1)].map((cell, place) =>
    s("circle", { class: place ? "end" : "start", cx: (cell % SIDE) + 0.5, cy: Math.floor(cell / SIDE) + 0.5, r: 0.45 })) : [];
  return s("svg", { class: "small grid", viewBox: "-.2 -.2 10.4 10.4", role: "img", "aria-label": title },
    s("rect", { class: "ground", width: SIDE, height: SIDE, rx: 0.4 }), squares, line(path, "true"), ends);
}

/**
 * A grid to work on. `touch(cell, first)` is called for a cell that is clicked, dragged over (first is then
 * false) or chosen with Enter or Space; `key(name, cell)` for other keys.
 */
export function bigGrid(label, touch, key = () => false) {
  let cursor = 0, last = null;
  const cells = Array.from({ length: CELLS }, (_, cell) =>
    h("button", { type: "button", role: "gridcell", tabindex: cell ? -1 : 0, "data-cell": cell }));
  const rows = Array.from({ length: SIDE }, (_, row) =>
    h("div", { role: "row" }, cells.slice(row * SIDE, (row + 1) * SIDE)));
  const lines = s("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" });
  const element = h("div", { class: "big grid", role: "grid", "aria-label": label }, rows, lines);
  const cellAt = (event) => {
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-cell]");
    return found && element.contains(found) ? Number(found.dataset.cell) : null;
  };
  const walk = (cell) => {
    cells[cursor].tabIndex = -1;
    cursor = cell;
    cells[cursor].tabIndex = 0;
  };
  element.addEventListener("pointerdown", (event) => {
    const cell = cellAt(event);
    if (cell === null || event.button) return;
    event.preventDefault();
    walk(cell);
    cells[cell].focus({ preventScroll: true });
    element.classList.add("by-pointer");
    last = cell;
    touch(cell, true);
  });
  element.addEventListener("pointermove", (event) => {
    if (last === null) return;
    const cell = cellAt(event);
    if (cell === null || cell === last) return;
    last = cell;
    touch(cell, false);
  });
  for (const name of ["pointerup", "pointercancel"]) addEventListener(name, () => (last = null));
  element.addEventListener("keydown", (event) => {
    element.classList.remove("by-pointer");
    const row = Math.floor(cursor / SIDE), column = cursor % SIDE, step = MOVES[event.key];
    if (step) {
      const inside = step === 1 ? column < SIDE - 1 : step === -1 ? column > 0 : step > 0 ? row < SIDE - 1 : row > 0;
      if (inside) walk(cursor + step);
      cells[cursor].focus();
    } else if (event.key === "Enter" || event.key === " ") touch(cursor, true);
    else if (!key(event.key, cursor)) return;
    event.preventDefault();
  });

  function show({ layout, start, end, ways }) {
    const walls = blocked(layout);
    cells.forEach((button, cell) => {
      const what = cell === start ? "start" : cell === end ? "end" : walls.has(cell) ? "wall" : "free";
      button.className = what;
      button.textContent = what === "start" ? "S" : what === "end" ? "E" : "";
      button.setAttribute("aria-label", `${coordinates(cell)} ${what === "wall" ? "obstacle" : what}`);
    });
    lines.replaceChildren(...ways.map(([path, kind, shift]) => line(path, kind, shift)));
  }
  return { element, show };
}
