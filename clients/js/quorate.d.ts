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
  /** The HTTP status, if there was an answer. */
  status?: number;
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
  secrets: Uint8Array[];
}

/** Where packets are kept until all servers have stored them, with the numbers and masks that were used. */
export interface Store {
  get(name: string): Promise<any>;
  /** Keeps an item (structured clone), and resolves when it lasts. */
  set(name: string, item: any): Promise<void>;
}

/** One value: integers beyond 2^53 are BigInt; other Numbers of integer columns must be integers. */
export type Value = number | bigint | boolean;
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
  status(): Promise<Status[]>;
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
export function idOf(key: Key): Promise<Uint8Array>;
export function memoryStore(): Store;
export function indexedDbStore(name?: string): Store;
export function toText(bytes: Uint8Array): string;
export function fromText(text: string, size?: number): Uint8Array;
