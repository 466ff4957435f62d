/**
 * Campaigns, packets and their sealed parts, and what servers state. The bytes are those of the Python client: see
 * `python/quorate_client/wire.py` for the formats.
 * @module
 */

import { ClientError, ascii, fromText, hmac, hmacKey, integer, joined, label, sha256, toText } from "./bytes.js";
import * as tagged from "./tagged.js";
import { split as splitPlain } from "./words.js";

export { ClientError, fromText, toText } from "./bytes.js";
export { encode, mask, stream, subtract, unmasked } from "./words.js";

const POINT_BYTES = 65, SIGNATURE_BYTES = 64, TAG_BYTES = 32, MOST_BYTES = 128 << 20, MOST_TAGGED = 1 << 20;
const ECDSA = { name: "ECDSA", hash: "SHA-256" }, CURVE = { name: "ECDSA", namedCurve: "P-256" };
const ADDRESS = /^https:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[1-9]\d{0,4})?(\/[A-Za-z0-9._~-]+)*$/;
const SERVERS = { rss: [3, 5, 7], aby: [2], pika: [3], spdz2k: [2, 3, 4, 5, 6, 7, 8] };

/** Length of a packet's header in bytes, and where its number and its kind begin. */
export const HEADER_BYTES = 163, NUMBER_AT = 109, KIND_AT = 129;

/** Kinds of packets. */
export const VALUES = 0, WITHDRAWN = 1;

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

/** Reads the file that `quorate campaign client-key` wrote: PEM, PKCS #8. Its key cannot be exported afterwards. */
export async function keyFromPem(text) {
  const found = /^-{5}BEGIN PRIVATE KEY-{5}([A-Za-z0-9+/=\s]{1,2000})-{5}END PRIVATE KEY-{5}\s*$/.exec(text);
  try {
    const der = Uint8Array.from(atob(found[1].replace(/\s/g, "")), (letter) => letter.charCodeAt(0));
    const read = await crypto.subtle.importKey("pkcs8", der, CURVE, true, ["sign"]);
    return await keyFromJwk(await crypto.subtle.exportKey("jwk", read));
  } catch {
    throw new ClientError("KeyFileError", "This is no key of a client: one private key on P-256 (PEM, PKCS #8).");
  }
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

/** Returns a decimal of a campaign's file in units of 2^-frac, rounded to the nearest, ties to even. */
function units(path, text, frac) {
  const isCanonical = typeof text === "string" && text !== "-0" && !/\.\d*0$/.test(text);
  const found = isCanonical ? decimalIn(text, frac) : undefined;
  if (found === undefined) throw refused(`${path}: write a decimal as text.`);
  return found;
}

/**
 * Returns a decimal text in units of 2^-frac as a BigInt, rounded to the nearest, ties to even; undefined if the text
 * is no decimal such as -0.25. `{ units }` with it is an exact value of a column.
 */
export function decimalIn(text, frac) {
  const found = /^(-?)(0|[1-9]\d{0,40})(?:\.(\d{1,80}))?$/.exec(text);
  if (!found) return undefined;
  const scale = 10n ** BigInt((found[3] ?? "").length);
  const doubled = (BigInt(found[2] + (found[3] ?? "")) << BigInt(frac + 1)) / scale; // half units, cut
  const exact = doubled * scale === BigInt(found[2] + (found[3] ?? "")) << BigInt(frac + 1);
  const below = doubled >> 1n;
  const up = (doubled & 1n) === 1n && (!exact || (below & 1n) === 1n);
  return (found[1] ? -1n : 1n) * (below + (up ? 1n : 0n));
}

/** Checks the options that say who may cheat; servers check all of them. */
function checkOptions(protocol, { malicious = "no", mac, allow_weak: allowsWeak }) {
  if (malicious !== "no" && (malicious !== "yes" || protocol !== "pika")) {
    throw refused('options.malicious: choose "no"; or "yes", with pika.');
  }
  if (mac === "32" && allowsWeak !== "yes") throw refused('options.mac: "32" needs allow_weak = "yes".');
}

/** Gives slots the parameters of their tags, where servers may cheat. */
function tag(slots, options, holders, places, again) {
  if (again) throw refused("again: where servers may cheat, there is one look: choose 0.");
  const packets = places * slots.reduce((sum, slot) => sum + slot.perClient, 0);
  if (packets > MOST_TAGGED) throw refused(`slots: clients may give ${packets} packets, more than 2^20.`);
  for (const slot of slots) {
    slot.tagging = tagged.taggingOf(options, holders, slot);
    if (slot.tagging.mostBytes > MOST_BYTES) throw refused(`slots: a packet of ${slot.name} has more than 128 MiB.`);
  }
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
                     "servers", "clients", "invitations", "slots"], ["keep"]);
  if (Object.hasOwn(table, "keep") && table.keep !== "yes") throw refused("keep: write yes, or leave it out.");
  if (canonical(table) !== text || !/^[ -~]*$/.test(text)) throw refused("The campaign's JSON is not canonical.");
  const { protocol } = table;
  if (!Object.hasOwn(SERVERS, protocol)) throw refused(`protocol: ${protocol} is no family of protocols.`);
  checkOptions(protocol, table.options);
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
  const holders = protocol === "pika" ? 2 : servers.length;
  if (protocol === "spdz2k" || table.options.malicious === "yes") tag(slots, table.options, holders, places, again);
  const hash = await sha256(joined(label("campaign"), ascii(text)));
  return { json: text, hash, name: table.name, protocol, servers, holders, clients: table.clients, places, slots,
           invitations: table.invitations, atLeast: table.at_least };
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

/** Returns the content of each receiver's part; `seeds` as many as `seedsOf` says. The words are overwritten. */
export async function split(slot, words, receivers, seeds, context) {
  return slot.tagging ? tagged.split(slot, words, seeds, context) : splitPlain(slot, words, receivers, seeds, context);
}

/** Returns how many seeds a packet has: one for each receiver, or without tags for each but the last. */
export const seedsOf = (slot, receivers) => receivers.length - (slot.tagging ? 0 : 1);

/** Reads an invitation's text. */
export function readInvitation(text) {
  const [place, ...secrets] = text.trim().split(".");
  if (!/^\d{1,10}$/.test(place) || !secrets.length) throw new ClientError("KeyFileError", "This is no invitation.");
  return { place: Number(place), secrets: secrets.map((secret) => fromText(secret, 32)) };
}

/** Returns an invitation whose secrets can be used and stored (structured clone), and not be read. */
export async function sealedInvitation({ place, secrets }) {
  return { place, secrets: await Promise.all(secrets.map((secret) => hmacKey(secret))) };
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
