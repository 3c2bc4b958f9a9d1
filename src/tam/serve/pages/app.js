// The page: the choice of a model and a view.

import { ask } from "./api.js";
import { h, segments } from "./dom.js";
import { drawView } from "./draw.js";
import { guessView } from "./guess.js";
import { mapView } from "./map.js";
import { IS_PATH, attempt, plural } from "./shared.js";
import { teachView } from "./teach.js";

const VIEWS = { teach: (model) => (IS_PATH(model) ? drawView(model) : teachView(model)), guess: guessView, map: mapView };
const QUICK = 2;

const ABOUT = {
  classification: "A rule gives every sequence of 5 numbers a label. Show a few labelled sequences, and the model labels the rest.",
  transduction: "A rule rewrites a sequence of 5 numbers as another. Show a few examples, and the model rewrites new sequences.",
  pathfinding: "A rule is a start and an end, which the model is never told: it sees shortest paths, and must find the one around your obstacles.",
};

const at = (id) => document.getElementById(id);
let model, shown, made = {};

function about() {
  const own = `The inputs of its tasks have up to ${plural(model.max_x, "token")} from a vocabulary of ${model.vocabulary.length}.`;
  return ABOUT[model.benchmark] ?? `${model.name}: ${model.kind}, learned with ${model.method}. ${own}`;
}

function show(name) {
  shown = name;
  for (const view of Object.keys(VIEWS)) {
    const tab = at(`tab-${view}`), chosen = view === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    at(view).hidden = !chosen;
  }
  history.replaceState(null, "", `#${model.name}/${name}`);
  attempt(async () => {
    if (!made[name]) {
      made[name] = VIEWS[name](model);
      at(name).replaceChildren(made[name].element);
    }
    await made[name].open?.();
  });
}

function take(next) {
  model = next;
  made = {};
  at("about").textContent = about();
  at("effort").hidden = model.searches <= QUICK;
  at("searches").replaceChildren(
    h("option", { value: QUICK }, `quick: ${QUICK} searches`),
    h("option", { value: "" }, `thorough: ${plural(model.searches, "search").replace("searchs", "searches")}`));
  show(shown);
}

async function begin() {
  const { models } = await ask("models");
  const [name, view] = decodeURIComponent(location.hash.slice(1)).split("/");
  shown = view in VIEWS ? view : "teach";
  const first = models.find((one) => one.name === name) ?? models[0];
  at("models").append(...segments("model", models.map((one) => [one.name, one.name]), first.name,
    (chosen) => take(models.find((one) => one.name === chosen))));
  at("models").hidden = models.length < 2;
  const names = Object.keys(VIEWS);
  names.forEach((one, place) => {
    const tab = at(`tab-${one}`);
    tab.addEventListener("click", () => show(one));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = names[(place + step + names.length) % names.length];
      show(next);
      at(`tab-${next}`).focus();
    });
  });
  at("searches").addEventListener("change", () => attempt(async () => made[shown]?.relearn?.()));
  take(first);
}

attempt(begin);
