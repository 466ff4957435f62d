// The same known answers as the Python client's, and a client against servers that a stand-in for `fetch` plays.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";

import * as wire from "./packets.js";
import { ClientError, client, decimalIn, fromText, idOf, indexedDbStore, keyFromJwk, keyFromPem, memoryStore, newKey,
         readCampaign, readInvitation, sealedInvitation, toText } from "./quorate.js";

const VECTORS = JSON.parse(readFileSync(new URL("../../tests/client_vectors.json", import.meta.url)));
const P256 = { name: "ECDH", namedCurve: "P-256" }, ECDSA = { name: "ECDSA", hash: "SHA-256" };

const joined = (...parts) => new Uint8Array(Buffer.concat(parts.map((part) => Uint8Array.from(part))));
const label = (name) => new TextEncoder().encode(`quorate/${name}/1\0`);
const number = (value) => (typeof value === "string" ? BigInt(value) : value);
const numbers = (value) => (Array.isArray(value) ? value.map(numbers) : number(value));
const valuesOf = (table) => Object.fromEntries(Object.entries(table).map(([name, value]) => [name, numbers(value)]));

function headerOf(campaign, vector) {
  const view = Buffer.from(fromText(vector.header));
  return { campaign: campaign.hash, client: view.subarray(36, 101), place: view.readUInt32LE(101),
           slot: view.readUInt16LE(105), item: view.readUInt16LE(107), number: Number(view.readBigUInt64LE(109)),
           base: Number(view.readBigUInt64LE(117)), atLeast: view.readUInt32LE(125), kind: view[129],
           receivers: [...Array(8).keys()].filter((server) => (view[130] >> server) & 1), nonce: view.subarray(131) };
}

/** Opens a sealed part with a server's private key. */
async function open(key, point, info, sealed) {
  const enc = sealed.subarray(0, 65), sender = await crypto.subtle.importKey("raw", enc, P256, false, []);
  const derived = await crypto.subtle.deriveBits({ name: "ECDH", public: sender }, key, 256);
  const { key: raw, nonce } = await wire.schedule(new Uint8Array(derived), enc, point, info);
  const cipher = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["decrypt"]);
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv: nonce }, cipher, sealed.subarray(65)));
}

