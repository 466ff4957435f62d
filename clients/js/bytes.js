/**
 * Bytes: joined, as integers, as text, and hashed; and the error that the client raises.
 * @module
 */

/** An error that the client raises on purpose. `code` says which, as the names of the Python client's errors do. */
export class ClientError extends Error {
  constructor(code, message, more = {}) {
    super(message);
    this.name = "ClientError";
    this.code = code;
    Object.assign(this, more);
  }
}

export const ascii = (text) => new TextEncoder().encode(text);
export const label = (name) => ascii(`quorate/${name}/1\0`);

export function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns a little-endian integer of `size` bytes. */
export function integer(value, size) {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let at = 0; at < size; at++, rest >>= 8n) bytes[at] = Number(rest & 255n);
  return bytes;
}

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

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** Returns a key for `hmac` that cannot be exported. */
export const hmacKey = (raw) =>
  crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);

/** Returns the HMAC-SHA256 of bytes under a key: its bytes, or what `hmacKey` returned. */
export async function hmac(key, bytes) {
  const imported = key instanceof Uint8Array ? await hmacKey(key) : key;
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes));
}
