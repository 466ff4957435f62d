/**
 * Words with tags: the parts of a packet where servers may cheat. The format is that of
 * `python/quorate_client/tagged.py`.
 *
 * A word has limbs of 32 bits, the lowest first; typed arrays are little-endian on all machines that browsers run on.
 * @module
 */

import { ClientError, joined, label } from "./bytes.js";
import { eachColumn, expanded, subtract } from "./words.js";

const ATTEMPTS = 16, KEY_BYTES = 16, SEED_BYTES = 32, MOST_CHI_BITS = 63, SLACK_BITS = 25;

/** By the option `mac`: bits of statistical security, and bits of the widest ring. */
const SECURITY = { 64: [57, 120], 48: [42, 32], 32: [26, 32] };

/**
 * Returns the parameters of a slot: names and values are those of `Tagging` in Python's client.
 *
 * Throws ClientError "CampaignError": `mac` has another value, or elements have more bits than it is for.
 */
export function taggingOf(options, holders, slot) {
  const mac = options.mac ?? "64", k = Math.max(...slot.layout.map((one) => one.bits));
  if (!Object.hasOwn(SECURITY, mac)) throw new ClientError("CampaignError", "options.mac: choose 64, 48 or 32.");
  const [security, widest] = SECURITY[mac];
  if (k > widest) {
    const problem = `${slot.name} has an element of ${k} bits, and mac = ${mac} is for elements of up to ${widest}`;
    throw new ClientError("CampaignError", `slots: ${problem} bits.`);
  }
  const c = security + SLACK_BITS, rows = Math.ceil(c / Math.min(MOST_CHI_BITS, widest - k + 1));
  const w = Math.ceil(c / rows), low = k + w - 1, bits = low + c, limbs = Math.ceil(bits / 32);
  const elements = slot.layout.reduce((sum, one) => sum + one.elements, 0);
  const words = elements + ATTEMPTS * rows, mostBytes = SEED_BYTES + slot.bytes + (holders - 1) * words * limbs * 4;
  return { holders, k, c, w, rows, widest, low, bits, limbs, elements, words, mostBytes };
}

/** Returns the content of each holder's part, from a fresh seed for each of them. The words are overwritten. */
export async function split(slot, words, seeds, context) {
  const { tagging } = slot, holders = [...seeds.keys()];
  const own = await Promise.all(holders.map((holder) => drawn(tagging, seeds[holder], context, holder, holder)));
  subtract(slot.layout, words, laid(slot, own.map(({ limbs }) => limbs)));
  addDifference(slot, own.at(-1).limbs, words);
  const contents = new Map();
  for (const holder of holders) {
    const parts = [seeds[holder], ...(holder === tagging.holders - 1 ? [words] : [])];
    for (const other of holders.filter((one) => one !== holder)) {
      const { key, limbs } = await drawn(tagging, seeds[other], context, holder, other);
      multiplyAdd(tagging, own[holder].limbs, key, limbs);
      parts.push(new Uint8Array(limbs.buffer));
    }
    contents.set(holder, joined(...parts));
  }
  return contents;
}

/** Returns the words of a holder, or the key and the pads by which a verifier, who has the seed, checks them. */
async function drawn(tagging, seed, context, holder, verifier) {
  const info = joined(label("client/words"), context, Uint8Array.of(holder, verifier));
  const before = holder === verifier ? 0 : KEY_BYTES;
  const bytes = await expanded(seed, info, before + tagging.words * tagging.limbs * 4);
  const key = new Uint16Array(bytes.slice(0, before).buffer), limbs = new Uint32Array(bytes.slice(before).buffer);
  for (const at of key.keys()) key[at] &= 2 ** Math.min(16, Math.max(0, tagging.c + 1 - 16 * at)) - 1;
  clear(tagging, limbs);
  return { key, limbs };
}

function clear({ limbs: count, bits }, limbs) {
  const used = bits - 32 * (count - 1);
  if (used < 32) for (let at = count - 1; at < limbs.length; at += count) limbs[at] &= 2 ** used - 1;
}

/** Returns the sums of the holders' words in the layout of a packet's words; upper bits of elements may be 1. */
function laid(slot, own) {
  const { limbs: count } = slot.tagging, whole = new Uint8Array(slot.bytes);
  let word = 0;
  eachColumn(slot.layout, whole, (elements, one) => {
    const halves = one.wordBytes === 8 ? new Uint32Array(elements.buffer) : undefined;
    for (let at = 0; at < one.elements; at++, word += count) {
      let low = 0, high = 0;
      for (const limbs of own) {
        low += limbs[word];
        high += limbs[word + 1];
      }
      if (halves) {
        halves[2 * at] = low; // typed arrays take numbers mod 2^32
        halves[2 * at + 1] = high + Math.floor(low / 2 ** 32);
      } else if (one.kind === "bit") elements[at >> 3] |= (low & 1) << (at & 7);
      else elements[at] = low;
    }
  });
  return whole;
}

/** Adds the difference, in the layout of a packet's words, to the words of the last holder. */
function addDifference(slot, limbs, difference) {
  const { limbs: count } = slot.tagging;
  let word = 0;
  eachColumn(slot.layout, difference, (elements, one) => {
    const halves = one.wordBytes === 8 ? new Uint32Array(elements.buffer) : undefined;
    for (let at = 0; at < one.elements; at++, word += count) {
      let carry = 0;
      for (let i = 0; i < count; i++) {
        let more = 0;
        if (halves) more = i < 2 ? halves[2 * at + i] : 0;
        else if (i === 0) more = one.kind === "bit" ? (elements[at >> 3] >> (at & 7)) & 1 : elements[at];
        const total = limbs[word + i] + more + carry;
        limbs[word + i] = total;
        carry = total >= 2 ** 32 ? 1 : 0;
      }
    }
  });
  clear(slot.tagging, limbs);
}

/** Adds words times a key to pads in place. Numbers stay below 2^52: a product has 48 bits, and four are added. */
function multiplyAdd(tagging, words, key, pads) {
  const count = 2 * tagging.limbs, digits = new Uint16Array(pads.buffer), last = key.findLastIndex((digit) => digit);
  for (let word = 0; word < words.length; word += tagging.limbs) {
    let total = 0;
    for (let at = 0; at < count; at++) {
      total += digits[2 * word + at];
      for (let i = Math.max(0, (at - last + 1) >> 1); 2 * i <= at; i++) total += words[word + i] * key[at - 2 * i];
      digits[2 * word + at] = total; // mod 2^16
      total = Math.floor(total / 65536);
    }
  }
  clear(tagging, pads);
}
