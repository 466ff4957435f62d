/**
 * Words: the values of a slot as ring elements in bytes, and their additive parts for the servers. The format is that
 * of `python/quorate_client/words.py`.
 * @module
 */

import { ClientError, joined, label } from "./bytes.js";

const MASKS = 255;

const typed = (one) => ({ 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array })[one.wordBytes];
const invalid = (one, problem) => new ClientError("ValuesError", `Column ${one.name} (${one.dtype}): ${problem}`);

/** Returns the values of a column in one list; nested lists must have the column's shape. */
function flat(one, given) {
  if (ArrayBuffer.isView(given) && !(given instanceof DataView)) {
    if (given.length !== one.elements || one.shape.length === 0) {
      throw invalid(one, `${given.length} values are given. Give ${one.elements}, in shape [${one.shape}].`);
    }
    return given;
  }
  let list = [given];
  for (const axis of one.shape) {
    if (!list.every((part) => Array.isArray(part) && part.length === axis)) {
      throw invalid(one, `the values have another shape. Give them in shape [${one.shape}].`);
    }
    list = list.flat(1);
  }
  return list;
}

const half = (real) => {
  const below = Math.floor(real), rest = real - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
};

/** Returns a value in units of the last bit: a Number that is an integer, or a BigInt. */
function unit(one, value, at) {
  const where = one.shape.length === 0 ? "the value" : `the element at ${at}`;
  let found = value;
  if (typeof value === "boolean" && one.kind === "bit") found = Number(value);
  if (typeof value?.units === "bigint") found = value.units;
  else if (typeof found === "bigint") found <<= BigInt(one.frac);
  else if (typeof found !== "number") throw invalid(one, `${where} is not a number or a BigInt.`);
  else if (one.kind === "fixed") {
    if (!Number.isFinite(found)) throw invalid(one, `${where} is infinite or not a number.`);
    found = half(found * 2 ** one.frac);
  } else if (!Number.isSafeInteger(found)) {
    throw invalid(one, `${where} is not an integer, or is beyond 2^53. Give integers beyond 2^53 as BigInt.`);
  }
  if (!(found >= one.lowest && found <= one.highest)) {
    const [bound, side] = found < one.lowest ? [one.low, "below"] : [one.high, "above"];
    const limit = bound === undefined ? `what ${one.dtype} holds` : `the bound ${bound}`;
    throw invalid(one, `${where} is ${side} ${limit}.`);
  }
  return found;
}

/**
 * Returns the words of a packet's values. Those of masks are 0.
 *
 * Throws ClientError "ValuesError": a column is missing or unknown, or its values do not fit. No value is quoted.
 */
export function encode(slot, values) {
  const names = slot.columns.map((one) => one.name);
  for (const name of Object.keys(values)) {
    if (names.includes(name)) continue;
    throw new ClientError("ValuesError", `Slot ${slot.name} has no column ${name}. Give: ${names.join(", ")}.`);
  }
  const words = new Uint8Array(slot.bytes);
  let first = 0;
  for (const one of slot.columns) {
    if (!Object.hasOwn(values, one.name)) {
      throw new ClientError("ValuesError", `Slot ${slot.name}: values of column ${one.name} are missing.`);
    }
    const list = flat(one, values[one.name]);
    const target = one.kind === "bit" ? words.subarray(first, first + one.bytes) : new (typed(one))(one.elements);
    for (let at = 0; at < list.length; at++) {
      const found = unit(one, list[at], at);
      if (one.kind === "bit") target[at >> 3] |= Number(found) << (at & 7);
      else target[at] = one.wordBytes === 8 ? BigInt(found) : Number(found); // typed arrays take them mod 2^w
    }
    clear(target, one);
    if (one.kind !== "bit") words.set(new Uint8Array(target.buffer), first);
    first += one.bytes;
  }
  return words;
}

