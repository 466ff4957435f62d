/**
 * The page: reads the campaign beside it, asks who takes part, and hands over to what gives answers.
 * @module
 */

import { client, indexedDbStore, readCampaign, toText } from "../js/quorate.js";
import { showAbout } from "./about.js";
import { Giving } from "./giving.js";
import { identityFrom, identityIn, identityOf, invitationInAddress, invitationOf } from "./identity.js";
import { button, fill, find, make, newId } from "./show.js";
import { texts } from "./texts.js";

/** A reason why the page does not go on; its message is shown. */
class Stop extends Error {}

function checkBrowser() {
  if (self !== top) throw new Stop(texts.stops.framed);
  if (!isSecureContext) throw new Stop(texts.stops.insecure);
  if (!crypto.subtle || !globalThis.indexedDB || !navigator.locks || !AbortSignal.timeout) {
    throw new Stop(texts.stops.old);
  }
}

/** Reads the campaign's file, which is in the page's folder: `campaign.json`, or NAME.json for ?campaign=NAME. */
async function campaignBeside() {
  const name = new URLSearchParams(location.search).get("campaign") ?? "campaign";
  if (!/^[a-z0-9_]{1,63}$/.test(name)) throw new Stop(texts.stops.badName);
  try {
    const options = { credentials: "omit", redirect: "error", cache: "no-cache" };
    const answer = await fetch(new URL(`${name}.json`, location.origin + location.pathname), options);
    if (!answer.ok) throw new Error(String(answer.status));
    return await readCampaign(new Uint8Array(await answer.arrayBuffer()));
  } catch (error) {
    throw new Stop(texts.stops.noCampaign({ name, message: error.message }));
  }
}

/** From here on the browser lets this page connect to the campaign's servers alone. */
function confine(campaign) {
  const origins = campaign.servers.map((server) => new URL(server.url).origin);
  if (origins.some((origin) => origin.includes("["))) return; // policies cannot name addresses of IPv6
  const policy = `connect-src ${origins.join(" ")}`;
  document.head.append(make("meta", { "http-equiv": "Content-Security-Policy", content: policy }));
}

/** Waits until no other tab works on this campaign, and keeps others out while this page is open. */
function alone(name) {
  return new Promise((resolve, reject) => {
    const held = () => {
      fill("notice");
      resolve();
      return new Promise(() => {});
    };
    navigator.locks.request(name, { ifAvailable: true }, (lock) => {
      if (lock) return held();
      fill("notice", texts.stops.otherTab);
      navigator.locks.request(name, held).catch(reject);
      return undefined;
    }).catch(reject);
  });
}

/** Asks for a text or a file until `use` returns an identity for it. */
function asked({ title, label, hint, use, wrong }, input, act) {
  return new Promise((resolve) => {
    const error = make("p", { class: "error", role: "alert" });
    const form = make("form", { novalidate: true }, make("h2", {}, title), make("label", { for: input.id }, label),
      make("p", { class: "hint" }, hint), input, error, make("div", { class: "actions" },
        make("button", { class: "main" }, use)));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      try {
        const found = await act(input);
        input.value = "";
        if (!found) throw new Error();
        fill("invitation");
        resolve(found);
      } catch (problem) {
        const { message } = problem, { notKept } = texts.invitation;
        error.textContent = problem instanceof DOMException ? notKept({ message }) : `${wrong} ${message}`.trim();
        input.focus();
      }
    });
    fill("invitation", form);
  });
}

/** Asks for an invitation. One from a link is in the field already, and is not taken before the user says so. */
function invited(campaign, store, linked = "") {
  const input = make("input", { id: newId(), type: "text", autocomplete: "off", spellcheck: "false", translate: "no" });
  input.value = linked;
  const told = linked ? { ...texts.invitation, hint: texts.invitation.linked } : texts.invitation;
  return asked(told, input, ({ value }) => identityOf(campaign, store, value));
}

function listed(campaign, store) {
  const { keyTitle: title, keyLabel: label, keyHint: hint, keyUse: use, keyWrong: wrong } = texts.invitation;
  const input = make("input", { id: newId(), type: "file", accept: ".key,.pem" });
  return asked({ title, label, hint, use, wrong }, input, async ({ files }) => {
    if (!files.length) return undefined;
    return identityFrom(campaign, store, files[0]);
  });
}

/** Says that an invitation is not used, unless it is the one that this browser has: links are followed twice. */
function sayIfOther({ invitation }, shown) {
  if (shown && invitation && shown.split(".")[0] !== String(invitation.place)) {
    fill("notice", texts.invitation.other);
  }
}

/** Returns who takes part, from the store, the text that the address has shown, or the user. */
async function whoTakesPart(campaign, store, shown) {
  const stored = await identityIn(store);
  if (stored) {
    sayIfOther(stored, shown);
    return stored;
  }
  if (!campaign.invitations) return listed(campaign, store);
  const isInvitation = shown && invitationOf(campaign, shown);
  if (shown && !isInvitation) fill("notice", texts.invitation.wrong);
  return invited(campaign, store, isInvitation ? shown : "");
}

/** Shows what this browser keeps, with a button that removes it. */
function showKept(name) {
  const forget = () => {
    if (!confirm(texts.kept.reallyForget)) return;
    const removed = indexedDB.deleteDatabase(name);
    removed.onsuccess = removed.onerror = () => location.reload();
  };
  fill("kept", make("p", { class: "hint" }, texts.kept.told), button(texts.kept.forget, forget));
}

async function start() {
  const shown = invitationInAddress(); // first of all, so that it is nowhere to be seen for long
  document.documentElement.lang = texts.language;
  checkBrowser();
  const campaign = await campaignBeside(), table = JSON.parse(campaign.json);
  const title = Object.hasOwn(texts.labels, campaign.name) ? texts.labels[campaign.name] : campaign.name;
  document.title = find("title").textContent = title.replaceAll("_", " ");
  showAbout(campaign, table);
  if (!table.origins.includes(location.origin)) throw new Stop(texts.stops.origin({ origin: location.origin }));
  confine(campaign);
  const name = `quorate ${toText(campaign.hash)}`;
  await alone(`form ${name}`);
  const store = indexedDbStore(name), identity = await whoTakesPart(campaign, store, shown);
  addEventListener("hashchange", () => sayIfOther(identity, invitationInAddress()));
  showKept(name);
  const me = await client({ campaign, ...identity, store });
  await new Giving({ campaign, table, me, store }).start();
}

/** Shows why the page does not go on. */
function stopped(error) {
  fill("notice", error instanceof Stop ? error.message : texts.stops.failed({ message: error?.message ?? "" }));
}

addEventListener("unhandledrejection", (event) => {
  event.preventDefault(); // no console: the page says it
  stopped(event.reason);
});
start().catch(stopped);
