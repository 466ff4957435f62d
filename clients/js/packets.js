/**
 * Quorate's client for browsers and Node 20: gives values to the servers of a campaign, none of which sees them.
 *
 * It makes the same bytes as the Python client: see `python/quorate_client/words.py` and `wire.py` for the formats. It
 * needs WebCrypto and `fetch`, and nothing else.
 * @module
 */

const SEED_BYTES = 32, POINT_BYTES = 65, SIGNATURE_BYTES = 64, TAG_BYTES = 32, MASKS = 255, MOST_BYTES = 128 << 20;
const ECDSA = { name: "ECDSA", hash: "SHA-256" }, CURVE = { name: "ECDSA", namedCurve: "P-256" };
const ADDRESS = /^https:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[1-9]\d{0,4})?(\/[A-Za-z0-9._~-]+)*$/;
const SERVERS = { rss: [3, 5, 7], aby: [2], pika: [3] };
const FIRST_PAUSE_S = 0.5, LONGEST_PAUSE_S = 15, TIMEOUT_MS = 600_000, MOST_TOLD = 1 << 20;

/** Length of a packet's header in bytes. */
export const HEADER_BYTES = 163;

/** Kinds of packets. */
export const VALUES = 0, WITHDRAWN = 1;

/** An error that the client raises on purpose. `code` says which, as the names of the Python client's errors do. */
export class ClientError extends Error {
  constructor(code, message, more = {}) {
    super(message);
    this.name = "ClientError";
    this.code = code;
    Object.assign(this, more);
  }
}

// ---- bytes -------------------------------------------------------------------------------------------------------

const ascii = (text) => new TextEncoder().encode(text);
const label = (name) => ascii(`quorate/${name}/1\0`);

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns a little-endian integer of `size` bytes. */
function integer(value, size) {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let at = 0; at < size; at++, rest >>= 8n) bytes[at] = Number(rest & 255n);
  return bytes;
}

const same = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);

/** Returns base64url without padding. */
export function toText(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 32768) binary += String.fromCharCode(...bytes.subarray(at, at + 32768));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns the bytes of base64url without padding; any other form of the same bytes is refused. */
export function fromText(text, size) {
  let bytes;
  try {
    if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new Error();
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
  } catch {
    throw new ClientError("WireError", "The text is not base64url without padding.");
  }
  if (toText(bytes) !== text || (size !== undefined && bytes.length !== size)) {
    throw new ClientError("WireError", "The base64url text has another length, or unused bits that are not 0.");
  }
  return bytes;
}

const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

async function hmac(key, bytes) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes));
}

// ---- keys --------------------------------------------------------------------------------------------------------

/** Returns a new key of a client. Browsers keep it in IndexedDB as it is; only an extractable key can be exported. */
export const newKey = (extractable = false) => crypto.subtle.generateKey(CURVE, extractable, ["sign", "verify"]);

/** Reads a client's private key from a JSON Web Key. */
export async function keyFromJwk(jwk, extractable = false) {
  const { kty, crv, x, y } = jwk;
  const privateKey = await crypto.subtle.importKey("jwk", { ...jwk, key_ops: ["sign"] }, CURVE, extractable, ["sign"]);
  const publicKey = await crypto.subtle.importKey("jwk", { kty, crv, x, y }, CURVE, true, ["verify"]);
  return { privateKey, publicKey };
}

/** Returns a key's public point, 65 bytes: the client's identity, which operators list as base64url. */
export const idOf = async (key) => new Uint8Array(await crypto.subtle.exportKey("raw", key.publicKey));

const sign = async (key, bytes) => new Uint8Array(await crypto.subtle.sign(ECDSA, key.privateKey, bytes));

async function verify(point, bytes, signature) {
  const key = await crypto.subtle.importKey("raw", point, CURVE, false, ["verify"]);
  return crypto.subtle.verify(ECDSA, key, signature, bytes);
}

/** Encrypts to a public point: RFC 9180, base mode, DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-256-GCM, no aad. */
export async function seal(point, info, plain) {
  const curve = { name: "ECDH", namedCurve: "P-256" };
  const receiver = await crypto.subtle.importKey("raw", point, curve, false, []);
  const ephemeral = await crypto.subtle.generateKey(curve, false, ["deriveBits"]);
  const enc = new Uint8Array(await crypto.subtle.exportKey("raw", ephemeral.publicKey));
  const derived = await crypto.subtle.deriveBits({ name: "ECDH", public: receiver }, ephemeral.privateKey, 256);
  const { key, nonce } = await schedule(new Uint8Array(derived), enc, point, info);
  const cipher = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return joined(enc, new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv: nonce }, cipher, plain)));
}

