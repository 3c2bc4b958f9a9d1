// Path-finding: draw obstacles, and see the predicted path beside the true one.

import { newest } from "./api.js";
import { button, h, percent, s, segments } from "./dom.js";
import { bigGrid, smallGrid } from "./grid.js";
import { BLOBS, OFFSET, blob, coordinates, eight, judge, randomLayout, shortestPath } from "./paths.js";
import { attempt, keepForm, learn, plural, seconds, tell } from "./shared.js";

const FIRST = 3, MOST = 20;

export function drawView(model) {
  let start = 70, end = 14, layout = [], examples = [], mode = "wall", removing = false, timer;
  let found = null, trail = [];

  const grid = bigGrid("Grid: arrow keys move, Space draws or removes an obstacle, S and E set the start and the end", touch, key);
  const verdict = h("p", { class: "verdict", role: "status" });
  const status = h("p", { class: "quiet" });
  const shown = h("div", { class: "gallery" });
  const bars = h("span", { class: "confidence" });
  const more = button("Show one more path", () => give(1), { class: "main", id: "more" });

  const make = () => {
    const x = randomLayout(start, end);
    return { x, y: shortestPath(x, start, end).map((cell) => cell + OFFSET) };
  };

  function give(count) {
    tell(null);
    examples = [...examples, ...Array.from({ length: count }, make)];
    return relearn();
  }

  /** A new start or end is a new rule, of which the model must see new paths. */
  function newRule() {
    const count = Math.max(examples.length, 1);
    examples = [];
    trail = [];
    layout = layout.filter((cell) => !blob(cell).some((one) => one === start || one === end));
    give(count);
  }

  function place(what, cell) {
    if (cell === start || cell === end) return;
    if (what === "start") start = cell;
    else end = cell;
    found = null;
    draw();
    clearTimeout(timer);
    timer = setTimeout(newRule, 250);
  }

  function touch(cell, first) {
    tell(null);
    if (mode !== "wall") {
      place(mode, cell);
      return;
    }
    const here = layout.filter((corner) => blob(corner).includes(cell));
    if (first) removing = here.length > 0;
    if (removing) layout = layout.filter((corner) => !here.includes(corner));
    else if (!here.length && !blob(cell).some((one) => one === start || one === end))
      layout = [...layout, cell].slice(-BLOBS);
    else return;
    found = null;
    draw();
    clearTimeout(timer);
    timer = setTimeout(relearn, 120);
  }

  function key(name, cell) {
    if (name === "s" || name === "S") place("start", cell);
    else if (name === "e" || name === "E") place("end", cell);
    else return false;
    return true;
  }

  const relearn = newest(() => attempt(async () => {
    draw();
    if (!layout.length || !examples.length) return;
    const given = examples, drawn = layout, since = performance.now();
    element.classList.add("busy");
    try {
      const { rows: [row] } = await learn(model, given, [eight(drawn)], 1);
      if (given !== examples || drawn !== layout) return;
      found = { ...row, path: row.answer.map((token) => token - OFFSET) };
      trail[given.length] = found.probability;
      status.textContent = `Answered from ${plural(given.length, "path")} in ${seconds(since)}.`;
    } finally {
      element.classList.remove("busy");
    }
    draw();
  }));

  function draw() {
    const truth = layout.length ? shortestPath(layout, start, end) : [];
    const ways = [[truth, "true", -0.09]];
    if (found) ways.push([found.path, "guess", 0.09]);
    grid.show({ layout, start, end, ways });
    more.disabled = examples.length >= MOST;
    shown.replaceChildren(...examples.map((one, number) =>
      smallGrid(one.x, one.y.map((cell) => cell - OFFSET), `Path ${number + 1}, from ${coordinates(start)} to ${coordinates(end)}`)));
    bars.replaceChildren(s("svg", { class: "trail wide", preserveAspectRatio: "xMinYMax", viewBox: "0 0 160 24", "aria-hidden": "true" },
      trail.map((p, count) => s("rect", { class: "same", x: (count - 1) * 8, y: 24 - 22 * p, width: 7, height: Math.max(2, 22 * p), rx: 1 }))));
    verdict.className = "verdict";
    if (!layout.length) verdict.textContent = "Draw an obstacle to ask for a path.";
    else if (!truth.length) verdict.textContent = "Your obstacles leave no path.";
    else if (!found) verdict.textContent = "…";
    else {
      const { right, text } = judge(layout, found.path, truth);
      verdict.classList.add(right ? "right" : "wrong");
      verdict.textContent = `${right ? "✓" : "✗"} Model: ${text} · ${percent(found.probability)} sure`;
    }
  }

  const modes = h("fieldset", { class: "segments modes" }, h("legend", { class: "hidden" }, "What a click does"),
    segments("mode", [["wall", "obstacles"], ["start", "start"], ["end", "end"]], "wall", (chosen) => (mode = chosen)));
  const redraw = (next) => () => {
    layout = next();
    found = null;
    relearn();
  };
  const element = h("div", { class: "columns" },
    h("article", { class: "drawing" }, h("h2", {}, "Draw obstacles"), modes, grid.element,
      h("p", { class: "legend" }, h("span", { class: "key true" }), "shortest path", h("span", { class: "key guess" }), "the model's path"),
      verdict,
      h("div", { class: "row buttons" }, button("Random obstacles", redraw(() => randomLayout(start, end))), button("Clear", redraw(() => []))),
      h("p", { class: "quiet" }, `Click or drag; a ninth obstacle replaces the oldest. Keys: arrows, Space, S for the start, E for the end.`)),
    h("article", {}, h("h2", {}, "What the model has seen"),
      h("p", {}, "Shortest paths around other obstacles. It is never told their start and end."),
      h("div", { class: "row buttons" }, more, button("Other paths", () => newRule())),
      h("p", { class: "row" }, h("span", { class: "quiet" }, "confidence, path by path"), bars), status, shown,
      keepForm(model, () => examples)));
  return { element, relearn, open: async () => {
    if (layout.length || examples.length) return;
    layout = randomLayout(start, end);
    const rule = [start, end].join();
    while (examples.length < FIRST && rule === [start, end].join()) await give(1);
  } };
}
