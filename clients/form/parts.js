/**
 * The parts of a campaign that a client gives separately: its slots, and the items of each. Most campaigns have one.
 * @module
 */

import { button, fill, make, newId } from "./show.js";
import { texts } from "./texts.js";

const TOUCHED = "parts";

export class Parts {
  slot = 0;
  item = 0;
  #slots;
  #store;
  #chosen;

  /** `chosen` is called after another part was chosen. */
  constructor({ slots }, store, chosen) {
    this.#slots = slots;
    this.#store = store;
    this.#chosen = chosen;
  }

  /** Shows a choice, if there is one. */
  async start() {
    if (this.#slots.length === 1 && this.#slots[0].perClient === 1) return;
    const told = texts.parts, slot = make("select", { id: newId() }), item = make("input",
      { id: newId(), type: "text", inputmode: "numeric", autocomplete: "off" });
    slot.append(...this.#slots.map(({ name }, at) => make("option", { value: String(at) },
      Object.hasOwn(texts.labels, name) ? texts.labels[name] : name.replaceAll("_", " "))));
    const label = make("label", { for: item.id });
    const most = () => this.#slots[Number(slot.value)].perClient;
    const adapt = () => { label.textContent = told.item({ most: most() }); };
    slot.addEventListener("change", adapt);
    adapt();
    item.value = "1";
    const show = async () => {
      const number = /^[0-9]{1,5}$/.test(item.value.trim()) ? Number(item.value) : 0;
      if (number < 1 || number > most()) {
        item.setAttribute("aria-invalid", "true");
        item.focus();
        return;
      }
      item.removeAttribute("aria-invalid");
      [this.slot, this.item] = [Number(slot.value), number - 1];
      await this.#chosen();
    };
    fill("parts", make("h2", {}, told.title), make("label", { for: slot.id }, told.slot), slot, label, item,
      make("div", { class: "actions" }, button(told.show, show)));
  }

  /** Whether this part is shown. */
  is(slot, item) {
    return this.slot === slot && this.item === item;
  }

  /** Returns the parts that were given, as pairs of slot and item. */
  touched = async () => (await this.#store.get(TOUCHED)) ?? [];

  /** Keeps that the part which is shown was given. */
  async touch() {
    const all = await this.touched();
    const isKept = all.some(([slot, item]) => this.is(slot, item));
    if (!isKept) await this.#store.set(TOUCHED, [...all, [this.slot, this.item]]);
  }
}
