// Give examples of a rule one after another, and see the answers to new inputs change.

import { newest } from "./api.js";
import { answer, button, h, percent, s, same, tokens, words } from "./dom.js";
import { attempt, hiddenTask, hues, keepForm, learn, parse, plural, randomInput, seconds, tell, typed } from "./shared.js";

const INPUTS = 6, FIRST = 4, SHOWN = 14;

export function teachView(model) {
  const labels = model.kind === "classification", hue = hues();
  let examples = [], inputs = [], sample = null, sampleNumber = -1;

  const list = h("ol", { class: "examples", "aria-label": "Examples" });
  const rows = h("ul", { class: "answers", "aria-label": "Answers to new inputs" });
  const status = h("p", { class: "quiet", role: "status" });
  const ruleName = h("p", { class: "rule" });
  const x = h("input", { placeholder: typed(model, randomInput(model)), "aria-label": "Input of an example", required: true, inputmode: "text" });
  const y = h("input", { placeholder: labels ? "label" : typed(model, randomInput(model)), "aria-label": "Its answer", required: true });
  const asked = h("input", { placeholder: typed(model, randomInput(model)), "aria-label": "A new input", required: true });
  const next = button("Next example", () => step(), { class: "main", id: "next" });

  const form = h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    attempt(async () => {
      const known = /^-?\d+$/.test(y.value.trim()) ? Number(y.value) : y.value.trim();
      add({ x: parse(model, x.value), y: labels ? known : parse(model, y.value) });
      if (sample) leaveSample();
      x.value = y.value = "";
      x.focus();
    });
  } }, x, h("span", { class: "arrow", "aria-hidden": "true" }, "→"), y, h("button", {}, "Add"));

  const askForm = h("form", { class: "row", onsubmit: (event) => {
    event.preventDefault();
    attempt(async () => {
      inputs.push({ x: parse(model, asked.value), history: [] });
      asked.value = "";
      await relearn();
    });
  } }, asked, h("button", {}, "Ask"), button("Random", () => {
    inputs.push({ x: randomInput(model), history: [] });
    relearn();
  }));

  const relearn = newest(() => attempt(async () => {
    draw();
    if (!examples.length || !inputs.length) return;
    const given = examples.slice(), questions = inputs.slice(), since = performance.now();
    status.textContent = `Learning ${plural(given.length, "example")} …`;
    element.classList.add("busy");
    try {
      const found = await learn(model, given, questions.map((one) => one.x), labels ? Math.max(model.classes, 1) : 3);
      questions.forEach((question, place) => (question.history[given.length] = found.rows[place]));
      status.textContent = `Learned ${plural(given.length, "example")} in ${seconds(since)}.`;
    } catch (error) {
      status.textContent = "";
      throw error;
    } finally {
      element.classList.remove("busy");
    }
    draw();
  }));

  function add(example) {
    examples = [...examples, example];
    relearn();
    list.scrollTop = list.scrollHeight;
  }

  function remove(place) {
    examples = examples.filter((_, other) => other !== place);
    for (const one of inputs) one.history.length = Math.min(one.history.length, place + 1);
    relearn();
  }

  function step() {
    tell(null);
    if (sample && examples.length < sample.given) add(sample.examples[examples.length]);
  }

  function leaveSample() {
    sample = null;
    for (const one of inputs) delete one.truth;
    draw();
  }

  function startOver() {
    sample = null;
    examples = [];
    inputs = Array.from({ length: INPUTS }, () => ({ x: randomInput(model), history: [] }));
    status.textContent = "";
    draw();
    x.focus();
  }

  const another = () => attempt(async () => {
    sampleNumber = (sampleNumber + 1) % model.hidden;
    const task = await hiddenTask(model, sampleNumber);
    const given = task.examples.length - Math.min(INPUTS, Math.floor(task.examples.length / 2));
    sample = { ...task, given };
    inputs = task.examples.slice(given).map((one) => ({ x: one.x, truth: one.y, history: [] }));
    examples = [];
    const own = sample;
    while (sample === own && examples.length < Math.min(FIRST, given)) {
      examples = sample.examples.slice(0, examples.length + 1);
      await relearn();
    }
  });

  /** A bar for each number of examples so far: the model's confidence, and its answer as the colour. */
  function trail(question, now) {
    const steps = question.history.slice(1).slice(-SHOWN), width = 7;
    const bars = steps.map((one, place) => {
      const height = one ? Math.max(2, 22 * one.probability) : 0;
      const kind = labels ? `hue${hue(one?.answer ?? "")}` : same(one?.answer, now.answer) ? "same" : "other";
      return one ? s("rect", { class: kind, x: place * width, y: 24 - height, width: width - 1, height, rx: 1 }) : null;
    });
    return s("svg", { class: labels ? "trail long" : "trail", preserveAspectRatio: "xMinYMax", viewBox: `0 0 ${SHOWN * width} 24`, "aria-hidden": "true" }, bars);
  }

  function answerRow(question, place) {
    const now = question.history[examples.length] ?? question.history.findLast((one) => one);
    const drop = button("×", () => {
      inputs.splice(place, 1);
      draw();
    }, { class: "drop", "aria-label": `Remove input ${words(question.x)}` });
    if (!now || !examples.length)
      return h("li", {}, tokens(question.x), h("span", { class: "arrow" }, "→"), h("span", { class: "quiet" }, "?"), drop);
    const others = now.others.filter((one) => one.probability >= 0.01).slice(0, 3);
    const right = question.truth === undefined ? null : same(now.answer, question.truth);
    const mark = right === null ? null
      : h("span", { class: right ? "right" : "wrong", title: right ? "right" : `the answer is ${words(question.truth)}` }, right ? "✓" : "✗");
    return h("li", { title: others.map((one) => `${words(one.answer)}: ${percent(one.probability)}`).join("\n") },
      tokens(question.x), h("span", { class: "arrow" }, "→"), answer(now.answer, hue(now.answer)), mark,
      h("span", { class: "confidence" }, trail(question, now), h("span", { class: "number" }, percent(now.probability))), drop);
  }

  function draw() {
    list.replaceChildren(...examples.map((one, place) =>
      h("li", {}, tokens(one.x), h("span", { class: "arrow" }, "→"), answer(one.y, hue(one.y)),
        button("×", () => remove(place), { class: "drop", "aria-label": `Remove example ${place + 1}` }))));
    if (!examples.length) list.append(h("li", { class: "quiet empty" }, "No examples yet: type one below."));
    rows.replaceChildren(...inputs.map(answerRow));
    ruleName.textContent = sample ? `A rule that training never showed: ${sample.name}` : "Your own rule";
    next.disabled = !sample || examples.length >= sample.given;
  }

  const buttons = h("div", { class: "row buttons" }, model.hidden ? [next, button("Another rule", another)] : [],
    button("Your own rule", startOver, { id: "own" }));
  const element = h("div", { class: "columns wider" },
    h("article", {}, h("h2", {}, "Examples"), ruleName, buttons, list, form, keepForm(model, () => examples)),
    h("article", {}, h("h2", {}, "New inputs"), status, rows, askForm,
      h("p", { class: "quiet" }, "Each bar shows how sure the model was after one more example; its colour shows the answer.")));
  return { element, relearn, open: () => {
    if (element.dataset.open) return undefined;
    element.dataset.open = "yes";
    if (model.hidden) return another();
    inputs = Array.from({ length: INPUTS }, () => ({ x: randomInput(model), history: [] }));
    return draw();
  } };
}
