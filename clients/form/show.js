/**
 * Elements of the page. All texts are set as text, never as HTML: those of campaigns and servers are by others.
 * @module
 */

let made = 0;

/** Returns an id that no other element of the page has. */
export const newId = () => `q${++made}`;

/** Returns a new element; `attributes` with the value undefined or false are left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined)); // texts become text nodes
  return element;
}

/** Returns the element of index.html with this id. */
export const find = (id) => document.getElementById(id);

/** Replaces an element's content, and shows it if there is any. Children that are not there are left out. */
export function fill(id, ...children) {
  const kept = children.filter((child) => child);
  find(id).replaceChildren(...kept);
  find(id).hidden = kept.length === 0;
}

/** Returns a button. */
export function button(text, act, attributes = {}) {
  const element = make("button", { type: "button", ...attributes }, text);
  element.addEventListener("click", act);
  return element;
}

/** Lets the user save a text as a file. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
