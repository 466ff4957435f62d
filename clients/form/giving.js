/**
 * Giving answers: the fields, sending until all servers have stored them, and what became of them.
 *
 * The client keeps a packet in the browser before it sends it, so this page may be closed at any time: it goes on with
 * the same packet when it is opened again. Each try is one call; between tries the user can replace or withdraw.
 * @module
 */

import { fieldsOf } from "./fields.js";
import { Parts } from "./parts.js";
import { showReceipt } from "./receipt.js";
import { showResult } from "./result.js";
import { Status } from "./status.js";
import { button, fill, find, make, newId } from "./show.js";
import { texts } from "./texts.js";

const LONGEST_PAUSE_S = 60;

/** Errors after a packet was made and kept. */
const ANSWERED = ["NotStored", "Refused", "OtherCampaign"];

export class Giving {
  #own;
  #status;
  #parts;
  #fields = [];
  #pauseS = 1;
  #timer;
  #last = Promise.resolve();
  #running = 0;

  constructor(own) {
    this.#own = own;
    this.#status = new Status(own.campaign, Date.parse(own.table.closes), this.#actions());
    this.#parts = new Parts(own.campaign, own.store, () => this.#chosen());
  }

  /** Shows the first part, and sends what an earlier visit has left. */
  async start() {
    addEventListener("online", () => this.#retry());
    await this.#parts.start();
    await this.#chosen();
    await this.#run(() => this.#send());
  }

  #actions() {
    return {
      check: () => this.#run(() => this.#ask()),
      now: () => this.#retry(),
      replace: () => this.#edit(true),
      withdraw: () => confirm(texts.status.reallyWithdraw) && this.#run(() => this.#withdraw()),
    };
  }

