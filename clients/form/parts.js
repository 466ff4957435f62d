/**
 * The parts of a campaign that a client gives separately: its slots, and the items of each. Most campaigns have one.
 * @module
 */

import { button, fill, make, newId } from "./show.js";
import { texts } from "./texts.js";

const TOUCHED = "parts";

export class Parts {
  #shown = { slot: 0, item: 0 };
  #slots;
  #store;
  #chosen;

  /** `chosen` is called with the part that the user chose, which is not shown yet. */
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
      await this.#chosen({ slot: Number(slot.value), item: number - 1 });
    };
    fill("parts", make("h2", {}, told.title), make("label", { for: slot.id }, told.slot), slot, label, item,
      make("div", { class: "actions" }, button(told.show, show)));
  }

  /** The part that is shown, `{ slot, item }`, both counted from 0. */
  get shown() {
    return this.#shown;
  }

  /** Makes a part the one that is shown. */
  show(part) {
    this.#shown = part;
  }

  /** Whether a part is shown. */
  is(part) {
    return isSame(this.#shown, part);
  }

  /** Returns the parts that were given. */
  touched = async () => ((await this.#store.get(TOUCHED)) ?? []).map(([slot, item]) => ({ slot, item }));

  /** Keeps that a part was given. */
  async touch(part) {
    const all = await this.touched();
    if (all.some((one) => isSame(one, part))) return;
    await this.#store.set(TOUCHED, [...all, part].map(({ slot, item }) => [slot, item]));
  }
}

const isSame = (one, other) => one.slot === other.slot && one.item === other.item;
