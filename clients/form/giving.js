/**
 * Giving answers: the fields, sending until all servers have stored them, and what became of them.
 *
 * The client keeps a packet in the browser before it sends it, so this page may be closed at any time: it goes on with
 * the same packet when it is opened again. Each try is one call; between tries the user can replace or withdraw.
 *
 * Actions run one after the other. Each has the part and the fields that were shown when its button was pressed: the
 * user may choose another part while an action waits for its turn.
 * @module
 */

import { fieldsOf } from "./fields.js";
import { Parts } from "./parts.js";
import { showReceipt } from "./receipt.js";
import { showResult } from "./result.js";
import { Status } from "./status.js";
import { button, fill, make, newId } from "./show.js";
import { texts } from "./texts.js";

const LONGEST_PAUSE_S = 60;

/** Errors after a packet was made and kept. */
const ANSWERED = ["NotStored", "Refused", "OtherCampaign"];

export class Giving {
  #own;
  #status;
  #parts;
  #open;
  #pauseS = 1;
  #timer;
  #last = Promise.resolve();
  #running = 0;

  constructor(own) {
    this.#own = own;
    this.#status = new Status(own.campaign, Date.parse(own.table.closes), this.#actions());
    this.#parts = new Parts(own.campaign, own.store, (part) => this.#choose(part));
  }

  /** Shows the first part, and sends what an earlier visit has left. */
  async start() {
    addEventListener("online", () => this.#retry());
    await this.#parts.start();
    await this.#choose(this.#parts.shown);
    await this.#run(() => this.#send());
  }

  #actions() {
    return {
      check: () => this.#run(() => this.#ask()),
      now: () => this.#retry(),
      replace: () => this.#edit(true),
      withdraw: () => {
        const part = this.#parts.shown;
        return confirm(texts.status.reallyWithdraw) && this.#run(() => this.#withdraw(part));
      },
    };
  }

  /** Returns a part as the client takes it. */
  #where({ slot, item }) {
    return { slot: this.#own.campaign.slots[slot].name, item };
  }

