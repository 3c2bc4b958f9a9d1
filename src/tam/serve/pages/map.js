// The stored tasks in a plane: similar ones are close.

import { Problem, ask, query } from "./api.js";
import { answer, button, h, s, tokens } from "./dom.js";
import { smallGrid } from "./grid.js";
import { OFFSET } from "./paths.js";
import { IS_PATH, attempt, hiddenTask, hues, plural, searches } from "./shared.js";

const WIDTH = 640, HEIGHT = 440, EDGE = 36, NEAREST = 5, EXAMPLES = 8, LEARN = { classification: 12, transduction: 5 };

export function mapView(model) {
  const of = { model: model.name };
  let maps = [], chosen = 0, selected = null, near = [];

  const svg = s("svg", { class: "map", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "listbox", "aria-label": "Map of the stored tasks", onkeydown: move });
  const note = h("p", { class: "quiet", role: "status" });
  const which = h("select", { "aria-label": "Weights", hidden: true, onchange: () => {
    chosen = Number(which.value);
    selected = null;
    details.replaceChildren(hint());
    draw();
  } });
  const details = h("article", { class: "details" });
  const fill = button("Learn the sample tasks", () => attempt(addSamples), { id: "fill" });
  const hint = () => h("p", { class: "quiet" }, "Choose a task to see its examples and its neighbours.");

  async function load() {
    ({ maps } = await ask(query("map", of)));
    chosen = Math.min(chosen, Math.max(maps.length - 1, 0));
    which.replaceChildren(...maps.map((one, place) => h("option", { value: place, selected: place === chosen }, `k = ${one.shots.join(", ")}`)));
    which.hidden = maps.length < 2;
    draw();
  }

  async function addSamples() {
    fill.disabled = true;
    try {
      for (let number = 0; number < model.hidden; number++) {
        const task = await hiddenTask(model, number);
        note.textContent = `Learning ${number + 1} of ${model.hidden}: ${task.name} …`;
        const body = { ...of, name: task.name, examples: task.examples.slice(0, LEARN[model.kind]), searches: searches(), replace: true };
        await ask("tasks", body);
        await load();
      }
    } finally {
      fill.disabled = false;
    }
    draw();
  }

  function places() {
    const all = maps[chosen]?.tasks ?? [];
    const range = (axis) => {
      const values = all.map((one) => one[axis]), low = Math.min(...values), high = Math.max(...values);
      return [low, high - low || 1];
    };
    const [left, wide] = range("x"), [low, tall] = range("y");
    return all.map((one) => ({ name: one.name,
      x: all.length < 2 ? WIDTH / 2 : EDGE + ((one.x - left) / wide) * (WIDTH - 2 * EDGE),
      y: all.length < 2 ? HEIGHT / 2 : HEIGHT - EDGE - ((one.y - low) / tall) * (HEIGHT - 2 * EDGE) }));
  }

  function draw() {
    const all = places(), by = new Map(all.map((one) => [one.name, one])), here = by.get(selected);
    const neighbours = here ? near.filter((one) => by.has(one.name)) : [];
    const ranks = new Map(neighbours.map((one, rank) => [one.name, rank + 1]));
    const links = neighbours.map(({ name, similarity }) =>
      s("line", { x1: here.x, y1: here.y, x2: by.get(name).x, y2: by.get(name).y, "stroke-opacity": Math.max(0.15, similarity) }));
    const points = all.map((one, place) => {
      const kind = one.name === selected ? "chosen" : ranks.has(one.name) ? "near" : "";
      const left = one.x > WIDTH / 2;
      return s("g", { class: `task ${kind}`, role: "option", "data-task": one.name, "aria-selected": one.name === selected, "aria-label": one.name,
        tabindex: one.name === selected || (!here && place === 0) ? 0 : -1, transform: `translate(${one.x} ${one.y})`,
        onclick: () => select(one.name) },
      s("title", {}, one.name), s("circle", { class: "reach", r: 14 }), s("circle", { r: { chosen: 9, near: 12 }[kind] ?? 7 }),
      kind === "near" ? s("text", { y: 5.5, "text-anchor": "middle" }, String(ranks.get(one.name))) : null,
      kind === "chosen" ? s("text", { x: left ? -14 : 14, y: 6, "text-anchor": left ? "end" : "start" }, one.name) : null);
    });
    points.sort((one, other) => one.classList.contains("chosen") - other.classList.contains("chosen"));
    svg.replaceChildren(...links, ...points);
    if (here) shorten(svg.querySelector(".chosen text"), Math.max(here.x, WIDTH - here.x) - 24);
    if (!fill.disabled) {
      const { shares } = maps[chosen] ?? {};
      note.textContent = all.length
        ? `${plural(all.length, "task")}; this plane shows ${Math.round(100 * (shares[0] + shares[1]))} % of their variance.`
        : `No tasks yet: ${model.hidden ? "learn the sample tasks, or " : ""}keep one that you teach.`;
    }
    svg.classList.toggle("empty", !all.length);
  }

  function move(event) {
    const name = event.target.dataset?.task;
    if (!name) return;
    if (event.key === "Enter" || event.key === " ") select(name);
    else if (event.key.startsWith("Arrow")) {
      const step = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1;
      const axis = event.key === "ArrowRight" || event.key === "ArrowLeft" ? "x" : "y";
      const all = places().sort((one, other) => one[axis] - other[axis]);
      const place = all.findIndex((one) => one.name === name);
      focus(all[(place + step + all.length) % all.length].name);
    } else return;
    event.preventDefault();
  }

  function focus(name) {
    for (const one of svg.querySelectorAll(".task")) {
      const own = one.dataset.task === name;
      one.setAttribute("tabindex", own ? 0 : -1);
      if (own) one.focus();
    }
  }

  const select = (name) => attempt(async () => {
    const [task, found] = await Promise.all([
      ask(query(`tasks/${name.split("/").map(encodeURIComponent).join("/")}`, of)),
      ask(query("nearest", { ...of, task: name, count: NEAREST })),
    ]);
    if (!task) throw new Problem(`there is no task ${name}`);
    selected = name;
    near = found.nearest;
    draw();
    if (svg.contains(document.activeElement) || document.activeElement === document.body) focus(name);
    show(task);
  });

  function show(task) {
    const hue = hues(), isPath = IS_PATH(model);
    const examples = task.examples.slice(0, EXAMPLES).map((one) => (isPath
      ? smallGrid(one.x, one.y.map((cell) => cell - OFFSET), "A path of the task")
      : h("li", {}, tokens(one.x), h("span", { class: "arrow" }, "→"), answer(one.y, hue(one.y)))));
    const nearest = near.map(({ name, similarity }, rank) => h("li", {}, h("span", { class: "rank" }, String(rank + 1)),
      button(name, () => select(name), { class: "link" }),
      s("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect", { width: 100 * Math.max(0, similarity), height: 8 })), h("span", { class: "number" }, similarity.toFixed(2).replace("-0.00", "0.00"))));
    details.replaceChildren(h("h2", { id: "task-name" }, task.name),
      h("p", { class: "quiet" }, `${plural(task.examples.length, "example")}, learned ${task.created.slice(0, 16).replace("T", " ")}`),
      task.notes ? h("p", {}, task.notes) : "",
      h(isPath ? "div" : "ol", { class: isPath ? "gallery" : "examples" }, examples),
      h("h3", {}, "Nearest tasks"),
      nearest.length ? h("ol", { class: "nearest" }, nearest) : h("p", { class: "quiet" }, "No other tasks yet."));
  }

  details.append(hint());
  const kept = model.in_memory ? "They are kept until the server stops." : "";
  const element = h("div", { class: "columns" },
    h("article", {}, h("h2", {}, "Stored tasks"), h("div", { class: "row buttons" }, model.hidden ? fill : null, which), svg, note,
      h("p", { class: "quiet" }, `Similar tasks are close to one another. ${kept}`)),
    details);
  return { element, open: load };
}

/** Shorten a label until it fits beside its point. */
function shorten(label, room) {
  const name = label.textContent;
  for (let kept = name.length - 1; kept > 3 && label.getComputedTextLength() > room; kept--) label.textContent = `${name.slice(0, kept)}…`;
}
