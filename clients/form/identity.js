/**
 * Who takes part: a key that this browser makes, or reads from a file, and the invitation that it shows.
 *
 * Both are kept in IndexedDB as keys that a page can use and not read. The invitation's text is kept nowhere.
 * @module
 */

import { client, keyFromPem, newKey, readInvitation, sealedInvitation } from "../js/quorate.js";

const NAME = "identity";

/** Returns the identity that this browser has in a campaign, `{ key, invitation }`, or undefined. */
export const identityIn = async (store) => (await store.get(NAME)) ?? undefined;

/** Returns the invitation in a text; undefined if it is none, or one of another campaign. */
export function invitationOf(campaign, text) {
  try {
    const found = readInvitation(text), { place, secrets } = found;
    return place < campaign.invitations && secrets.length === campaign.servers.length ? found : undefined;
  } catch (error) {
    if (error.code !== "KeyFileError") throw error;
    return undefined;
  }
}

/**
 * Returns an identity with a new key for the invitation in a text, and keeps it; undefined if the text has none.
 *
 * Throws DOMException: the browser keeps nothing.
 */
export async function identityOf(campaign, store, text) {
  const invitation = invitationOf(campaign, text);
  if (!invitation) return undefined;
  return kept(store, { key: await newKey(), invitation: await sealedInvitation(invitation) });
}

/**
 * Returns an identity with the key of a file that `quorate campaign client-key` wrote, and keeps it.
 *
 * Throws ClientError "KeyFileError", or "CampaignError" if the campaign does not list the key.
 */
export async function identityFrom(campaign, store, file) {
  const key = await keyFromPem(await file.text());
  await client({ campaign, key }); // throws if the campaign does not list it
  return kept(store, { key, invitation: undefined });
}

async function kept(store, identity) {
  await store.set(NAME, identity);
  return identity;
}

/** Returns the invitation in the address behind "#", and removes it from there and from the browser's history. */
export function invitationInAddress() {
  const text = location.hash.slice(1);
  if (text) history.replaceState(null, "", location.pathname + location.search);
  return text;
}