/** Calls `change(elements, column, first)` with each column's elements, and writes them back; bits are bytes. */
export function eachColumn(layout, words, change) {
  let first = 0;
  for (const one of layout) {
    const elements = one.kind === "bit" ? words.subarray(first, first + one.bytes)
      : new (typed(one))(words.slice(first, first + one.bytes).buffer);
    change(elements, one, first);
    if (one.kind !== "bit") words.set(new Uint8Array(elements.buffer), first);
    first += one.bytes;
  }
}

function clear(elements, one) {
  if (one.kind === "bit") {
    elements[elements.length - 1] &= (1 << ((one.elements - 1) % 8 + 1)) - 1;
  } else if (one.bits < 8 * one.wordBytes) {
    const mask = one.wordBytes === 8 ? (1n << BigInt(one.bits)) - 1n : 2 ** one.bits - 1;
    for (let at = 0; at < elements.length; at++) elements[at] &= mask;
  }
}

/** Returns `size` bytes that a seed expands to: AES-256 in counter mode; `info` is what the key is bound to. */
export async function expanded(seed, info, size) {
  const material = await crypto.subtle.importKey("raw", seed, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info };
  const key = await crypto.subtle.deriveKey(hkdf, material, { name: "AES-CTR", length: 256 }, false, ["encrypt"]);
  const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
  return new Uint8Array(await crypto.subtle.encrypt(counter, key, new Uint8Array(size)));
}

/** Returns the words that a seed expands to, with unused bits cleared. */
export async function stream(layout, seed, context, index) {
  const size = layout.reduce((sum, one) => sum + one.bytes, 0);
  const words = await expanded(seed, joined(label("client/stream"), context, Uint8Array.of(index)), size);
  eachColumn(layout, words, clear);
  return words;
}

/** Subtracts words from words in place: bits by xor, other elements mod 2^k. */
export function subtract(layout, words, less) {
  eachColumn(layout, words, (elements, one, first) => {
    const other = one.kind === "bit" ? less.subarray(first, first + one.bytes)
      : new (typed(one))(less.slice(first, first + one.bytes).buffer);
    if (one.kind === "bit") for (let at = 0; at < elements.length; at++) elements[at] ^= other[at];
    else for (let at = 0; at < elements.length; at++) elements[at] -= other[at];
    clear(elements, one);
  });
}

/** Writes the masks of a packet's results behind the words of its values. */
export async function mask(slot, words, seed, context) {
  if (slot.maskBytes) words.set(await stream(slot.masks, seed, context, MASKS), slot.bytes - slot.maskBytes);
}

/** Returns the results of one look from the masked words that the servers reveal, as `{ shape, data }` by name. */
export async function unmasked(slot, data, look, seed, context) {
  if (data.length !== slot.resultBytes) throw new ClientError("WireError", "The result has another length.");
  const words = data.slice(), start = look * slot.resultBytes;
  const masks = await stream(slot.masks, seed, context, MASKS);
  subtract(slot.results, words, masks.subarray(start, start + slot.resultBytes));
  const found = {};
  eachColumn(slot.results, words, (elements, one) => {
    found[one.name] = { shape: one.shape, data: decoded(elements, one) };
  });
  return found;
}

function decoded(elements, one) {
  const bitAt = (_, at) => (elements[at >> 3] >> (at & 7)) & 1;
  if (one.kind === "bit") return Uint8Array.from({ length: one.elements }, bitAt);
  if (one.kind === "uint") return elements.slice();
  const signed = Array.from(elements, (element) => BigInt.asIntN(one.bits, BigInt(element)));
  if (one.kind === "fixed") return Float64Array.from(signed, (value) => Number(value) / 2 ** one.frac);
  return one.wordBytes === 8 ? BigInt64Array.from(signed) : Int32Array.from(signed, Number);
}

/** Returns the content of each receiver's part: seeds, and for the last one the words less all streams. */
export async function split(slot, words, receivers, seeds, context) {
  const contents = new Map();
  for (const [at, seed] of seeds.entries()) {
    subtract(slot.layout, words, await stream(slot.layout, seed, context, receivers[at]));
    contents.set(receivers[at], seed);
  }
  return contents.set(receivers.at(-1), words);
}
