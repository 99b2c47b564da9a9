/**
 * Differences between two values, member by member: JSON pointers (RFC 6901) with both values as texts, cut to
 * `limits.echoChars` around the first difference. The empty text means an absent value. The values are attacker
 * controlled: stored differences are limited, and all are counted.
 * Proven by `test/core/replay/fields.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { DriftSeverity } from '../../contract/replay-words.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { isObject } from '../json/object.ts';
import { pointerToken } from '../json/pointer.ts';

export interface FieldDifference {
  /** A JSON pointer; empty for the whole value. */
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  /** Severity, if the difference is drift by itself and not only of its step. */
  readonly severity?: DriftSeverity;
}

/** A drift difference in the response of a replay. */
export interface DriftDiagnostic extends FieldDifference {
  readonly severity: DriftSeverity;
}

/** Severity of a difference between two values, and of a value that one side lacks. */
export interface Severities {
  readonly differs: DriftSeverity;
  readonly absent: DriftSeverity;
}

/** Stores the first `limits.fieldErrors` differences. */
export class Differences {
  readonly #kept: FieldDifference[] = [];
  #found = 0;
  readonly #severities: Severities | undefined;

  constructor(severities?: Severities) {
    this.#severities = severities;
  }

  get list(): readonly FieldDifference[] {
    return this.#kept;
  }

  /** Number of differences, stored or not. */
  get count(): number {
    return this.#found;
  }

  /** Adds a difference; the caller knows that the texts differ. */
  add(field: string, expected: string, actual: string): void {
    this.#found++;
    if (this.#kept.length >= limits.fieldErrors) return;
    const [from, to] = cutPair(expected, actual);
    const severity = this.#severities?.[expected === '' || actual === '' ? 'absent' : 'differs'];
    const difference = { field: cut(field, limits.memberNameChars), expected: from, actual: to };
    this.#kept.push(severity === undefined ? difference : { ...difference, severity });
  }

  /** Adds a difference if the texts differ. */
  texts(field: string, expected: string, actual: string): void {
    if (expected !== actual) this.add(field, expected, actual);
  }

  /**
   * Adds the differences of two JSON values, ordered by member name. Objects and lists are compared member by member, other
   * values as a whole. Cost: linear. Recursive: the JSON reader has limited the depth.
   */
  values(field: string, expected: Json | undefined, actual: Json | undefined): void {
    if (expected === actual) return;
    if (isObject(expected) && isObject(actual)) {
      const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
      for (const name of [...names].sort()) {
        this.values(`${field}/${pointerToken(name)}`, own(expected, name), own(actual, name));
      }
    } else if (Array.isArray(expected) && Array.isArray(actual)) {
      const length = Math.max(expected.length, actual.length);
      for (let at = 0; at < length; at++) this.values(`${field}/${at}`, expected[at], actual[at]);
    } else {
      this.texts(field, spelled(expected), spelled(actual));
    }
  }
}

const own = (object: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Spells a value as JSON, so that "1" and 1 differ, and no value is empty. */
const spelled = (value: Json | undefined): string => (value === undefined ? '' : canonicalize(value));

/** Cuts a text to so many characters; a cut text ends in an ellipsis and is well-formed. */
export const cut = (text: string, chars: number = limits.echoChars): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1)}…`.toWellFormed();

/** Characters of the common start that are shown before the difference. */
const leadChars = 16;

/** Hashes are shown whole, so that people can search for them. */
const hashForm = /^"?sha256:[0-9a-f]{64}"?$/;

/** Cuts two different texts so that the cut texts differ, too. */
function cutPair(a: string, b: string): [string, string] {
  if ([a, b].every((text) => text.length <= limits.echoChars || hashForm.test(text))) return [a, b];
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  if (shared < limits.echoChars - leadChars) return [cut(a), cut(b)];
  const from = (text: string): string => cut(`…${text.slice(shared - leadChars)}`).toWellFormed();
  return [from(a), from(b)];
}
