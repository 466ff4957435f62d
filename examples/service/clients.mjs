// Clients of a campaign that give a salary each, as a web page would: by quorate.js, with WebCrypto.
//
//     node clients.mjs wages.json PATH/quorate.js one.crt two.crt three.crt
//
// Reads and answers lines of JSON as clients.py does. Keys and packets are kept in memory. A page uses the browser's
// `fetch`, and its servers have certificates that browsers trust. Node's does not take certificates as an argument, so
// there is one here that trusts the certificate of each server, and no other.

import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { pathToFileURL } from "node:url";

const [, , campaignFile, module, ...certificates] = process.argv;
const { client, newKey } = await import(pathToFileURL(module).href);
const campaign = await readFile(campaignFile, "utf8");
const trusted = new Map();
for (const [at, { url }] of JSON.parse(campaign).servers.entries()) {
  trusted.set(new URL(url).origin, await readFile(certificates[at]));
}

function fetch(url, { method, headers, body, signal }) {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, signal, ca: trusted.get(new URL(url).origin) }, (answer) => {
      resolve(new Response(Readable.toWeb(answer), { status: answer.statusCode, headers: answer.headers }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const nextLine = async () => JSON.parse((await lines.next()).value ?? "null");

const told = await nextLine();
const clients = [];
for (const { invitation, values } of told) {
  const one = await client({ campaign, key: await newKey(), invitation, fetch });
  await one.submit(values);
  clients.push(one);
}
console.log(JSON.stringify({ given: clients.length }));
if ((await nextLine()) === "results") {
  const results = [];
  for (const one of clients) results.push((await one.result()).above_mean.data[0] === 1);
  console.log(JSON.stringify({ results }));
}
process.exit(0);