/** Returns the key and nonce of RFC 9180's key schedule, from the shared Diffie-Hellman value. */
export async function schedule(derived, enc, point, info) {
  const version = ascii("HPKE-v1"), zeros = new Uint8Array(32), none = new Uint8Array(0);
  const kem = joined(ascii("KEM"), Uint8Array.of(0, 16));
  const suite = joined(ascii("HPKE"), Uint8Array.of(0, 16, 0, 1, 0, 2));
  const extract = (id, salt, name, material) => hmac(salt, joined(version, id, ascii(name), material));
  const expand = async (id, secret, name, context, size) => {
    const labelled = joined(Uint8Array.of(0, size), version, id, ascii(name), context, Uint8Array.of(1));
    return (await hmac(secret, labelled)).slice(0, size);
  };
  const early = await extract(kem, zeros, "eae_prk", derived);
  const shared = await expand(kem, early, "shared_secret", joined(enc, point), 32);
  const hashes = [await extract(suite, zeros, "psk_id_hash", none), await extract(suite, zeros, "info_hash", info)];
  const context = joined(Uint8Array.of(0), ...hashes);
  const secret = await extract(suite, shared, "secret", none);
  return {
    key: await expand(suite, secret, "key", context, 32),
    nonce: await expand(suite, secret, "base_nonce", context, 12),
  };
}

// ---- campaigns ---------------------------------------------------------------------------------------------------

const refused = (message) => new ClientError("CampaignError", message);

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

function fields(path, value, names, optional = []) {
  const found = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
  for (const name of names) if (!found.includes(name)) throw refused(`${path}${name}: this field is missing.`);
  for (const name of found) {
    if (!names.includes(name) && !optional.includes(name)) throw refused(`${path}${name}: there is no such field.`);
  }
  return value;
}

function whole(path, value, least, most) {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw refused(`${path}: write an integer from ${least} to ${most}.`);
  }
  return value;
}

/** Returns a column with its dtype, bounds in units of the last bit, and its bytes among a packet's words. */
function column(path, given) {
  const { name, dtype, shape, low, high } = fields(path, given, ["name", "dtype", "shape"], ["low", "high"]);
  const found = /^(?:(bit)|(int|uint)\(([1-9]\d?)\)|(fixed)\(([1-9]\d?), (0|[1-9]\d?)\))$/.exec(dtype);
  if (!found) throw refused(`${path}dtype: write int(k), uint(k), fixed(k, f) or bit.`);
  const kind = found[1] ?? found[2] ?? found[4], bits = Number(found[3] ?? found[5] ?? 1), frac = Number(found[6] ?? 0);
  if (bits > 64 || frac >= bits || (bits < 2 && (kind === "int" || kind === "fixed"))) {
    throw refused(`${path}dtype: ${dtype} has no such width.`);
  }
  if (!Array.isArray(shape)) throw refused(`${path}shape: write a list.`);
  const elements = shape.reduce((size, axis) => size * whole(`${path}shape`, axis, 1, 1 << 27), 1);
  const lowest = kind === "uint" || kind === "bit" ? 0n : -(1n << BigInt(bits - 1));
  const highest = lowest + (1n << BigInt(bits)) - 1n;
  const wordBytes = [1, 2, 4, 8].find((size) => bits <= 8 * size);
  const bytes = kind === "bit" ? Math.ceil(elements / 8) : elements * wordBytes;
  const bounds = { lowest: low === undefined ? lowest : units(`${path}low`, low, frac),
                   highest: high === undefined ? highest : units(`${path}high`, high, frac) };
  if (bounds.lowest < lowest || bounds.highest > highest) throw refused(`${path}: a bound does not fit ${dtype}.`);
  return { name, dtype, kind, bits, frac, shape, elements, wordBytes, bytes, low, high, ...bounds };
}

/** Returns a decimal text in units of 2^-frac, rounded to the nearest, ties to even. */
function units(path, text, frac) {
  const found = typeof text === "string" ? /^(-?)(0|[1-9]\d{0,40})(?:\.(\d{0,79}[1-9]))?$/.exec(text) : null;
  if (!found || text === "-0") throw refused(`${path}: write a decimal as text.`);
  const scale = 10n ** BigInt((found[3] ?? "").length);
  const doubled = (BigInt(found[2] + (found[3] ?? "")) << BigInt(frac + 1)) / scale; // half units, cut
  const exact = doubled * scale === BigInt(found[2] + (found[3] ?? "")) << BigInt(frac + 1);
  const below = doubled >> 1n;
  const up = (doubled & 1n) === 1n && (!exact || (below & 1n) === 1n);
  return (found[1] ? -1n : 1n) * (below + (up ? 1n : 0n));
}

