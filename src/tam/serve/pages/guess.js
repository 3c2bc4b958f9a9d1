// A game: you and the model see the same examples of a hidden rule, and answer the same questions.

import { answer, button, h, percent, same, tokens } from "./dom.js";
import { bigGrid, smallGrid } from "./grid.js";
import { OFFSET, blocked, judge } from "./paths.js";
import { IS_PATH, attempt, hiddenTask, hues, learn, parse, typed } from "./shared.js";

const ROUNDS = 6;

export function guessView(model) {
  const isPath = IS_PATH(model), labels = model.kind === "classification", hue = hues();
  const FIRST = isPath ? 2 : 4;
  let task = null, order = [], first = 0, rounds = ROUNDS, round = 0, score, past, mine = null;

  const board = h("div", { class: "board", role: "status" });
  const seen = h(isPath ? "div" : "ol", { class: isPath ? "gallery" : "examples", "aria-label": "Examples that both of you see" });
  const question = h("div", { class: "question" });
  const history = h("ul", { class: "rounds", "aria-label": "Answers so far" });

  const begin = () => attempt(async () => {
    if (!order.length) order = [...Array(model.hidden).keys()].sort(() => Math.random() - 0.5);
    task = await hiddenTask(model, order.pop());
    first = Math.min(FIRST, Math.floor(task.examples.length / 2));
    rounds = Math.min(ROUNDS, task.examples.length - first);
    round = 0;
    past = [];
    score = { you: 0, model: 0 };
    history.replaceChildren();
    pose();
  });

  const known = () => task.examples.slice(0, first + round);
  const shownAnswer = (y) => (isPath ? `${y.length - 1} steps` : answer(y, hue(y)));
  const isRight = (x, given, truth) => (isPath
    ? judge(x, given.map((cell) => cell - OFFSET), truth.map((cell) => cell - OFFSET)).right
    : same(given, truth));

  function pose() {
    const current = task.examples[first + round];
    mine = attempt(() => learn(model, known(), [current.x], 1));
    drawSeen();
    drawBoard();
    question.replaceChildren(h("h2", {}, `Round ${round + 1} of ${rounds}: your answer?`), isPath ? pathQuestion(current) : wordQuestion(current));
    if (round) question.querySelector("input, .choices button, [tabindex='0']")?.focus({ preventScroll: true });
  }

  function wordQuestion(current) {
    const ask = h("p", { class: "asked" }, tokens(current.x), h("span", { class: "arrow" }, "→"), h("b", {}, "?"));
    if (labels) {
      const all = [...new Set(task.examples.map((one) => one.y))].sort();
      return h("div", {}, ask, h("div", { class: "row choices" }, all.map((label) =>
        button(String(label), () => check(label), { class: `label hue${hue(label)}`, "aria-label": `Answer ${label}` }))));
    }
    const given = h("input", { "aria-label": "Your answer", placeholder: typed(model, current.x), required: true, autocomplete: "off" });
    return h("div", {}, ask, h("form", { class: "row", onsubmit: (event) => {
      event.preventDefault();
      attempt(async () => check(parse(model, given.value)));
    } }, given, h("button", { class: "main" }, "Answer")));
  }

  function pathQuestion(current) {
    let path = [];
    const grid = bigGrid("Your path: arrow keys move, Space adds a cell, Backspace removes the last one", (cell) => {
      if (blocked(current.x).has(cell)) return;
      if (path.at(-1) !== cell) path = path.includes(cell) ? path.slice(0, path.indexOf(cell) + 1) : [...path, cell];
      show();
    }, (name) => {
      if (name !== "Backspace") return false;
      path = path.slice(0, -1);
      show();
      return true;
    });
    const show = () => {
      send.disabled = path.length < 2;
      grid.show({ layout: current.x, start: path[0], end: path.length > 1 ? path.at(-1) : undefined, ways: [[path, "guess", 0]] });
    };
    const send = button("Answer", () => check(path.map((cell) => cell + OFFSET)), { class: "main" });
    show();
    return h("div", {}, h("p", {}, "Where does the path start and end? Click or drag it cell by cell; any shortest path counts."),
      grid.element, h("div", { class: "row buttons" }, send, button("Clear", () => {
        path = [];
        show();
      })));
  }

  async function check(given) {
    const current = task.examples[first + round];
    question.replaceChildren(h("h2", {}, "The model thinks …"));
    const reply = await mine;
    if (!reply) return;
    const [theirs] = reply.rows;
    const one = { current, given, theirs, you: isRight(current.x, given, current.y), model: isRight(current.x, theirs.answer, current.y) };
    score.you += one.you;
    score.model += one.model;
    past.push(one);
    history.prepend(roundLine(one));
    round += 1;
    if (round < rounds) pose();
    else end();
  }

  function roundLine({ current, given, theirs, you, model: its }) {
    const mark = (right) => h("span", { class: right ? "right" : "wrong" }, right ? "✓" : "✗");
    const small = (path, name) => smallGrid(current.x, path.map((cell) => cell - OFFSET), name);
    const cell = (name, value, right) => h("span", { class: "reply" }, h("small", {}, name),
      isPath ? small(value, `${name}: ${value.length - 1} steps`) : shownAnswer(value), right === null ? null : mark(right));
    return h("li", {}, isPath ? null : h("span", { class: "reply" }, h("small", {}, "question"), tokens(current.x)),
      cell("you", given, you), cell(`model, ${percent(theirs.probability)}`, theirs.answer, its), cell("truth", current.y, null));
  }

  function end() {
    drawSeen();
    drawBoard();
    const { you, model: its } = score;
    const result = you > its ? "You win." : you < its ? "The model wins." : "A draw.";
    question.replaceChildren(h("h2", {}, result), h("p", {}, "The rule was ", h("b", { class: "revealed" }, task.name), "."),
      h("div", { class: "row buttons" }, button("Another rule", begin, { class: "main", id: "again" })));
    question.querySelector("button").focus({ preventScroll: true });
  }

  function drawSeen() {
    seen.replaceChildren(...known().toReversed().map((one) => (isPath
      ? smallGrid(one.x, one.y.map((cell) => cell - OFFSET), "A path of the hidden rule")
      : h("li", {}, tokens(one.x), h("span", { class: "arrow" }, "→"), answer(one.y, hue(one.y))))));
  }

  function drawBoard() {
    const dots = (who) => h("span", { class: "dots", "aria-hidden": "true" }, Array.from({ length: rounds }, (_, place) =>
      h("i", { class: place < past.length ? (past[place][who] ? "hit" : "miss") : "" })));
    board.replaceChildren(
      h("div", {}, h("small", {}, "You"), h("strong", { id: "score-you" }, String(score.you)), dots("you")),
      h("div", {}, h("small", {}, "Model"), h("strong", { id: "score-model" }, String(score.model)), dots("model")));
  }

  const element = h("div", { class: "columns" },
    h("article", {}, board, question, history),
    h("article", {}, h("h2", {}, "What both of you see"), h("p", { class: "quiet" }, "Examples of a hidden rule, newest first. Each question becomes another example."), seen));
  if (!model.hidden)
    return { element: h("article", {}, h("h2", {}, "Guess"), h("p", {}, "This model has no hidden tasks. Pretrained models have some, and so do models made by tam pack.")) };
  return { element, open: () => (task ? undefined : begin()) };
}