  get #slot() {
    return this.#own.campaign.slots[this.#parts.slot];
  }

  get #where() {
    return { slot: this.#slot.name, item: this.#parts.item };
  }

  /** Runs one action after the other. */
  #run(act) {
    this.#running++;
    const done = this.#last.then(act).finally(() => { this.#running--; });
    this.#last = done.catch(() => {});
    return done;
  }

  /** Shows the part that was chosen. */
  async #chosen() {
    await this.#run(async () => {
      this.#status.clear();
      fill("result");
      await this.#show();
      if (this.#own.campaign.clients.length || !this.#isNew(await this.#own.me.kept(this.#where))) await this.#ask();
    });
  }

  #isNew({ stored, waiting }) {
    return !stored && !waiting;
  }

  /** Shows what this browser knows of the part. */
  async #show() {
    const kept = await this.#own.me.kept(this.#where);
    this.#status.show(kept);
    showReceipt(this.#own.campaign, kept.stored);
    showResult(this.#own.me, this.#slot, this.#where, kept.stored);
    if (this.#isNew(kept) && !this.#status.isClosed) this.#edit(false);
  }

  /** Asks each server what it has, and shows it. */
  async #ask() {
    const { campaign, me } = this.#own;
    const found = await Promise.all(campaign.servers.map((_, index) => me.statusOf(index).catch((error) => error)));
    this.#status.told(found, this.#parts.slot, this.#parts.item, await me.kept(this.#where));
    if (this.#status.isClosed) fill("values");
  }

  // ---- the fields ------------------------------------------------------------------------------------------------

  #edit(isReplacement) {
    const told = texts.values, { campaign } = this.#own, least = campaign.atLeast, most = campaign.places;
    this.#fields = this.#slot.columns.map(fieldsOf);
    const atLeast = make("input", { id: newId(), type: "text", inputmode: "numeric", autocomplete: "off" });
    atLeast.value = String(least);
    const error = make("p", { class: "error", role: "alert" }), progress = make("p", { id: "progress", class: "hint", role: "status" });
    const more = make("details", {}, make("summary", {}, told.more),
      make("label", { for: atLeast.id }, told.atLeast), make("p", { class: "hint" }, told.atLeastHint({ least, most })),
      atLeast);
    const cancel = isReplacement ? button(told.cancel, () => this.#endEdit()) : undefined;
    const form = make("form", { novalidate: true, autocomplete: "off" },
      make("h2", { tabindex: "-1" }, isReplacement ? told.replace : told.title),
      ...this.#fields.map((field) => field.element), more, error, progress,
      make("div", { class: "actions" }, ...[make("button", { class: "main" }, told.send), cancel].filter(Boolean)));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#run(() => this.#submit(atLeast, error, progress));
    });
    fill("values", form);
    if (isReplacement) form.querySelector("h2").focus();
  }

  /** Removes the fields, with what is in them. */
  #endEdit() {
    for (const field of this.#fields) field.clear();
    this.#fields = [];
    fill("values");
  }

  /** Reads all fields; returns values by column, or undefined after it has shown what is wrong. */
  async #read(progress) {
    const values = [];
    const told = (done, all) => { progress.textContent = texts.values.checking({ done, all }); };
    for (const field of this.#fields) values.push(await field.read(told));
    progress.textContent = "";
    const wrong = values.indexOf(undefined);
    if (wrong >= 0) this.#fields[wrong].focus();
    return wrong >= 0 ? undefined : Object.fromEntries(this.#slot.columns.map(({ name }, at) => [name, values[at]]));
  }

  async #submit(atLeast, error, progress) {
    if (!this.#fields.length) return; // they were sent by a click before
    const values = await this.#read(progress), { atLeast: least, places: most } = this.#own.campaign;
    const asked = /^[0-9]{1,9}$/.test(atLeast.value.trim()) ? Number(atLeast.value) : 0;
    const isInRange = asked >= least && asked <= most;
    error.textContent = !values ? texts.values.wrong : isInRange ? "" : texts.values.atLeastHint({ least, most });
    if (error.textContent) return;
    progress.textContent = texts.values.encrypting;
    navigator.storage?.persist?.().catch(() => {}); // the browser may ask its user, who need not answer
    await this.#parts.touch();
    const given = { ...this.#where, atLeast: asked, waitS: 0, progress: (event) => this.#status.progress(event) };
    await this.#changed(() => this.#own.me.submit(values, given), error);
  }

  // ---- sending ---------------------------------------------------------------------------------------------------

  async #withdraw() {
    const { stored } = await this.#own.me.kept(this.#where);
    const options = { ...this.#where, waitS: 0, progress: (event) => this.#status.progress(event) };
    await this.#changed(() => this.#own.me.withdraw(options).catch((error) => {
      // A server that has nothing of this client says so: then no packet is complete, and none can become it.
      if (stored || error.code !== "Refused" || error.status !== 403) throw error;
    }));
  }

  /** Makes and sends a packet; the fields go once it is kept. An error before that is shown beside them. */
  async #changed(act, error) {
    clearTimeout(this.#timer);
    this.#pauseS = 1;
    this.#status.begin();
    try {
      await act();
    } catch (problem) {
      if (!ANSWERED.includes(problem.code)) {
        if (error) error.textContent = texts.stops.failed({ message: problem.message || problem.name });
        else this.#status.refused(problem);
        find("progress")?.replaceChildren();
        this.#status.show(await this.#own.me.kept(this.#where));
        return;
      }
      await this.#afterTry(problem);
      return;
    }
    await this.#afterTry(undefined);
  }

  async #afterTry(problem) {
    this.#endEdit();
    await this.#show();
    if (problem?.code === "NotStored") this.#later(problem, true);
    else {
      await this.#ask();
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
    for (const [slot, item] of await this.#parts.touched()) {
      const isShown = this.#parts.is(slot, item), where = { slot: this.#own.campaign.slots[slot].name, item };
      if (!(await this.#own.me.kept(where)).waiting) continue;
      const progress = (event) => isShown && this.#status.progress(event);
      if (isShown) this.#status.begin();
      const problem = await this.#own.me.resume({ ...where, waitS: 0, progress }).then(() => {}, (error) => error);
      if (problem && !ANSWERED.includes(problem.code)) throw problem;
      if (isShown) await this.#show();
      if (problem?.code === "NotStored") this.#later(problem, isShown);
      else if (isShown) await this.#ask();
      if (problem && problem.code !== "NotStored") this.#status.refused(problem);
    }
  }
}