function slotOf(path, given, looks) {
  const { name, per_client: perClient, columns, results = [] } = fields(
    path, given, ["name", "per_client", "columns"], ["results"]);
  const list = (key, items) => {
    if (!Array.isArray(items)) throw refused(`${path}${key}: write a list of tables.`);
    return items.map((one, at) => column(`${path}${key}[${at}].`, one));
  };
  const own = list("columns", columns), revealed = list("results", results);
  const masks = Array.from({ length: revealed.length ? looks : 0 }, () => revealed).flat();
  const bytes = (some) => some.reduce((size, one) => size + one.bytes, 0);
  if (!(bytes(own) + bytes(masks) <= MOST_BYTES)) throw refused(`${path}columns: a packet has more than 128 MiB.`);
  whole(`${path}per_client`, perClient, 1, 65536);
  return { name, perClient, columns: own, results: revealed, masks, layout: [...own, ...masks],
           bytes: bytes(own) + bytes(masks), maskBytes: bytes(masks), resultBytes: bytes(revealed) };
}

/**
 * Reads a campaign's canonical JSON, as the operators hand it out; `hash` binds all that is sent.
 *
 * Throws ClientError "CampaignError": it is not canonical, or a field is missing, unknown or wrong.
 */
export async function readCampaign(json) {
  const text = typeof json === "string" ? json : new TextDecoder("utf-8", { fatal: true }).decode(json);
  let table;
  try {
    table = JSON.parse(text);
  } catch {
    throw refused("The campaign is not JSON.");
  }
  fields("", table, ["name", "id", "protocol", "options", "program", "at_least", "closes", "again", "check", "origins",
                     "servers", "clients", "invitations", "slots"]);
  if (canonical(table) !== text || !/^[ -~]*$/.test(text)) throw refused("The campaign's JSON is not canonical.");
  const { protocol } = table;
  if (!Object.hasOwn(SERVERS, protocol)) throw refused(`protocol: clients of ${protocol} are not supported.`);
  if ((table.options.malicious ?? "no") !== "no") throw refused("options.malicious: such clients are not supported.");
  if (!Array.isArray(table.servers) || !SERVERS[protocol].includes(table.servers.length)) {
    throw refused(`servers: ${protocol} does not run with that number of servers.`);
  }
  const servers = table.servers.map((server, at) => {
    const { url, certificate, seal, sign } = fields(`servers[${at}].`, server, ["url", "certificate", "seal", "sign"]);
    if (!ADDRESS.test(url)) throw refused(`servers[${at}].url: write an address of https.`);
    return { url, certificate: fromText(certificate, 32), seal: fromText(seal, POINT_BYTES),
             sign: fromText(sign, POINT_BYTES) };
  });
  const again = whole("again", table.again, 0, 0xffffffff);
  const places = table.clients.length || whole("invitations", table.invitations, 0, 1 << 24);
  if ((table.clients.length > 0) === (table.invitations > 0)) throw refused("clients, invitations: one of the two.");
  whole("at_least", table.at_least, 1, places);
  if (again >= 1000 && table.slots.some((slot) => slot.results)) throw refused("slots: too many masks.");
  const slots = table.slots.map((slot, at) => slotOf(`slots[${at}].`, slot, again + 1));
  const hash = await sha256(joined(label("campaign"), ascii(text)));
  return { json: text, hash, name: table.name, protocol, servers, clients: table.clients, places, slots,
           invitations: table.invitations, atLeast: table.at_least };
}

// ---- words -------------------------------------------------------------------------------------------------------

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
  if (typeof found === "bigint") found <<= BigInt(one.frac);
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