const partInfo = (packet, server) => joined(label("client/part"), [server], packet.subarray(0, wire.HEADER_BYTES));
const sealedOf = (packet) => packet.subarray(wire.HEADER_BYTES + 64 + 32);
const fails = (code, message) => (error) => {
  assert.ok(error instanceof ClientError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};

describe("known answers", () => {
  test("there is one for each family, listed and invited", () => assert.equal(VECTORS.length, 14));
  for (const [index, vector] of VECTORS.entries()) {
    test(`vector ${index}: words, parts and header`, async () => {
      const campaign = await readCampaign(vector.campaign);
      assert.equal(toText(campaign.hash), vector.hash);
      const header = headerOf(campaign, vector), slot = campaign.slots[1], context = wire.contextOf(header);
      assert.equal(slot.name, vector.slot);
      for (const [name, value] of Object.entries(vector.tagging ?? {})) assert.equal(slot.tagging[name], value, name);
      assert.equal(slot.tagging === undefined, vector.tagging === undefined);
      const words = wire.encode(slot, valuesOf(vector.values));
      await wire.mask(slot, words, fromText(vector.mask), context);
      assert.equal(toText(words), vector.words);
      const seeds = vector.seeds.map((seed) => fromText(seed));
      const contents = await wire.split(slot, words, header.receivers, seeds, context);
      const parts = campaign.servers.map((_, server) => toText(contents.get(server) ?? new Uint8Array(0)));
      assert.deepEqual(parts, vector.contents);
      assert.equal(toText(wire.packHeader(header)), vector.header);
      assert.equal(toText(wire.packHeader({ ...header, kind: wire.WITHDRAWN, receivers: [] })), vector.withdrawn);
    });

    test(`vector ${index}: statements and results`, async () => {
      const campaign = await readCampaign(vector.campaign), header = headerOf(campaign, vector);
      for (const server of campaign.servers.keys()) {
        const packet = fromText(vector.packets[server]), receipt = JSON.parse(vector.receipts[server]);
        assert.ok(await wire.receiptConfirms(campaign, server, packet, receipt));
        assert.ok(!(await wire.receiptConfirms(campaign, server, packet, { ...receipt, time: receipt.time + 1 })));
        assert.ok(!(await wire.receiptConfirms(campaign, server, packet, { ...receipt, number: 1 })));
        assert.equal(await wire.helloDiffers(campaign, server, JSON.parse(vector.hellos[server])), undefined);
        const [result] = JSON.parse(vector.results[server]).results;
        assert.ok(await wire.resultIsBy(campaign, server, header.client, result));
        assert.ok(!(await wire.resultIsBy(campaign, server, header.client, { ...result, look: result.look + 1 })));
      }
      const { look, data, values } = vector.result, context = wire.contextOf(header);
      const found = await wire.unmasked(campaign.slots[1], fromText(data), look, fromText(vector.mask), context);
      assert.deepEqual([...found.mean.data], values.mean);
      assert.deepEqual([...found.above.data], values.above);
      assert.deepEqual([...found.rank.data].map(BigInt), [BigInt(values.rank)]);
    });

    test(`vector ${index}: parts of either client are opened`, async () => {
      const campaign = await readCampaign(vector.campaign), header = headerOf(campaign, vector);
      const key = await keyFromJwk(vector.client), invitation = vector.invitation && readInvitation(vector.invitation);
      assert.deepEqual(await idOf(key), new Uint8Array(header.client));
      const contents = new Map(vector.contents.flatMap((text, server) => (text ? [[server, fromText(text)]] : [])));
      const packets = await wire.makePackets(campaign, key, header, contents, invitation);
      for (const [server, { seal }] of campaign.servers.entries()) {
        const stored = fromText(vector.packets[server]), mine = packets[server];
        assert.equal(mine.length, stored.length);
        assert.deepEqual(mine.subarray(227, 259), stored.subarray(227, 259)); // the tag
        const jwk = { ...vector.servers[server], key_ops: ["deriveBits"] };
        const secret = await crypto.subtle.importKey("jwk", jwk, P256, false, ["deriveBits"]);
        for (const packet of [mine, stored]) {
          const sealed = sealedOf(packet);
          const plain = sealed.length ? await open(secret, seal, partInfo(packet, server), sealed) : sealed;
          assert.equal(toText(plain), vector.contents[server]);
          const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", sealed));
          const signed = joined(label("client/packet"), packet.subarray(0, 163), [server], digest);
          assert.ok(await crypto.subtle.verify(ECDSA, key.publicKey, packet.subarray(163, 227), signed));
        }
      }
    });
  }
});

// ---- values ------------------------------------------------------------------------------------------------------

const BASE = JSON.parse(VECTORS[0].campaign);

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

async function slotOf(dtype, shape = [], bounds = {}) {
  const columns = [{ name: "x", dtype, shape, ...bounds }];
  const slots = [{ name: "s", per_client: 1, columns }];
  return (await readCampaign(canonical({ ...BASE, check: "none", slots }))).slots[0];
}

describe("values", () => {
  const bytes = async (dtype, shape, x) => Buffer.from(wire.encode(await slotOf(dtype, shape), { x })).toString("hex");

  test("integers are exact", async () => {
    assert.equal(await bytes("uint(64)", [2], [2n ** 64n - 1n, 1]), "ffffffffffffffff0100000000000000");
    assert.equal(await bytes("int(64)", [], -2), "feffffffffffffff");
    assert.equal(await bytes("int(9)", [], -2), "fe01");
    assert.equal(await bytes("int(20)", [2], Int32Array.of(-1, 5)), "ffff0f0005000000");
    assert.equal(await bytes("uint(33)", [], 2 ** 32), "0000000001000000");
    assert.equal(await bytes("uint(64)", [2, 1], BigUint64Array.of(1n, 2n)), "01000000000000000200000000000000");
    assert.equal(await bytes("bit", [9], [true, 0, 0n, 0, 0, 0, 0, 1, 1n]), "8101");
  });

  test("reals are rounded to the nearest step, ties to even", async () => {
    const rounded = await bytes("fixed(16, 1)", [6], [0.25, 0.75, 1.25, -0.25, -0.75, -0.0]);
    assert.equal(rounded, "000002000200" + "0000feff0000");
    assert.equal(await bytes("fixed(64, 62)", [], -2), "0000000000000080");
    assert.equal(await bytes("fixed(40, 8)", [2], Float32Array.of(0.5, -1)), "8000000000000000" + "00ffffffff000000");
    assert.equal(await bytes("fixed(64, 16)", [], 3n), "0000030000000000");
  });

  test("exact units, as decimals give them", async () => {
    assert.equal(await bytes("fixed(64, 16)", [], { units: decimalIn("140737488355327.1", 16) }), "9a19ffffffffff7f");
    assert.equal(await bytes("fixed(16, 1)", [4], ["0.25", "0.75", "-0.25", "-2.50"].map((text) =>
      ({ units: decimalIn(text, 1) }))), "000002000000fbff");
    assert.equal(await bytes("int(64)", [], { units: -1n }), "ffffffffffffffff");
    for (const text of ["", "1e3", "0x1", "01", "+1", ".5", "1.", " 1", "1,0", "9".repeat(42)]) {
      assert.equal(decimalIn(text, 8), undefined);
    }
  });

  for (const [dtype, shape, x, message] of [
    ["int(64)", [], 2 ** 53, /beyond 2\^53. Give integers beyond 2\^53 as BigInt/],
    ["int(64)", [], 2n ** 63n, /the value is above what int\(64\) holds/],
    ["int(8)", [2], [0, -129], /the element at 1 is below what int\(8\) holds/],
    ["int(8)", [], 1.5, /is not an integer/],
    ["int(8)", [], NaN, /is not an integer/],
    ["int(8)", [], "1", /is not a number or a BigInt/],
    ["int(8)", [], true, /is not a number or a BigInt/],
    ["int(8)", [], null, /is not a number or a BigInt/], ["int(8)", [], { units: 128n }, /above what/],
    ["int(8)", [], { units: 1 }, /is not a number or a BigInt/], ["bit", [], { units: 2n }, /above what/],
    ["int(8)", [], undefined, /is not a number or a BigInt/],
    ["bit", [], 2, /above what bit holds/],
    ["fixed(32, 16)", [], NaN, /infinite or not a number/],
    ["fixed(32, 16)", [2], [0, -Infinity], /the element at 1 is infinite/],
    ["fixed(32, 16)", [], 32768, /above what/],
    ["fixed(64, 60)", [], 1e300, /above what/],
    ["int(8)", [2], [1], /another shape/],
    ["int(8)", [2], 1, /another shape/],
    ["int(8)", [], [1], /is not a number/],
    ["int(8)", [2, 2], [[1, 2], [3]], /another shape/],
    ["int(8)", [2], Int8Array.of(1), /1 values are given. Give 2/],
    ["int(8)", [], Int8Array.of(1), /1 values are given/],
  ]) {
    test(`${dtype} of shape [${shape}] does not take ${typeof x} ${String(x)}`, async () => {
      const slot = await slotOf(dtype, shape);
      assert.throws(() => wire.encode(slot, { x }), fails("ValuesError", message));
    });
  }

  test("bounds and names", async () => {
    const slot = await slotOf("fixed(40, 8)", [], { low: "-0.1", high: "5.5" });
    wire.encode(slot, { x: -0.1 });
    for (const x of [77.25, -0.2]) {
      const quotesNone = ({ message }) => /the bound (5.5|-0.1)/.test(message) && !/77/.test(message);
      assert.throws(() => wire.encode(slot, { x }), quotesNone);
    }
    assert.throws(() => wire.encode(slot, {}), fails("ValuesError", /column x are missing/));
    assert.throws(() => wire.encode(slot, { x: 1, y: 1 }), fails("ValuesError", /no column y/));
    assert.throws(() => wire.encode(slot, Object.create({ x: 1 })), fails("ValuesError", /missing/));
  });
});

describe("campaigns", () => {
  for (const [change, message] of [
    [{ protocol: "aby2" }, /protocol/], [{ protocol: "toString" }, /protocol/],
    [{ options: { malicious: "yes" } }, /options.malicious/], [{ extra: 1 }, /extra/],
    [{ protocol: "pika", options: { malicious: "maybe" } }, /options.malicious/],
    [{ protocol: "spdz2k", options: { malicious: "yes" } }, /options.malicious/],
    [{ protocol: "spdz2k", again: 0, options: { mac: "40" } }, /options.mac: choose/],
    [{ protocol: "spdz2k", again: 0, options: { mac: "toString" } }, /options.mac: choose/],
    [{ protocol: "spdz2k", again: 0, options: { mac: "32" } }, /allow_weak/],
    [{ protocol: "spdz2k", again: 0, options: { mac: "48" } }, /slots: all has an element of 64 bits/],
    [{ protocol: "spdz2k" }, /again: where servers may cheat/],
    [{ protocol: "spdz2k", again: 0, clients: [], invitations: 1 << 19 }, /2097152 packets/],
    [{ protocol: "spdz2k", again: 0, slots: [{ name: "s", per_client: 1,
       columns: [{ name: "x", dtype: "int(64)", shape: [3 << 20] }] }] }, /128 MiB/],
    [{ servers: BASE.servers.slice(1) }, /servers/], [{ clients: [] }, /integer from 1|one of the two/],
    [{ at_least: 99 }, /at_least/], [{ again: -1 }, /again/], [{ keep: "no" }, /keep: write yes/],
    [{ keep: true }, /keep/],
    [{ slots: [{ name: "s", per_client: 1, columns: [{ name: "x", dtype: "int(65)", shape: [] }] }] }, /dtype/],
    [{ slots: [{ name: "s", per_client: 1, columns: [{ name: "x", dtype: "int(8)", shape: [0] }] }] }, /shape/],
    [{ slots: [{ name: "s", per_client: 1, columns: [{ name: "x", dtype: "int(8)", shape: [], low: 1 }] }] }, /low/],
    [{ slots: [{ name: "s", per_client: 1, columns: [{ name: "x", dtype: "int(9)", shape: [1 << 26, 2] }] }] },
     /128 MiB/],
    [{ servers: BASE.servers.map((server) => ({ ...server, url: "http://a" })) }, /url/],
  ]) {
    test(`refused: ${JSON.stringify(change).slice(0, 60)}`, async () => {
      await assert.rejects(readCampaign(canonical({ ...BASE, ...change })), fails("CampaignError", message));
    });
  }

  for (const [mac, k, rows, w, low, bits, limbs] of [
    ["64", 1, 2, 41, 41, 123, 4], ["64", 8, 2, 41, 48, 130, 5], ["64", 32, 2, 41, 72, 154, 5],
    ["64", 64, 2, 41, 104, 186, 6], ["48", 1, 3, 23, 23, 90, 3], ["48", 16, 4, 17, 32, 99, 4],
    ["48", 32, 67, 1, 32, 99, 4], ["32", 1, 2, 26, 26, 77, 3], ["32", 16, 3, 17, 32, 83, 3],
    ["32", 32, 51, 1, 32, 83, 3],
  ]) {
    test(`parameters of tags for mac = ${mac} and ${k} bits`, async () => {
      const columns = [{ name: "x", dtype: `uint(${k})`, shape: [5] }, { name: "b", dtype: "bit", shape: [] }];
      const slots = [{ name: "s", per_client: 1, columns }], options = { allow_weak: "yes", mac };
      const campaign = await readCampaign(canonical({ ...BASE, protocol: "spdz2k", again: 0, options, slots }));
      const wanted = { rows, w, low, bits, limbs, words: 6 + 16 * rows, holders: 3 };
      for (const [name, value] of Object.entries(wanted)) assert.equal(campaign.slots[0].tagging[name], value, name);
    });
  }

  test("only the canonical text is taken", async () => {
    const text = canonical(BASE);
    assert.equal((await readCampaign(text)).json, text);
    for (const other of [`${text}\n`, JSON.stringify(BASE, null, 1), text.replace('"again":1', '"again":1.0')]) {
      assert.notEqual(other, text);
      await assert.rejects(readCampaign(other), fails("CampaignError", /canonical/));
    }
    await assert.rejects(readCampaign("{"), fails("CampaignError", /not JSON/));
  });

  test("base64url has one form", () => {
    for (const text of ["=", "A", "AB", "AA==", "+A", "A A"]) {
      assert.throws(() => fromText(text), fails("WireError", /base64url/));
    }
    assert.throws(() => fromText("AAAA", 4), fails("WireError", /length/));
  });

  test("invitations", () => {
    const secret = toText(new Uint8Array(32));
    assert.equal(readInvitation(` 7.${secret}.${secret}\n`).place, 7);
    for (const text of ["", "7", "x." + secret, "-1." + secret, `7.${secret}.`]) {
      const quotesNone = (error) => error instanceof ClientError && !error.message.includes(secret);
      assert.throws(() => readInvitation(text), quotesNone);
    }
  });
});

// ---- a client against servers ------------------------------------------------------------------------------------

const SALARY = [{ name: "salary", dtype: "int(32)", shape: [] }];
const sha = async (data) => new Uint8Array(await crypto.subtle.digest("SHA-256", data));

/** Three servers of `rss` and a `fetch` that reaches them; `script` is called before each answer. */
async function played(more = {}) {
  const key = await newKey(), id = await idOf(key);
  const keys = await Promise.all([0, 1, 2].map(async () => ({
    seal: await crypto.subtle.generateKey(P256, true, ["deriveBits"]), sign: await newKey() })));
  const raw = async (one) => toText(new Uint8Array(await crypto.subtle.exportKey("raw", one.publicKey)));
  const servers = await Promise.all(keys.map(async ({ seal, sign }, index) => ({
    url: `https://server${index}.example/mpc`, certificate: toText(new Uint8Array(32).fill(index)),
    seal: await raw(seal), sign: await raw(sign) })));
  const slots = [{ name: "person", per_client: 1, columns: SALARY }];
  const table = { ...BASE, servers, clients: [toText(id)], slots, at_least: 1, again: 0, ...more };
  const campaign = await readCampaign(canonical(table));
  const stored = [new Map(), new Map(), new Map()];
  const state = { key, campaign, keys, requests: [], stored, script: () => undefined, results: [[], [], []] };
  state.sign = async (index, name, ...parts) => {
    const signed = joined(label(`server/${name}`), ...parts);
    return toText(new Uint8Array(await crypto.subtle.sign(ECDSA, keys[index].sign.privateKey, signed)));
  };
  const answer = (status, body, headers = {}) => new Response(JSON.stringify(body), { status, headers });
  state.fetch = async (url, options) => {
    const index = Number(/server(\d)/.exec(url)[1]), path = url.slice(url.indexOf(toText(campaign.hash)) + 43);
    state.requests.push({ index, path, ...options });
    const told = state.script(index, path, options);
    if (told instanceof Error) throw told;
    if (told) return answer(...told);
    if (path === "/hello") return answer(200, await hello(index));
    if (path === "/packets") return answer(201, await store(index, options.body));
    if (path.startsWith("/results/")) return answer(200, { results: state.results[index] });
    const item = (number) => ({ slot: 0, item: 0, number, outcome: "stored", why: "" });
    return answer(200, { closed: false, items: [...state.stored[index].keys()].map(item) });
  };
  const hello = async (index) => {
    const certificate = new Uint8Array(32).fill(index);
    const parts = [campaign.hash, [index, 3], certificate, new TextEncoder().encode("rss")];
    const signature = await state.sign(index, "hello", ...parts);
    return { campaign: toText(campaign.hash), server: index, protocol: "rss", servers: 3,
             certificate: toText(certificate), signature };
  };
  const store = async (index, packet) => {
    const view = Buffer.from(packet), header = view.subarray(0, 163);
    const number = Number(view.readBigUInt64LE(109)), time = Buffer.alloc(8);
    state.stored[index].set(number, packet);
    time.writeBigUInt64LE(5n);
    const digest = await sha(header), part = await sha(view.subarray(259)), client = header.subarray(36, 101);
    const parts = [campaign.hash, client, header.subarray(105, 117), digest, part, [index], time];
    const signature = await state.sign(index, "receipt", ...parts);
    return { campaign: toText(campaign.hash), client: toText(client), slot: 0, item: 0, number, digest: toText(digest),
             part: toText(part), server: index, time: 5, signature };
  };
  state.header = (packet) => headerOf(campaign, { header: toText(packet.subarray(0, 163)) });
  state.store = memoryStore();
  state.client = () => client({ campaign, key, store: state.store, fetch: state.fetch });
  /** Returns the words that the newest parts add up to, in all columns and masks. */
  state.opened = async () => {
    const slot = campaign.slots[0], whole = new Uint8Array(slot.bytes);
    for (const [index, packets] of state.stored.entries()) {
      const packet = [...packets.values()].at(-1), header = state.header(packet);
      const sealed = sealedOf(packet), at = header.receivers.indexOf(index);
      if (at < 0) continue;
      const { seal } = campaign.servers[index];
      const content = await open(keys[index].seal.privateKey, seal, partInfo(packet, index), sealed);
      const last = at === header.receivers.length - 1;
      const words = last ? content : await wire.stream(slot.layout, content, wire.contextOf(header), index);
      const negated = new Uint8Array(slot.bytes);
      wire.subtract(slot.layout, negated, words);
      wire.subtract(slot.layout, whole, negated);
    }
    return whole;
  };
  return state;
}

describe("a client", () => {
  test("gives a value, changes and withdraws it", async () => {
    const all = await played(), me = await all.client();
    const receipts = await me.submit({ salary: -7 });
    assert.equal(receipts.length, 3);
    assert.deepEqual([...(await all.opened())], [249, 255, 255, 255]);
    await me.submit({ salary: 9 });
    assert.deepEqual([...(await all.opened())], [9, 0, 0, 0]);
    await me.withdraw();
    const headers = [...all.stored[0].values()].map(all.header);
    assert.deepEqual(headers.map((header) => header.kind), [0, 0, 1]);
    assert.deepEqual(headers.map((header) => header.base), [0, headers[0].number, headers[1].number]);
    assert.equal((await me.status())[2].items.length, 3);
    assert.equal(await me.resume(), undefined);
    for (const request of all.requests) assert.equal(request.redirect, "error");
  });

  const others = { campaign: "x", server: 1, protocol: "aby", servers: 5, certificate: "", signature: "" };
  for (const [name, value] of Object.entries(others)) {
    test(`stops if a server states another ${name}, with nothing sent`, async () => {
      const all = await played(), me = await all.client();
      const hello = await (await all.fetch(`https://server0.example/${toText(all.campaign.hash)}/hello`, {})).json();
      all.script = (index, path) => (index === 0 && path === "/hello" ? [200, { ...hello, [name]: value }] : undefined);
      await assert.rejects(me.submit({ salary: 1 }), fails("OtherCampaign", new RegExp(`another ${name}`)));
      assert.ok(all.requests.every((request) => request.body === undefined));
    });
  }

  test("stops if a server does not have the campaign", async () => {
    const all = await played(), me = await all.client();
    all.script = (index) => (index === 2 ? [404, {}] : undefined);
    await assert.rejects(me.submit({ salary: 1 }), fails("OtherCampaign", /does not run/));
    assert.ok(all.requests.every((request) => request.body === undefined));
  });

  test("keeps a packet and sends the same bytes again", async () => {
    const all = await played(), me = await all.client();
    const full = [503, { what: "the disk is full" }, { "Retry-After": "600" }];
    all.script = (index, path) => (index === 1 && path === "/packets" ? full : undefined);
    await assert.rejects(me.submit({ salary: 5 }), (error) => {
      assert.deepEqual(error.servers, [1]);
      return fails("NotStored", /the disk is full.*resume/)(error);
    });
    const before = all.requests.filter((request) => request.body);
    all.script = () => undefined;
    assert.equal((await (await all.client()).resume()).length, 3);
    const after = all.requests.filter((request) => request.body).slice(before.length);
    assert.deepEqual(after.map((request) => request.index), [1]);
    assert.deepEqual(after[0].body, before[1].body);
    assert.deepEqual([...(await all.opened())], [5, 0, 0, 0]);
  });

  test("tells its progress, and what it keeps", async () => {
    const all = await played(), me = await all.client(), told = [];
    assert.deepEqual(await me.kept(), { stored: undefined, waiting: undefined });
    all.script = (index, path) => (index === 1 && path === "/packets" ? [201, {}] : undefined);
    const progress = ({ server, state, problem }) => told.push([server, state, problem?.server].join(" ").trim());
    await assert.rejects(me.submit({ salary: 5 }, { waitS: 0, progress }), (error) => {
      assert.deepEqual([error.servers, error.silent], [[1], [1]]);
      return true;
    });
    assert.deepEqual(told, ["0 asked", "0 stored", "1 asked", "1 waiting 1", "2 asked", "2 stored"]);
    const { stored, waiting } = await me.kept();
    assert.equal(stored, undefined);
    assert.deepEqual(waiting.receipts.map(Boolean), [true, false, true]);
    all.script = () => undefined;
    await me.resume();
    const first = (await me.kept()).stored;
    assert.deepEqual([first.number, first.withdrawn, first.header], [waiting.number, false, waiting.header]);
    assert.equal(toText(await sha(fromText(first.header))), first.receipts[1].digest);
    all.script = (index, path) => (index === 1 && path === "/packets" ? [403, {}] : undefined);
    await assert.rejects(me.withdraw(), fails("Refused", /403/));
    assert.deepEqual(await me.kept(), { stored: first, waiting: undefined });
    all.script = () => undefined;
    await me.withdraw();
    assert.equal((await me.kept()).stored.withdrawn, true);
    assert.equal((await me.statusOf(0)).items.length, 3);
  });

  test("uses invitations and keys that cannot be read", async () => {
    const all = await played({ clients: [], invitations: 2 });
    const secrets = [1, 2, 3].map((at) => new Uint8Array(32).fill(at));
    const invitation = await sealedInvitation({ place: 1, secrets }), plain = { place: 1, secrets };
    await assert.rejects(crypto.subtle.exportKey("raw", invitation.secrets[0]), /extractable/);
    const exported = new Uint8Array(await crypto.subtle.exportKey("pkcs8", (await newKey(true)).privateKey));
    const line = (word) => `${"-".repeat(5)}${word} PRIVATE KEY${"-".repeat(5)}\n`;
    const pem = `${line("BEGIN")}${Buffer.from(exported).toString("base64")}\n${line("END")}`;
    const key = await keyFromPem(pem), tags = [];
    await assert.rejects(crypto.subtle.exportKey("pkcs8", key.privateKey), /extractable/);
    for (const text of ["", pem.slice(9), pem.replace("PRIVATE", "PUBLIC"), pem + pem, pem.replace("MI", "AA")]) {
      await assert.rejects(keyFromPem(text), fails("KeyFileError", /no key of a client/));
    }
    const header = { campaign: all.campaign.hash, client: await idOf(key), place: 1, slot: 0, item: 0, number: 1,
                     base: 0, atLeast: 1, kind: 1, receivers: [], nonce: new Uint8Array(32) };
    for (const one of [invitation, plain]) {
      const packets = await wire.makePackets(all.campaign, key, header, new Map(), one);
      tags.push(packets.map((packet) => toText(packet.subarray(227, 259))).join());
    }
    assert.equal(tags[0], tags[1]);
    assert.equal(new Set(tags[0].split(",")).size, 3);
  });

  test("sends nothing before all servers answered", async () => {
    const all = await played(), me = await all.client();
    all.script = (index) => (index === 2 ? new TypeError("fetch failed") : undefined);
    const sent = me.submit({ salary: 5 }, { waitS: 0 });
    await assert.rejects(sent, fails("NotStored", /Server 2 .*cannot be reached: fetch failed/));
    assert.ok(all.requests.every((request) => request.body === undefined));
  });

  test("waits for a server that comes back", async () => {
    const all = await played(), me = await all.client();
    let left = 2;
    all.script = (index, path) => (index === 0 && path === "/packets" && left-- > 0 ? [503, {}] : undefined);
    assert.equal((await me.submit({ salary: 5 })).length, 3);
  });

  test("takes no false receipt, and names a refusal", async () => {
    const all = await played(), me = await all.client();
    all.script = (index, path) => (index === 0 && path === "/packets" ? [201, { server: 0 }] : undefined);
    await assert.rejects(me.submit({ salary: 5 }, { waitS: 0 }), fails("NotStored", /without a valid receipt/));
    const closed = [410, { what: "closed\u001b[31m", do: "ask" }];
    all.script = (index, path) => (index === 0 && path === "/packets" ? closed : undefined);
    await assert.rejects(me.resume(), fails("Refused", /answered 410: closed\[31m; ask/));
    assert.equal(await me.resume(), undefined);
  });

  test("refuses values and names before anything is sent", async () => {
    const all = await played(), me = await all.client();
    await assert.rejects(me.submit({ salary: 2 ** 31 }), fails("ValuesError", /above/));
    await assert.rejects(me.submit({ salary: 1 }, { atLeast: 2 }), fails("ValuesError", /atLeast/));
    await assert.rejects(me.submit({ salary: 1 }, { item: 1 }), fails("CampaignError", /item/));
    await assert.rejects(me.submit({ salary: 1 }, { slot: "house" }), fails("CampaignError", /Name a slot/));
    assert.equal(all.requests.length, 0);
    const { campaign, store, fetch } = all;
    const strange = client({ campaign, key: await newKey(), store, fetch });
    await assert.rejects(strange, fails("CampaignError", /does not list/));
  });

  test("cuts answers without end", async () => {
    const all = await played(), me = await all.client();
    all.script = () => [200, "x".repeat(3 << 20)];
    await assert.rejects(me.status(), fails("Unreachable", /more than 1048576 bytes/));
  });

  test("signs requests for a server's clock once", async () => {
    const all = await played(), me = await all.client();
    all.script = () => [401, { time: 77, what: "the clock" }];
    await assert.rejects(me.status(), fails("Refused", /answered 401: the clock/));
    const refused = all.requests.findLast((request) => request.headers["Quorate-Signature"].startsWith("77.")).index;
    const asked = all.requests.filter((request) => request.index === refused);
    assert.equal(asked.length, 2);
    assert.match(asked[1].headers["Quorate-Signature"], /^77\./);
  });

  test("calls of one client come one after the other", async () => {
    const all = await played(), me = await all.client();
    await Promise.all([1, 2, 3].map((salary) => me.submit({ salary })));
    assert.equal(all.stored[0].size, 3);
    assert.deepEqual([...(await all.opened())], [3, 0, 0, 0]);
  });

  test("reads its result from under its mask", async () => {
    const results = [{ name: "mean", dtype: "int(16)", shape: [2] }];
    const all = await played({ slots: [{ name: "person", per_client: 1, columns: SALARY, results }] });
    const me = await all.client();
    const [{ number }] = await me.submit({ salary: 5 });
    await assert.rejects(me.result(), fails("NoResult", /no result of look 0/));
    const masks = new Uint16Array((await all.opened()).slice(4).buffer);
    const data = new Uint8Array(Uint16Array.of(masks[0] - 3, masks[1] + 4).buffer), id = await idOf(all.key);
    const digest = await sha(data), place = Buffer.alloc(17);
    for (const index of [0, 1, 2]) {
      place[0] = index;
      place.writeBigUInt64LE(BigInt(number), 5);
      const signature = await all.sign(index, "result", all.campaign.hash, id, place, digest);
      all.results[index] = [{ campaign: toText(all.campaign.hash), client: toText(id), server: index, slot: 0, item: 0,
                              number, look: 0, data: toText(data), signature }];
    }
    const { mean } = await me.result();
    assert.deepEqual([[...mean.data], mean.shape], [[-3, 4], [2]]);
    const [good] = all.results[1];
    all.results[1] = [{ ...good, data: toText(new Uint8Array(4)) }];
    await assert.rejects(me.result(), fails("NoResult", /valid signature/));
    all.results[1] = all.results[0];
    await assert.rejects(me.result(), fails("NoResult", /valid signature/));
    all.results[1] = [good];
    all.store = memoryStore();
    await assert.rejects((await all.client()).result(), fails("NoResult", /no mask/));
  });
});

test("the store in IndexedDB keeps items", async () => {
  const kept = new Map();
  globalThis.indexedDB = { open: () => later({ result: { createObjectStore() {}, transaction } }) };
  const later = (request) => {
    queueMicrotask(() => (request.onupgradeneeded?.(), request.onsuccess?.()));
    return request;
  };
  const transaction = () => {
    const get = (key) => ({ result: kept.get(key) }), put = (item, key) => ({ result: kept.set(key, item) && key });
    const one = { objectStore: () => ({ get, put }) };
    queueMicrotask(() => queueMicrotask(() => one.oncomplete()));
    return one;
  };
  const store = indexedDbStore();
  assert.equal(await store.get("a"), undefined);
  await store.set("a", { number: 1 });
  assert.deepEqual(await store.get("a"), { number: 1 });
  delete globalThis.indexedDB;
});
