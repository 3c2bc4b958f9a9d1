// Code shared by the views.

import { ask } from "./api.js";
import { h, words } from "./dom.js";

export const IS_PATH = (model) => model.benchmark === "pathfinding";

export function tell(error) {
  const place = document.getElementById("problem");
  place.textContent = error ? error.message : "";
  place.hidden = !error;
}

/** Run what a user asked for, and show the error if it fails. */
export async function attempt(work) {
  tell(null);
  try {
    return await work();
  } catch (error) {
    tell(error);
    return undefined;
  }
}

/** The chosen number of searches, fewer taking less time; null for all of the model's. */
export function searches() {
  const chosen = document.getElementById("searches").value;
  return chosen ? Number(chosen) : null;
}

export const learn = (model, examples, inputs, answers) =>
  ask("adapt", { model: model.name, examples, inputs, answers, searches: searches() });

export const hiddenTask = (model, number) => ask(`hidden/${number}?model=${encodeURIComponent(model.name)}`);

/** Split typed text into tokens as the model does; what a tokenizer splits stays text, for the server. */
export function parse(model, text) {
  if (model.text === "tokenizer") return text.trim();
  if (model.text === "characters") return [...text];
  const known = new Set(model.vocabulary), numbers = model.vocabulary.every(Number.isInteger);
  return text.trim().split(model.text ? /\s+/ : /[\s,]+/).filter(Boolean).map((word) => {
    const isNumber = /^-?\d+$/.test(word) && (numbers || known.has(Number(word)));
    const token = isNumber ? Number(word) : word;
    if (!known.has(token) && !model.unknown)
      throw new Error(`${word} is not a token of the model; its tokens are ${words(model.vocabulary.slice(0, 16))}${model.vocabulary.length > 16 ? " …" : ""}`);
    return token;
  });
}

export const randomInput = (model) =>
  Array.from({ length: model.max_x }, () => model.vocabulary[Math.floor(Math.random() * model.vocabulary.length)]);

/** Tokens as one would type them. */
export const typed = (model, tokens) => tokens.join(model.text === "characters" ? "" : " ");

/** Number the colours of labels, in order of appearance. */
export function hues() {
  const seen = new Map();
  return (label) => {
    const key = words(label);
    if (!seen.has(key)) seen.set(key, seen.size % 6);
    return seen.get(key);
  };
}

export const seconds = (since) => `${((performance.now() - since) / 1000).toFixed(1)} s`;

export const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** A form that keeps the task on the map. */
export function keepForm(model, examples) {
  const name = h("input", { name: "name", placeholder: "name of the task", maxlength: 200, required: true, "aria-label": "Name of the task" });
  const done = h("span", { class: "quiet", role: "status" });
  return h("form", { class: "row keep", onsubmit: (event) => {
    event.preventDefault();
    attempt(async () => {
      if (!examples().length) throw new Error("There are no examples to keep yet.");
      const body = { model: model.name, name: name.value, examples: examples(), searches: searches() };
      done.textContent = "Learning …";
      try {
        await ask("tasks", body);
        done.textContent = `Kept as ${name.value}: see the map.`;
        name.value = "";
      } catch (error) {
        done.textContent = "";
        throw error;
      }
    });
  } }, name, h("button", {}, "Keep on the map"), done);
}