  #kept(part) {
    return this.#own.me.kept(this.#where(part));
  }

  /** Returns what the client takes for one try, whose progress is shown while the part is. */
  #try(part) {
    const progress = (event) => this.#parts.is(part) && this.#status.progress(event);
    return { ...this.#where(part), waitS: 0, progress };
  }

  /** Runs one action after the other. */
  #run(act) {
    this.#running++;
    const done = this.#last.then(act).finally(() => { this.#running--; });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Shows the part that was chosen, after what was asked for before. */
  async #choose(part) {
    await this.#run(async () => {
      this.#parts.show(part);
      this.#endEdit();
      this.#status.clear();
      fill("result");
      await this.#show();
      if (this.#own.campaign.clients.length || !this.#isNew(await this.#kept(part))) await this.#ask();
    });
  }

  #isNew({ stored, waiting }) {
    return !stored && !waiting;
  }

  /** Shows what this browser knows of the part that is shown. */
  async #show() {
    const part = this.#parts.shown, kept = await this.#kept(part);
    this.#status.show(kept);
    showReceipt(this.#own.campaign, kept.stored);
    showResult(this.#own.me, this.#own.campaign.slots[part.slot], this.#where(part), kept.stored);
    if (this.#isNew(kept) && !this.#status.isClosed) this.#edit(false);
  }

  /** Asks each server what it has, and shows it. */
  async #ask() {
    const { campaign, me } = this.#own, part = this.#parts.shown;
    const found = await Promise.all(campaign.servers.map((_, index) => me.statusOf(index).catch((error) => error)));
    this.#status.told(found, part, await this.#kept(part));
    if (this.#status.isClosed && !this.#open?.isTouched) this.#endEdit(); // what somebody writes stays
  }

  // ---- the fields ------------------------------------------------------------------------------------------------

  #edit(isReplacement) {
    const told = texts.values, { campaign } = this.#own, least = campaign.atLeast, most = campaign.places;
    const part = this.#parts.shown, fields = campaign.slots[part.slot].columns.map(fieldsOf);
    const atLeast = make("input", { id: newId(), type: "text", inputmode: "numeric", autocomplete: "off" });
    atLeast.value = String(least);
    const error = make("p", { class: "error", role: "alert" });
    const progress = make("p", { id: "progress", class: "hint", role: "status" });
    const edit = this.#open = { part, fields, atLeast, error, progress, isOver: false, isTouched: false };
    const more = make("details", {}, make("summary", {}, told.more),
      make("label", { for: atLeast.id }, told.atLeast), make("p", { class: "hint" }, told.atLeastHint({ least, most })),
      atLeast);
    const cancel = isReplacement ? button(told.cancel, () => this.#endEdit()) : undefined;
    const form = make("form", { novalidate: true, autocomplete: "off" },
      make("h2", { tabindex: "-1" }, isReplacement ? told.replace : told.title),
      ...fields.map((field) => field.element), more, error, progress,
      make("div", { class: "actions" }, ...[make("button", { class: "main" }, told.send), cancel].filter(Boolean)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#run(() => this.#submit(edit));
    });
    form.addEventListener("input", () => { edit.isTouched = true; });
    fill("values", form);
    if (isReplacement) form.querySelector("h2").focus();
  }

  /** Removes the fields that are open, with what is in them. */
  #endEdit() {
    for (const field of this.#open?.fields ?? []) field.clear();
    if (this.#open) this.#open.isOver = true;
    this.#open = undefined;
    fill("values");
  }

  /** Reads all fields; returns values by column, or undefined after it has shown what is wrong. */
  async #read({ part, fields, progress }) {
    const values = [], { columns } = this.#own.campaign.slots[part.slot];
    const told = (done, all) => { progress.textContent = texts.values.checking({ done, all }); };
    for (const field of fields) values.push(await field.read(told));
    progress.textContent = "";
    const wrong = values.indexOf(undefined);
    if (wrong >= 0) fields[wrong].focus();
    return wrong >= 0 ? undefined : Object.fromEntries(columns.map(({ name }, at) => [name, values[at]]));
  }

  async #submit(edit) {
    if (edit.isOver) return; // a click before has sent them
    const { part, atLeast, error, progress } = edit, { atLeast: least, places: most } = this.#own.campaign;
    const values = await this.#read(edit);
    const asked = /^[0-9]{1,9}$/.test(atLeast.value.trim()) ? Number(atLeast.value) : 0;
    const isInRange = asked >= least && asked <= most;
    error.textContent = !values ? texts.values.wrong : isInRange ? "" : texts.values.atLeastHint({ least, most });
    if (error.textContent) return;
    progress.textContent = texts.values.encrypting;
    navigator.storage?.persist?.().catch(() => {}); // the browser may ask its user, who need not answer
    await this.#parts.touch(part);
    await this.#changed(part, () => this.#own.me.submit(values, { ...this.#try(part), atLeast: asked }), edit);
  }

  // ---- sending ---------------------------------------------------------------------------------------------------

  async #withdraw(part) {
    const { stored } = await this.#kept(part);
    await this.#changed(part, () => this.#own.me.withdraw(this.#try(part)).catch((error) => {
      // A server that has nothing of this client says so: then no packet is complete, and none can become it.
      if (stored || error.code !== "Refused" || error.status !== 403) throw error;
    }));
  }

  /** Makes and sends a packet; the fields go once it is kept. An error before that is shown beside them. */
  async #changed(part, act, edit) {
    clearTimeout(this.#timer);
    this.#pauseS = 1;
    const isShown = this.#parts.is(part);
    if (isShown) this.#status.begin();
    const problem = await act().then(() => undefined, (error) => error);
    if (!problem || ANSWERED.includes(problem.code)) {
      await this.#afterTry(isShown, problem);
      return;
    }
    if (edit) edit.error.textContent = texts.stops.failed({ message: problem.message || problem.name });
    if (!edit || !isShown) this.#status.refused(problem);
    edit?.progress.replaceChildren();
    if (isShown) this.#status.show(await this.#kept(part));
  }

  async #afterTry(isShown, problem) {
    if (isShown) {
      this.#endEdit();
      await this.#show();
    }
    if (problem?.code === "NotStored") this.#later(problem, isShown);
    else {
      if (isShown) await this.#ask();
      if (problem) this.#status.refused(problem);
    }
  }

  #later({ silent, retryAfterS }, isShown) {
    const seconds = Math.max(this.#pauseS, Math.ceil(retryAfterS ?? 0));
    this.#pauseS = Math.min(2 * this.#pauseS, LONGEST_PAUSE_S);
    if (isShown) this.#status.waits(silent, seconds);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#retry(), 1000 * seconds);
  }

  #retry() {
    clearTimeout(this.#timer);
    if (this.#running) this.#timer = setTimeout(() => this.#retry(), 1000);
    else this.#run(() => this.#send());
  }

  /** Sends all packets that some server lacks, once. */
  async #send() {
    for (const part of await this.#parts.touched()) {
      if (!(await this.#kept(part)).waiting) continue;
      const isShown = this.#parts.is(part);
      if (isShown) this.#status.begin();
      const problem = await this.#own.me.resume(this.#try(part)).then(() => {}, (error) => error);
      if (problem && !ANSWERED.includes(problem.code)) throw problem;
      if (isShown) await this.#show();
      if (problem?.code === "NotStored") this.#later(problem, isShown);
      else if (isShown) await this.#ask();
      if (problem && problem.code !== "NotStored") this.#status.refused(problem);
    }
  }
}