/** Calls `change(elements, column, mask)` with each column's elements, and writes them back; bits are bytes. */
function eachColumn(layout, words, change) {
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

/** Returns the words that a seed expands to: AES-256 in counter mode, unused bits cleared. */
export async function stream(layout, seed, context, index) {
  const info = joined(label("client/stream"), context, Uint8Array.of(index));
  const material = await crypto.subtle.importKey("raw", seed, "HKDF", false, ["deriveKey"]);
  const hkdf = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(0), info };
  const key = await crypto.subtle.deriveKey(hkdf, material, { name: "AES-CTR", length: 256 }, false, ["encrypt"]);
  const size = layout.reduce((sum, one) => sum + one.bytes, 0);
  const counter = { name: "AES-CTR", counter: new Uint8Array(16), length: 128 };
  const words = new Uint8Array(await crypto.subtle.encrypt(counter, key, new Uint8Array(size)));
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

// ---- packets -----------------------------------------------------------------------------------------------------

/** Returns the 163 bytes of a header. */
export function packHeader(header) {
  const receivers = header.receivers.reduce((bits, server) => bits | (1 << server), 0);
  return joined(
    ascii("QRC1"), header.campaign, header.client, integer(header.place, 4), integer(header.slot, 2),
    integer(header.item, 2), integer(header.number, 8), integer(header.base, 8), integer(header.atLeast, 4),
    Uint8Array.of(header.kind, receivers), header.nonce);
}

/** Returns what streams are bound to: campaign, client, slot, item and number. */
export const contextOf = (header) => joined(
  header.campaign, header.client, integer(header.slot, 2), integer(header.item, 2), integer(header.number, 8));

/** Reads an invitation's text. */
export function readInvitation(text) {
  const [place, ...secrets] = text.trim().split(".");
  if (!/^\d{1,10}$/.test(place) || !secrets.length) throw new ClientError("KeyFileError", "This is no invitation.");
  return { place: Number(place), secrets: secrets.map((secret) => fromText(secret, 32)) };
}

/** Returns the packet of each server, sealed and signed; `invitation` may be undefined. */
export async function makePackets(campaign, key, header, contents, invitation) {
  const packed = packHeader(header);
  return Promise.all(campaign.servers.map(async (server, index) => {
    const at = Uint8Array.of(index), content = contents.get(index);
    const info = joined(label("client/part"), at, packed);
    const sealed = content ? await seal(server.seal, info, content) : new Uint8Array(0);
    const shown = joined(label("client/invitation"), packed);
    const tag = invitation ? await hmac(invitation.secrets[index], shown) : new Uint8Array(TAG_BYTES);
    const signature = await sign(key, joined(label("client/packet"), packed, at, await sha256(sealed)));
    return joined(packed, signature, tag, sealed);
  }));
}

// ---- what servers state ------------------------------------------------------------------------------------------

/** Whether a statement is signed by a server; `parts` are the bytes behind the label. */
async function isBy(point, name, parts, signature) {
  try {
    return await verify(point, joined(label(`server/${name}`), ...parts), fromText(signature, SIGNATURE_BYTES));
  } catch {
    return false;
  }
}

/** Returns the first field of a server's hello that differs from the campaign, or undefined. */
export async function helloDiffers(campaign, index, hello) {
  const { sign: point, certificate } = campaign.servers[index];
  const own = { campaign: toText(campaign.hash), server: index, protocol: campaign.protocol,
                servers: campaign.servers.length, certificate: toText(certificate) };
  for (const [name, value] of Object.entries(own)) if (hello[name] !== value) return name;
  const parts = [campaign.hash, Uint8Array.of(index, own.servers), certificate, ascii(campaign.protocol)];
  return (await isBy(point, "hello", parts, hello.signature)) ? undefined : "signature";
}

/** Whether a receipt is the server's, for this packet. */
export async function receiptConfirms(campaign, index, packet, receipt) {
  const header = packet.subarray(0, HEADER_BYTES), view = new DataView(packet.buffer, packet.byteOffset);
  const digest = await sha256(header), at = HEADER_BYTES + SIGNATURE_BYTES + TAG_BYTES;
  const part = await sha256(packet.subarray(at)), client = header.subarray(36, 101), item = header.subarray(105, 117);
  const own = { campaign: toText(campaign.hash), client: toText(client), slot: view.getUint16(105, true),
                item: view.getUint16(107, true), number: Number(view.getBigUint64(109, true)),
                digest: toText(digest), part: toText(part), server: index };
  if (!Object.entries(own).every(([name, value]) => receipt[name] === value)) return false;
  if (!Number.isSafeInteger(receipt.time) || receipt.time < 0) return false;
  const parts = [campaign.hash, client, item, digest, part, Uint8Array.of(index), integer(receipt.time, 8)];
  return isBy(campaign.servers[index].sign, "receipt", parts, receipt.signature);
}

/** Whether a result is stated by the server to this client. */
export async function resultIsBy(campaign, index, client, result) {
  const { slot, item, number, look } = result, numbers = [slot, item, number, look];
  if (!numbers.every((value) => Number.isSafeInteger(value) && value >= 0)) return false;
  const own = result.campaign === toText(campaign.hash) && result.client === toText(client) && result.server === index;
  const place = joined(Uint8Array.of(index), integer(slot, 2), integer(item, 2), integer(number, 8), integer(look, 4));
  const data = await sha256(fromText(result.data));
  return own && isBy(campaign.servers[index].sign, "result", [campaign.hash, client, place, data], result.signature);
}

/** Returns the header Quorate-Signature of a request to a server. */
export async function signRequest(key, campaign, index, time) {
  const id = await idOf(key);
  const request = joined(label("client/request"), campaign.hash, Uint8Array.of(index), id, integer(time, 8));
  return `${time}.${toText(await sign(key, request))}`;
}
