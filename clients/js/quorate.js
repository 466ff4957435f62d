/**
 * Quorate's client for browsers and Node 20: gives values to the servers of a campaign, none of which sees them.
 *
 * It needs WebCrypto and `fetch`, and nothing else. `packets.js` and what it imports, beside it, make the bytes.
 * @module
 */

import * as wire from "./packets.js";
import { ClientError, VALUES, WITHDRAWN, fromText, toText } from "./packets.js";

export { ClientError, decimalIn, fromText, idOf, keyFromJwk, keyFromPem, newKey, readCampaign, readInvitation,
         sealedInvitation, toText } from "./packets.js";

const FIRST_PAUSE_S = 0.5, LONGEST_PAUSE_S = 15, UPLOAD_MS = 600_000, ASK_MS = 30_000, MOST_TOLD = 1 << 20;

/** A store that lasts as long as the page or process: unsent packets and masks of results are lost with it. */
export function memoryStore() {
  const items = new Map();
  return {
    get: async (name) => structuredClone(items.get(name)),
    set: async (name, item) => void items.set(name, structuredClone(item)),
  };
}

/** A store in the browser's IndexedDB. */
export function indexedDbStore(name = "quorate") {
  const opened = new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => request.result.createObjectStore("items");
    request.onsuccess = () => {
      request.result.onversionchange = () => request.result.close(); // lets a page delete the database
      resolve(request.result);
    };
    request.onerror = () => reject(request.error);
  });
  const done = async (mode, act) => {
    const transaction = (await opened).transaction("items", mode, { durability: "strict" });
    return new Promise((resolve, reject) => {
      const request = act(transaction.objectStore("items"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  };
  return {
    get: (key) => done("readonly", (items) => items.get(key)),
    set: (key, item) => done("readwrite", (items) => items.put(item, key)),
  };
}

/**
 * Returns a client of a campaign. Nothing is sent.
 *
 * Throws ClientError "CampaignError": the key or the invitation is not for the campaign.
 */
export async function client({ campaign, key, invitation, store, fetch = globalThis.fetch }) {
  const read = campaign.hash ? campaign : await wire.readCampaign(campaign);
  const invited = typeof invitation === "string" ? wire.readInvitation(invitation) : invitation;
  const id = await wire.idOf(key);
  const refused = (message) => new ClientError("CampaignError", message);
  let place = read.clients.indexOf(toText(id));
  if (!read.invitations) {
    if (place < 0) throw refused("The campaign does not list this key. Use the listed one, or ask the operators.");
    if (invited) throw refused("The campaign lists its clients, and takes no invitations.");
  } else {
    if (!invited) throw refused("The campaign has invitations. Give yours as invitation.");
    if (invited.place >= read.invitations || invited.secrets.length !== read.servers.length) {
      throw refused("The invitation is for another campaign.");
    }
    place = invited.place;
  }
  return new Client({ campaign: read, key, id, place, invitation: invited, store: store ?? memoryStore(), fetch });
}

const busy = new Map();

/** Calls `act` while no other call of this name runs; in browsers, none in another tab. */
async function alone(name, act) {
  if (globalThis.navigator?.locks) return navigator.locks.request(`quorate ${name}`, act);
  const mine = (busy.get(name) ?? Promise.resolve()).catch(() => {}).then(act);
  busy.set(name, mine);
  return mine;
}

const printable = (text) => text.slice(0, 300).replace(/[^ -~]/g, "");

function json(bytes) {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) ?? {};
  } catch {
    return {};
  }
}

/** A client of a campaign; made by `client`. */
export class Client {
  #own;

  constructor(own) {
    this.#own = own;
  }

  /**
   * Gives values to the servers, and returns their receipts once all have stored them.
   *
   * They replace what the client gave for the item before. After "NotStored", `resume` sends the same packet to the
   * servers that lack it. `progress` is called with `{ server, state }` when a server is asked ("asked"), has stored
   * its packet ("stored"), or did not answer as it should ("waiting", with the `problem`). Throws ClientError
   * "ValuesError", "CampaignError": nothing was sent; "OtherCampaign": a server states another campaign, and no packet
   * was sent; "Refused"; "NotStored".
   */
  async submit(values, { slot, item = 0, atLeast = this.#own.campaign.atLeast, waitS = 60, progress } = {}) {
    const at = this.#slot(slot, item), { slots, places } = this.#own.campaign;
    if (!Number.isInteger(atLeast) || atLeast < 1 || atLeast > places) {
      throw new ClientError("ValuesError", `atLeast must be a number of clients from 1 to ${places}.`);
    }
    const words = wire.encode(slots[at], values);
    return this.#changed(at, item, { waitS, progress }, (last) => this.#made(last, at, item, atLeast, words));
  }

  /** Withdraws what the client gave for an item; returns receipts and throws as `submit` does. */
  async withdraw({ slot, item = 0, waitS = 60, progress } = {}) {
    const at = this.#slot(slot, item);
    return this.#changed(at, item, { waitS, progress }, (last) => this.#made(last, at, item, 1, undefined));
  }

  /** Sends an item's packet to the servers that lack it; returns receipts, or undefined if there is none to send. */
  async resume({ slot, item = 0, waitS = 60, progress } = {}) {
    return this.#changed(this.#slot(slot, item), item, { waitS, progress }, (last) => last);
  }

  /**
   * Returns what the store has of an item: `{ stored, waiting }`, each undefined if there is none.
   *
   * `stored` is the last packet that all servers have stored, `waiting` one that some lack: `{ number, withdrawn,
   * header, receipts }`. Receipts of servers that lack it are null. Nothing is sent.
   */
  async kept({ slot, item = 0 } = {}) {
    const { stored, packets, header, receipts } = await this.#last(this.#key(this.#slot(slot, item), item));
    return { stored: stored && described(stored), waiting: packets ? described({ header, receipts }) : undefined };
  }

  /** Returns what each server states about this client's packets: `{ closed, items }`. It is not signed. */
  async status() {
    return Promise.all(this.#own.campaign.servers.map((_, index) => this.statusOf(index)));
  }

  /** Returns what one server states, as `status` does. */
  async statusOf(index) {
    const { closed, items } = json(await this.#told(index, "packets", MOST_TOLD));
    if (!Array.isArray(items)) throw new ClientError("WireError", `${this.#name(index)} answered with no status.`);
    return { closed: closed === true, items };
  }

  /**
   * Returns what the program revealed to this client alone: `{ shape, data }` for each result of the slot.
   *
   * Throws ClientError "NoResult": a server does not have it yet, servers state unlike results, or the store has no
   * mask for it.
   */
  async result({ slot, item = 0, look } = {}) {
    const at = this.#slot(slot, item), { campaign, id } = this.#own, layout = campaign.slots[at];
    const none = (message) => new ClientError("NoResult", message);
    if (!layout.results.length) throw new ClientError("CampaignError", `Slot ${layout.name} has no results.`);
    const stated = await Promise.all(campaign.servers.map((_, index) => this.#results(index, at, item)));
    const asked = look ?? Math.min(...stated.map((looks) => Math.max(0, ...looks.keys())));
    for (const [index, looks] of stated.entries()) {
      const one = looks.get(asked), first = stated[0].get(asked);
      if (!one) throw none(`${this.#name(index)} has no result of look ${asked} for this client. Ask after the run.`);
      if (one.number !== first.number || one.data !== first.data) {
        throw none(`Servers 0 and ${index} state unlike results. Neither is used; ask their operators.`);
      }
    }
    const { number, data } = stated[0].get(asked);
    const seed = (await this.#own.store.get(this.#key(at, item)))?.masks[number];
    if (!seed) throw none(`The store has no mask of packet ${number}. Use the one that the values were sent from.`);
    const context = wire.contextOf({ campaign: campaign.hash, client: id, slot: at, item, number });
    return wire.unmasked(layout, fromText(data), asked, seed, context);
  }

  async #results(index, slot, item) {
    const { campaign, id } = this.#own;
    const sizes = campaign.slots.map((one) => one.perClient * (1000 * one.masks.length + 2 * one.maskBytes));
    const { results } = json(await this.#told(index, "results", sizes.reduce((sum, size) => sum + size, MOST_TOLD)));
    const none = (problem) => new ClientError("NoResult", `${this.#name(index)} ${problem}.`);
    if (!Array.isArray(results)) throw none("answered with no list of results");
    const looks = new Map();
    for (const result of results) {
      const own = await wire.resultIsBy(campaign, index, id, result).catch(() => false);
      if (!own) throw none("states a result without a valid signature");
      if (result.slot === slot && result.item === item) looks.set(result.look, result);
    }
    return looks;
  }

  #slot(name, item) {
    const { slots } = this.#own.campaign;
    const at = name === undefined && slots.length === 1 ? 0 : slots.findIndex((one) => one.name === name);
    if (at < 0) throw new ClientError("CampaignError", `Name a slot of: ${slots.map((one) => one.name).join(", ")}.`);
    if (!Number.isInteger(item) || item < 0 || item >= slots[at].perClient) {
      throw new ClientError("CampaignError", `item must be 0 to ${slots[at].perClient - 1}.`);
    }
    return at;
  }

  #key(slot, item) {
    return `${toText(this.#own.campaign.hash)} ${toText(this.#own.id)} ${slot} ${item}`;
  }

  async #last(name) {
    return (await this.#own.store.get(name)) ?? { number: 0, base: 0, masks: {}, packets: null, receipts: [] };
  }

  async #changed(slot, item, { waitS, progress = () => {} }, change) {
    const name = this.#key(slot, item), until = Date.now() + 1000 * waitS;
    return alone(name, async () => {
      const state = await change(await this.#last(name));
      return state.packets ? this.#deliver(name, state, until, progress) : undefined;
    });
  }

  /** Makes and keeps the packets of a new number; `words` is undefined if it withdraws. */
  async #made(last, slot, item, atLeast, words) {
    const { campaign, key, id, place, invitation, store } = this.#own, layout = campaign.slots[slot];
    const number = Math.max(last.number + 1, Date.now()); // above those of a store that was lost
    const random = (size) => crypto.getRandomValues(new Uint8Array(size));
    const receivers = words ? chosen(campaign) : [];
    const header = { campaign: campaign.hash, client: id, place, slot, item, number, base: last.base, atLeast,
                     kind: words ? VALUES : WITHDRAWN, receivers, nonce: random(32) };
    const masks = Object.fromEntries(Object.entries(last.masks).filter(([used]) => Number(used) >= last.base));
    let contents = new Map();
    if (words) {
      const context = wire.contextOf(header);
      if (layout.results.length) await wire.mask(layout, words, (masks[number] = random(32)), context);
      const seeds = Array.from({ length: wire.seedsOf(layout, receivers) }, () => random(32));
      contents = await wire.split(layout, words, receivers, seeds, context);
    }
    const packets = await wire.makePackets(campaign, key, header, contents, invitation);
    const made = { number, base: last.base, masks, packets, receipts: packets.map(() => null), greeted: false,
                   header: wire.packHeader(header), stored: last.stored };
    await store.set(this.#key(slot, item), made);
    return made;
  }

  async #deliver(name, state, until, progress) {
    const { store } = this.#own;
    for (let pause = FIRST_PAUSE_S; ; pause = Math.min(2 * pause, LONGEST_PAUSE_S)) {
      const problems = await this.#tried(name, state, progress).catch(async (error) => {
        if (error.code === "Refused") await store.set(name, { ...state, packets: null }); // the answer will not change
        throw error;
      });
      if (!problems.length) {
        const { number, masks, receipts, header } = state;
        const kept = Object.fromEntries(Object.entries(masks).filter(([used]) => Number(used) === number));
        const stored = { header, receipts };
        await store.set(name, { ...state, base: number, masks: kept, packets: null, stored });
        return receipts;
      }
      const wait = Math.max(pause, ...problems.map((problem) => problem.retryAfterS ?? 0));
      if (Date.now() + 1000 * wait > until) {
        const servers = state.receipts.flatMap((receipt, index) => (receipt ? [] : [index]));
        const why = problems.map((problem) => problem.message).join(" ");
        const message = `Packet ${state.number} is not stored by servers ${servers.join(", ")}. ${why} Call resume().`;
        const silent = problems.map((problem) => problem.server);
        throw new ClientError("NotStored", message, { servers, silent, retryAfterS: wait });
      }
      await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
    }
  }

  /** Sends the packet once to each server that lacks it; none before all servers have stated the campaign. */
  async #tried(name, state, progress) {
    const each = async (act) => {
      const problems = [];
      for (const index of state.packets.keys()) {
        await act(index).catch((error) => {
          if (error.code !== "Unreachable") throw error;
          problems.push(error);
          progress({ server: index, state: "waiting", problem: error });
        });
      }
      return problems;
    };
    const silent = state.greeted ? [] : await each((index) => this.#greeted(index));
    if (silent.length) return silent;
    state.greeted = true;
    return each(async (index) => {
      if (state.receipts[index]) return;
      progress({ server: index, state: "asked" });
      state.receipts[index] = await this.#stored(index, state.packets[index]);
      await this.#own.store.set(name, state);
      progress({ server: index, state: "stored" });
    });
  }

  async #greeted(index) {
    const other = (what) =>
      new ClientError("OtherCampaign", `${this.#name(index)} ${what}. No value was sent.`, { server: index });
    const answer = await this.#ask(index, "GET", "/hello", {});
    if (answer.status === 404) throw other("does not run this campaign");
    const hello = json(this.#checked(index, answer));
    const differs = await wire.helloDiffers(this.#own.campaign, index, hello).catch(() => "campaign");
    if (differs) throw other(`states another ${differs} than the campaign`);
  }

  async #stored(index, packet) {
    const answer = await this.#ask(index, "POST", "/packets", { "Content-Type": "application/octet-stream" }, packet);
    const receipt = json(this.#checked(index, answer));
    const confirms = await wire.receiptConfirms(this.#own.campaign, index, packet, receipt).catch(() => false);
    const problem = `${this.#name(index)} answered without a valid receipt.`;
    if (!confirms) throw new ClientError("Unreachable", problem, { server: index });
    return receipt;
  }

  /** Returns a server's answer to a signed request; if clocks differ, the request is signed for the server's. */
  async #told(index, what, most) {
    const { campaign, key, id } = this.#own;
    let answer, now = Math.floor(Date.now() / 1000);
    for (let attempt = 0; attempt < 2; attempt++) {
      const headers = { "Quorate-Signature": await wire.signRequest(key, campaign, index, now) };
      answer = await this.#ask(index, "GET", `/${what}/${toText(id)}`, headers, undefined, most);
      const { time } = answer.status === 401 ? json(answer.data) : {};
      if (!Number.isSafeInteger(time) || time < 0) break;
      now = time;
    }
    return this.#checked(index, answer);
  }

  #name(index) {
    return `Server ${index} (${this.#own.campaign.servers[index].url})`;
  }

  #checked(index, { status, data, retryAfterS }) {
    if (status === 200 || status === 201) return data;
    const { what, do: action } = json(data);
    const said = [what, action].filter((text) => typeof text === "string" && text).map(printable).join("; ");
    const code = [408, 425, 429].includes(status) || status >= 500 ? "Unreachable" : "Refused";
    const message = `${this.#name(index)} answered ${status}${said ? ": " : ""}${said}.`;
    throw new ClientError(code, message, { server: index, status, retryAfterS });
  }

  async #ask(index, method, path, headers, body, most = MOST_TOLD) {
    const { campaign, fetch } = this.#own;
    try {
      const response = await fetch(`${campaign.servers[index].url}/campaigns/${toText(campaign.hash)}${path}`, {
        method, headers, body, redirect: "error", credentials: "omit", cache: "no-store",
        referrerPolicy: "no-referrer", signal: AbortSignal.timeout(body ? UPLOAD_MS : ASK_MS),
      });
      const wait = /^\d{1,6}$/.exec(response.headers.get("Retry-After") ?? "");
      const retryAfterS = wait ? Number(wait[0]) : undefined;
      return { status: response.status, data: await limited(response, most), retryAfterS };
    } catch (error) {
      const reason = printable(String(error?.cause?.message ?? error?.message ?? "no answer"));
      throw new ClientError("Unreachable", `${this.#name(index)} cannot be reached: ${reason}.`, { server: index });
    }
  }
}

/** Returns a packet's number, kind and header beside its receipts. */
function described({ header, receipts }) {
  const view = new DataView(header.buffer, header.byteOffset);
  return { number: Number(view.getBigUint64(wire.NUMBER_AT, true)), withdrawn: header[wire.KIND_AT] === WITHDRAWN,
           header: toText(header), receipts };
}

async function limited(response, most) {
  const parts = [];
  let size = 0;
  for (const reader = response.body?.getReader(); reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`the answer has more than ${most} bytes`);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** Returns the servers that a value is shared between; of `rss` at random, so that each has as many parts. */
function chosen(campaign) {
  const count = campaign.servers.length, servers = [...Array(count).keys()];
  if (campaign.protocol !== "rss") return servers.slice(0, campaign.holders);
  for (let at = count - 1; at > 0; at--) {
    const other = crypto.getRandomValues(new Uint32Array(1))[0] % (at + 1);
    [servers[at], servers[other]] = [servers[other], servers[at]];
  }
  return servers.slice(0, (count + 1) / 2).sort();
}
