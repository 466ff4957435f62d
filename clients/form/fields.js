/**
 * Fields of a slot's columns: a text for each number, two choices for each bit, lines of text for longer lists.
 *
 * Texts have no `name`, so that no form sends them, and nothing completes, checks or translates what is written.
 * @module
 */

import { Problem, boundsOf, decimalOf, nested, readLines, readValue } from "./numbers.js";
import { make, newId } from "./show.js";
import { texts } from "./texts.js";

/** Lists of up to this many elements have a field for each of them. */
const MOST_FIELDS = 12;

const PRIVATE = { autocomplete: "off", autocorrect: "off", autocapitalize: "off", spellcheck: "false", translate: "no",
                  writingsuggestions: "false" };

/**
 * Returns the fields of a column: `{ element, read, clear, focus }`.
 *
 * `read(progress)` returns what the client takes as the column's values, or undefined after it has shown what is wrong.
 */
export function fieldsOf(column) {
  const few = column.shape.length === 0 || (column.shape.length === 1 && column.elements <= MOST_FIELDS);
  return few ? several(column) : lines(column);
}

/** Returns what a column is called. */
export const labelOf = (column) =>
  Object.hasOwn(texts.labels, column.name) ? texts.labels[column.name] : column.name.replaceAll("_", " ");

function hintOf(column) {
  if (column.kind === "bit") return "";
  const step = column.kind === "fixed" ? decimalOf(1n, column.frac) : undefined;
  return texts.range({ ...boundsOf(column), step });
}

function sentence({ code, details }) {
  const told = texts.problems[code];
  if (code === "inLine") return told({ ...details, sentence: sentence(details.problem) });
  return typeof told === "function" ? told(details) : told;
}

/** Returns the elements for what is wrong and for what is noted, and functions that show them. */
function notes(inputs) {
  const error = make("p", { id: newId(), class: "error" }), note = make("p", { id: newId(), class: "hint" });
  const show = (problem) => {
    error.textContent = problem ? sentence(problem) : "";
    for (const input of inputs) input.setAttribute("aria-invalid", problem ? "true" : "false");
  };
  return { error, note, show };
}

/** Runs `act`, and shows the problem that it throws. */
async function shown(show, act) {
  try {
    const found = await act();
    show(undefined);
    return found;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    show(problem);
    return undefined;
  }
}

function several(column) {
  const parts = Array.from({ length: column.elements }, (_, at) => {
    const label = column.shape.length ? texts.numbered({ label: labelOf(column), number: at + 1 }) : labelOf(column);
    return column.kind === "bit" ? choice(label) : number(column, label);
  });
  const read = async () => {
    const found = [];
    for (const part of parts) found.push(await part.read());
    if (found.includes(undefined)) return undefined;
    return column.shape.length ? nested(found, column.shape) : found[0];
  };
  const first = () => parts.find((part) => part.isInvalid()) ?? parts[0];
  return { element: make("div", {}, ...parts.map((part) => part.element)), read,
           clear: () => parts.forEach((part) => part.clear()), focus: () => first().focus() };
}

function number(column, label) {
  const id = newId(), hint = newId(), mode = column.lowest < 0n ? "text" : column.frac ? "decimal" : "numeric";
  const input = make("input", { id, type: "text", inputmode: mode, maxlength: "200", required: true, ...PRIVATE });
  const { error, note, show } = notes([input]);
  input.setAttribute("aria-describedby", `${hint} ${error.id} ${note.id}`);
  const noted = () => {
    note.textContent = "";
    const { units, isExact } = readValue(column, input.value);
    if (!isExact) note.textContent = texts.rounded({ given: decimalOf(units, column.frac) });
    return { units };
  };
  const read = () => shown(show, noted);
  // While somebody writes, errors go and do not come. Nothing moves when the field loses the focus to a button.
  input.addEventListener("input", () => shown((problem) => problem || show(undefined), noted));
  const element = make("div", { class: "field" }, make("label", { for: id }, label),
    make("p", { id: hint, class: "hint" }, hintOf(column)), input, error, note);
  const clear = () => {
    input.value = note.textContent = error.textContent = "";
    input.removeAttribute("aria-invalid");
  };
  return { element, read, clear, focus: () => input.focus(),
           isInvalid: () => input.getAttribute("aria-invalid") === "true" };
}

function choice(label) {
  const group = newId(), answers = [[texts.yes, 1n], [texts.no, 0n]];
  const inputs = answers.map(() => make("input", { id: newId(), type: "radio", name: group, ...PRIVATE }));
  const { error, show } = notes(inputs);
  const options = answers.map(([text], at) =>
    make("span", { class: "option" }, inputs[at], make("label", { for: inputs[at].id }, text)));
  const element = make("fieldset", { class: "field", "aria-describedby": error.id }, make("legend", {}, label),
    ...options, error);
  const read = () => shown(show, () => {
    const at = inputs.findIndex((input) => input.checked);
    if (at < 0) throw new Problem("unanswered");
    return { units: answers[at][1] };
  });
  const clear = () => {
    for (const input of inputs) input.checked = false;
    error.textContent = "";
  };
  return { element, read, clear, focus: () => inputs[0].focus(), isInvalid: () => error.textContent !== "" };
}

function lines(column) {
  const id = newId(), hint = newId(), file = newId();
  const input = make("textarea", { id, rows: "8", wrap: "off", required: true, ...PRIVATE });
  const chosen = make("input", { id: file, type: "file", accept: ".csv,.txt,.tsv,text/*" });
  const { error, note, show } = notes([input]);
  input.setAttribute("aria-describedby", `${hint} ${error.id} ${note.id}`);
  chosen.addEventListener("change", async () => {
    if (chosen.files.length) input.value = await chosen.files[0].text();
    chosen.value = "";
  });
  const perLine = column.shape.length < 2 ? 1 : column.shape.at(-1);
  const form = texts.lines({ rows: column.elements / perLine, perLine, isBit: column.kind === "bit" });
  const read = (progress) => shown(show, async () => {
    const { values, isExact } = await readLines(column, input.value, progress);
    note.textContent = isExact ? "" : texts.someRounded;
    return values;
  });
  const element = make("div", { class: "field" }, make("label", { for: id }, labelOf(column)),
    make("p", { id: hint, class: "hint" }, `${form} ${hintOf(column)}`), input,
    make("label", { for: file, class: "hint" }, texts.fromFile), chosen, error, note);
  const clear = () => {
    input.value = note.textContent = error.textContent = "";
    input.removeAttribute("aria-invalid");
  };
  return { element, read, clear, focus: () => input.focus() };
}
