/**
 * What the page says of a campaign before anything is entered: who computes, who may learn what, and until when.
 * @module
 */

import { toText } from "../js/quorate.js";
import { fill, make } from "./show.js";
import { texts } from "./texts.js";

/** Servers that may put together what they have, by family. */
const MOST_TOGETHER = {
  rss: (servers) => (servers - 1) / 2, aby: () => 1, pika: () => 1, spdz2k: (servers) => servers - 1,
};

/** Servers that a value is shared between, by family. */
const PARTS = {
  rss: (servers) => (servers + 1) / 2, aby: () => 2, pika: () => 2, spdz2k: (servers) => servers,
};

/** Returns a campaign's hash as people compare it: hexadecimal digits in groups of four; `digits` of them. */
export function fingerprint(campaign, digits = 64) {
  const whole = Array.from(campaign.hash, (byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, digits);
  return whole.match(/.{4}/g).join(" ");
}

/** Returns where a server is, without https://. */
export const addressOf = (server) => server.url.replace("https://", "");

/** Returns a time of a campaign or a receipt as a text of this place and language. */
export function timeOf(value) {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? String(value) : texts.time(date);
}

/** Shows a campaign; `table` is what its file has. */
export function showAbout(campaign, table) {
  const told = texts.about, { servers, protocol } = campaign;
  const most = MOST_TOGETHER[protocol](servers.length), parts = PARTS[protocol](servers.length);
  const mayCheat = protocol === "spdz2k" || table.options.malicious === "yes";
  const points = [
    told.sent({ parts, servers: servers.length }),
    (mayCheat ? told.cheat : told.follow)({ most, servers: servers.length }),
    table.check === "bound" ? told.learnBounds : told.learn, told.result({ atLeast: campaign.atLeast }),
    table.program ? told.program : told.anyProgram, table.again ? told.again({ more: table.again }) : undefined,
    table.keep === "yes" ? told.keep : undefined, told.change({ time: timeOf(table.closes) }),
  ].filter((point) => point);
  const facts = { [told.closes]: timeOf(table.closes), [told.least]: String(campaign.atLeast) };
  const pairs = Object.entries(facts).flatMap(([term, fact]) => [make("dt", {}, term), make("dd", {}, fact)]);
  const hosts = servers.map((server, at) =>
    make("li", {}, told.server({ number: at, address: addressOf(server) })));
  const full = make("details", {}, make("summary", {}, told.full), make("code", { id: "hash" }, fingerprint(campaign)),
    make("p", {}, make("code", {}, toText(campaign.hash))));
  fill("about", make("dl", {}, ...pairs), make("h2", {}, told.title),
    make("p", {}, told.servers), make("ul", {}, ...hosts),
    make("ul", {}, ...points.map((point) => make("li", {}, point))), make("p", {}, told.page),
    make("p", {}, `${told.short}: `, make("code", { id: "fingerprint" }, fingerprint(campaign, 16))), full);
}
