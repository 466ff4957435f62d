/**
 * The receipt of what all servers have stored: shown, printed, or saved as a file that others can check.
 * @module
 */

import { toText } from "../js/quorate.js";
import { timeOf } from "./about.js";
import { button, download, fill, make } from "./show.js";
import { texts } from "./texts.js";

/** Shows the receipt of a packet, if there is one. */
export function showReceipt(campaign, stored) {
  if (!stored) {
    fill("receipt");
    return;
  }
  const told = texts.receipt;
  const rows = stored.receipts.map((receipt, at) =>
    make("li", {}, told.row({ number: at, time: timeOf(1000 * receipt.time) })));
  const { header, receipts, number } = stored;
  const file = { campaign: toText(campaign.hash), name: campaign.name, header, receipts };
  const save = () => download(told.file({ name: campaign.name }), `${JSON.stringify(file, null, 1)}\n`);
  fill("receipt", make("h2", {}, told.title), make("p", {}, stored.withdrawn ? told.toldWithdrawn : told.told),
    make("ul", {}, ...rows), make("p", {}, told.packet({ number })),
    make("div", { class: "actions" }, button(told.save, save), button(told.print, () => print())));
}
