/**
 * The top level of a JSON-RPC message: where each member is in the text. A proxy forwards the text itself, so numbers,
 * order and unknown members stay as the sender wrote them. Both sides are untrusted: a text that two readers could read
 * differently is refused, because the proxy would judge one message and the server would run another.
 * Tested by `test/core/mcp/envelope.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Json, JsonObject } from '../json/canonical.ts';
import { membersOf, type Member } from '../json/members.ts';
import { parseJson, type JsonBounds } from '../json/parse.ts';
import { malformed, quoted } from '../json/token.ts';

const folded = (name: string): string => name.toUpperCase().toLowerCase();
const byFolded = (names: readonly string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [folded(name), name]));

/** Members with a meaning. A server may match names in any case, as Go does. */
const ofMessage = byFolded(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const ofCall = byFolded(['name', 'arguments', '_meta', 'inputResponses', 'requestState', 'task']);

function refuseOtherCase(names: Iterable<string>, meaningful: ReadonlyMap<string, string>): void {
  for (const name of names) {
    const exact = meaningful.get(folded(name));
    if (exact !== undefined && exact !== name) malformed(0, quoted(exact), quoted(name));
  }
}

/** Bounds of what a server sends: schemas and results have numbers and texts that events cannot hold. */
export const looseBounds: JsonBounds = {
  depth: limits.mcpDepth,
  values: limits.jsonValuesLarge,
  nameChars: Infinity,
  stringBytes: Infinity,
  profile: 'json',
};

export class Envelope {
  readonly bytes: Uint8Array;
  readonly #members: ReadonlyMap<string, Member>;

  /** Throws GovError (INVALID_JSON, JSON_TOO_COMPLEX) for a text that is not one unambiguous JSON object. */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
    this.#members = membersOf(bytes, limits.mcpDepth);
    refuseOtherCase(this.#members.keys(), ofMessage);
  }

  has(name: string): boolean {
    return this.#members.has(name);
  }

  /** The text of a member's value. */
  raw(name: string): Uint8Array | undefined {
    const found = this.#members.get(name);
    return found === undefined ? undefined : this.bytes.subarray(found.valueAt, found.end);
  }

  /** The value of a member that is a string, else undefined. */
  text(name: string): string | undefined {
    const raw = this.raw(name);
    if (raw?.[0] !== 0x22) return undefined;
    return JSON.parse(Buffer.from(raw).toString()) as string; // the text of one JSON string
  }

  /**
   * One text for each id, whichever way it is spelled; undefined for a missing id and for one that the protocol does not
   * allow (null, a list, a fraction).
   */
  get id(): string | undefined {
    const raw = this.raw('id');
    if (raw === undefined) return undefined;
    const text = Buffer.from(raw).toString();
    if (text.startsWith('"')) return JSON.stringify(JSON.parse(text));
    return /^-?[0-9]{1,40}$/.test(text) ? text : undefined;
  }

  /** Parses a member in full. Throws GovError for names that repeat, and for what `bounds` excludes. */
  value(name: string, bounds: JsonBounds): Json | undefined {
    const raw = this.raw(name);
    return raw === undefined ? undefined : parseJson(raw, bounds);
  }

  /** Returns the message without some members of its params; all other bytes stay as they are. */
  withoutParams(names: readonly string[]): Uint8Array {
    const outer = this.#members.get('params');
    if (outer === undefined) return this.bytes;
    const params = this.bytes.subarray(outer.valueAt, outer.end);
    const kept = [...membersOf(params, limits.mcpDepth)]
      .filter(([name]) => !names.includes(name))
      .map(([, { nameAt, end }]) => Buffer.from(params.subarray(nameAt, end)).toString());
    return Buffer.concat([
      this.bytes.subarray(0, outer.valueAt),
      Buffer.from(`{${kept.join(',')}}`),
      this.bytes.subarray(outer.end),
    ]);
  }
}

/** Refuses params in which a server could find another name or other arguments than this proxy. */
export const refuseAmbiguous = (params: JsonObject): void => refuseOtherCase(Object.keys(params), ofCall);
