/**
 * What the program reveals to this client alone, if it reveals anything.
 * @module
 */

import { labelOf } from "./fields.js";
import { button, fill, make } from "./show.js";
import { texts } from "./texts.js";

/** Shows a button that asks for the result, if the slot has one and answers were given. */
export function showResult(me, slot, where, stored) {
  if (!slot.results.length || !stored || stored.withdrawn) {
    fill("result");
    return;
  }
  const told = texts.result, answer = make("div", { id: "answer" });
  const ask = async () => {
    try {
      const found = await me.result(where);
      answer.replaceChildren(make("dl", {}, ...slot.results.flatMap((one) =>
        [make("dt", {}, labelOf(one)), make("dd", {}, shown(one, found[one.name]))])));
    } catch (error) {
      if (!error.code) throw error;
      answer.replaceChildren(make("p", {}, told.none({ message: error.message })));
    }
  };
  fill("result", make("h2", {}, told.title), make("div", { class: "actions" }, button(told.ask, ask)), answer);
}

function shown(one, { data }) {
  if (one.kind === "bit") return Array.from(data, (bit) => (bit ? texts.yes : texts.no)).join(", ");
  return Array.from(data, (value) => texts.number(String(value))).join(", ");
}
