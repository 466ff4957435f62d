/** Quorate's client for browsers and Node 20. See README.md. */

/** Which error it is: the names of the Python client's errors. */
export type ErrorCode =
  | "CampaignError" | "KeyFileError" | "NoResult" | "NotStored" | "OtherCampaign" | "Refused" | "Unreachable"
  | "ValuesError" | "WireError";

/** An error that the client raises on purpose. It quotes no value and no secret. */
export class ClientError extends Error {
  code: ErrorCode;
  /** The index of the server, for "OtherCampaign", "Refused" and "Unreachable". */
  server?: number;
  /** The indices of the servers that lack the packet, for "NotStored". */
  servers?: number[];
  /** The indices of the servers that did not answer as they should in the last try, for "NotStored". */
  silent?: number[];
  /** The HTTP status, if there was an answer. */
  status?: number;
  /** Seconds after which another try makes sense. */
  retryAfterS?: number;
}

/** A campaign that was read; its other members may change. */
export interface Campaign {
  readonly json: string;
  readonly hash: Uint8Array;
  readonly name: string;
  readonly protocol: "rss" | "aby" | "pika" | "spdz2k";
}

/** A client's pair of keys on P-256, for ECDSA. */
export interface Key {
  privateKey: CryptoKey;
  publicKey: CryptoKey;
}

export interface Invitation {
  place: number;
  /** The secret for each server; `sealedInvitation` returns keys that can be stored and not be read. */
  secrets: (Uint8Array | CryptoKey)[];
}

/** Where packets are kept until all servers have stored them, with the numbers and masks that were used. */
export interface Store {
  get(name: string): Promise<any>;
  /** Keeps an item (structured clone), and resolves when it lasts. */
  set(name: string, item: any): Promise<void>;
}

/**
 * One value: integers beyond 2^53 are BigInt; other Numbers of integer columns must be integers. `units` is an exact
 * value in steps of the column's last bit.
 */
export type Value = number | bigint | boolean | { units: bigint };
/** The values of a column: one, nested arrays in its shape, or a typed array in row-major order. */
export type Values = Value | Values[] | ArrayLike<number> | ArrayLike<bigint>;

export interface Where {
  /** The slot; may be left out if the campaign has one. */
  slot?: string;
  /** The index among the client's packets of the slot; 0 by default. */
  item?: number;
}

export interface Waiting extends Where {
  /** Seconds to try, 60 by default; each server is tried once at least. */
  waitS?: number;
  /** Called while packets are sent. */
  progress?: (event: Progress) => void;
}

/** What happens at a server while a packet is sent; `problem` is there if the state is "waiting". */
export interface Progress {
  server: number;
  state: "asked" | "stored" | "waiting";
  problem?: ClientError;
}

/** A packet that the store has. Receipts of servers that lack it are null. */
export interface Kept {
  number: number;
  withdrawn: boolean;
  /** The packet's header as base64url, whose SHA-256 is the receipts' `digest`. */
  header: string;
  receipts: (Receipt | null)[];
}

/** A server's signed statement that it has stored a packet; bytes are base64url. */
export interface Receipt {
  campaign: string; client: string; slot: number; item: number; number: number; digest: string; part: string;
  server: number; time: number; signature: string;
}

export interface Status {
  closed: boolean;
  items: { slot: number; item: number; number: number; outcome: string; why: string }[];
}

/** A result: its elements in row-major order. */
export interface Result {
  shape: number[];
  /** Integers of more than 32 bits are BigInts; fixed point is Float64Array; bits are 0 or 1 in a Uint8Array. */
  data: Uint8Array | Uint16Array | Uint32Array | BigUint64Array | Int32Array | BigInt64Array | Float64Array;
}

export class Client {
  private constructor();
  submit(values: Record<string, Values>, options?: Waiting & { atLeast?: number }): Promise<Receipt[]>;
  withdraw(options?: Waiting): Promise<Receipt[]>;
  resume(options?: Waiting): Promise<Receipt[] | undefined>;
  /** What the store has of an item: the last packet that all servers have stored, and one that some lack. */
  kept(where?: Where): Promise<{ stored?: Kept; waiting?: Kept }>;
  status(): Promise<Status[]>;
  statusOf(server: number): Promise<Status>;
  result(options?: Where & { look?: number }): Promise<Record<string, Result>>;
}

export function client(options: {
  /** The canonical JSON that the operators hand out, or what `readCampaign` returned. */
  campaign: string | Uint8Array | Campaign;
  key: Key;
  invitation?: string | Invitation;
  /** `memoryStore()` by default. */
  store?: Store;
  fetch?: typeof globalThis.fetch;
}): Promise<Client>;

export function readCampaign(json: string | Uint8Array): Promise<Campaign>;
export function readInvitation(text: string): Invitation;
export function newKey(extractable?: boolean): Promise<Key>;
export function keyFromJwk(jwk: JsonWebKey, extractable?: boolean): Promise<Key>;
/** Reads the file that `quorate campaign client-key` wrote. */
export function keyFromPem(text: string): Promise<Key>;
/** Returns an invitation whose secrets can be used and stored, and not be read. */
export function sealedInvitation(invitation: { place: number; secrets: Uint8Array[] }): Promise<Invitation>;
/** Returns a decimal text in units of 2^-frac, rounded to the nearest, ties to even; undefined if it is none. */
export function decimalIn(text: string, frac: number): bigint | undefined;
export function idOf(key: Key): Promise<Uint8Array>;
export function memoryStore(): Store;
export function indexedDbStore(name?: string): Store;
export function toText(bytes: Uint8Array): string;
export function fromText(text: string, size?: number): Uint8Array;
