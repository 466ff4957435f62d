/**
 * Where answers are: a sentence for all of it, which is read aloud, and a line for each server.
 * @module
 */

import { addressOf, timeOf } from "./about.js";
import { button, fill, find, make } from "./show.js";
import { texts } from "./texts.js";

export class Status {
  #campaign;
  #act;
  #lines;
  #closes;
  #before;
  #offered = "";
  #closed;

  /** `closes` is the closing time in ms; `act` has what buttons do: `check`, `now`, `replace` and `withdraw`. */
  constructor(campaign, closes, act) {
    this.#campaign = campaign;
    this.#closes = closes;
    this.#act = act;
    this.clear();
    find("status-title").textContent = texts.status.title;
    find("status").hidden = false;
  }

  /** Whether all servers that answered have said that the campaign is closed: one alone does not decide. */
  get isClosed() {
    return this.#closed === true;
  }

  /** Returns a sentence if the campaign is closed, or is over by this browser's clock, which may be wrong. */
  get #closing() {
    if (this.#closed === undefined && Date.now() >= this.#closes) return texts.status.over;
    return this.isClosed && texts.status.closed;
  }

  clear() {
    this.#lines = this.#campaign.servers.map(() => "");
    fill("refusal");
    this.#draw();
  }

  #draw() {
    const items = this.#campaign.servers.map((server, at) => {
      const told = { number: at, address: addressOf(server), state: this.#lines[at] };
      return this.#lines[at] ? make("li", {}, texts.status.server(told)) : undefined;
    });
    find("servers").replaceChildren(...items.filter(Boolean));
  }

  #say(...sentences) {
    const text = sentences.filter(Boolean).join(" ");
    if (find("state").textContent !== text) find("state").textContent = text;
  }

  /** Shows what the browser has: a packet that all servers have stored, and one that some lack. */
  show({ stored, waiting }) {
    const told = texts.status, isGiven = (waiting ?? stored) && !(waiting ?? stored).withdrawn;
    if (waiting) this.waits(waiting.receipts.flatMap((receipt, at) => (receipt ? [] : [at])), 1);
    else if (!stored) this.#say(told.nothing, this.#closing);
    else {
      const time = timeOf(1000 * Math.max(...stored.receipts.map((receipt) => receipt.time)));
      this.#say((stored.withdrawn ? told.withdrawn : told.stored)({ time }), this.#closing);
    }
    this.#before = waiting ? (stored && !stored.withdrawn ? told.before : told.beforeNone) : undefined;
    for (const [at, receipt] of (waiting ?? stored)?.receipts.entries() ?? []) {
      this.#lines[at] = receipt ? told.hasStored : this.#lines[at] || told.lacks;
    }
    this.#draw();
    const isOpen = !this.isClosed && (waiting || stored);
    const withdraw = isOpen && isGiven && "withdraw", check = (waiting || stored) && "check";
    this.#offer([waiting && "now", isOpen && "replace", withdraw, check]);
  }

  /** Shows buttons by the names of what they do; those that are there already stay, with the focus on one of them. */
  #offer(names) {
    const offered = names.filter(Boolean);
    if (offered.join() === this.#offered) return;
    this.#offered = offered.join();
    fill("actions", ...offered.map((name) => button(texts.status[name], this.#act[name])));
  }

  /** Says which servers are waited for, and for how long. */
  waits(servers, seconds) {
    this.#say(texts.status.waiting({ servers, seconds }), this.#before);
  }

  begin() {
    fill("refusal");
    this.#say(texts.status.sending);
  }

  /** Shows what the client tells while it sends. */
  progress({ server, state, problem }) {
    const told = texts.status;
    const known = { asked: told.asked, stored: told.hasStored };
    this.#lines[server] = known[state] ?? told.problem({ message: problem.message });
    this.#draw();
    const address = addressOf(this.#campaign.servers[server]), line = this.#lines[server];
    if (state === "stored") this.#say(told.sending, told.server({ number: server, address, state: line }));
  }

  /** Shows an answer that will not change. */
  refused(error) {
    const told = error.code === "OtherCampaign" ? texts.status.otherCampaign : texts.status.refused;
    fill("refusal", told({ message: error.message }));
  }

  /** Shows what servers state of a part; an error stands for a server that did not answer. */
  told(found, part, kept) {
    const answered = found.filter((one) => !(one instanceof Error));
    if (answered.length) this.#closed = answered.every((one) => one.closed);
    this.show(kept);
    for (const [at, one] of found.entries()) this.#lines[at] = this.#line(one, part, kept);
    this.#draw();
  }

  #line(one, { slot, item }, { stored, waiting }) {
    const told = texts.status;
    if (one instanceof Error && one.status !== 404) return told.unknown({ message: one.message });
    const found = one.items?.find((each) => each.slot === slot && each.item === item);
    const packet = [stored, waiting].find((each) => each && each.number === found?.number);
    let line = told.none;
    if (found?.outcome === "stored") {
      line = packet?.withdrawn ? told.has.withdrawn : waiting && packet !== waiting ? told.lacks : told.has.stored;
    } else if (found) line = Object.hasOwn(told.has, found.outcome) ? told.has[found.outcome] : told.none;
    const why = found?.why ? ` (${found.why})` : "";
    return `${line}${why}${one.closed ? `; ${told.isClosed}` : ""}`;
  }
}
