/**
 * Where two things that should be equal differ, member by member: JSON pointers (RFC 6901) with both values as
 * texts, cut to `limits.echoChars` around the place where they part. The empty text stands for what is absent.
 * The values may be an attacker's; what is kept is bounded, what is found is counted.
 * Proven by `test/core/replay/fields.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { DriftSeverity } from '../../contract/replay-words.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';

export interface FieldDifference {
  /** A JSON pointer; empty for the whole. */
  readonly field: string;
  readonly expected: string;
  readonly actual: string;
  /** Where the difference is drift of its own, and not only of its step: how grave. */
  readonly severity?: DriftSeverity;
}

/** A difference that is drift, as a replay answers it. */
export interface DriftDiagnostic extends FieldDifference {
  readonly severity: DriftSeverity;
}

/** How grave a difference between two values is, and one where a side has no value. */
export interface Severities {
  readonly differs: DriftSeverity;
  readonly absent: DriftSeverity;
}

/** Keeps the first `limits.fieldErrors` differences. */
export class Differences {
  private readonly kept: FieldDifference[] = [];
  private found = 0;
  private readonly severities: Severities | undefined;

  constructor(severities?: Severities) {
    this.severities = severities;
  }

  get list(): readonly FieldDifference[] {
    return this.kept;
  }

  /** How many were found, kept or not. */
  get count(): number {
    return this.found;
  }

  /** Notes that these texts differ; the caller knows that they do. */
  add(field: string, expected: string, actual: string): void {
    this.found++;
    if (this.kept.length >= limits.fieldErrors) return;
    const [from, to] = cutPair(expected, actual);
    const severity = this.severities?.[expected === '' || actual === '' ? 'absent' : 'differs'];
    const difference = { field: cut(field, limits.memberNameChars), expected: from, actual: to };
    this.kept.push(severity === undefined ? difference : { ...difference, severity });
  }

  /** Notes that these texts differ, if they do. */
  texts(field: string, expected: string, actual: string): void {
    if (expected !== actual) this.add(field, expected, actual);
  }

  /**
   * Notes where two JSON values differ, in the order of their members' names. Objects and lists are compared
   * member by member, anything else as a whole. Cost: linear. Recursive: depth is bounded where JSON is read.
   */
  values(field: string, expected: Json | undefined, actual: Json | undefined): void {
    if (expected === actual) return;
    if (isObject(expected) && isObject(actual)) {
      const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
      for (const name of [...names].sort()) {
        this.values(`${field}/${token(name)}`, own(expected, name), own(actual, name));
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

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As JSON, so that "1" and 1 differ, and no value is empty. */
const spelled = (value: Json | undefined): string => (value === undefined ? '' : canonicalize(value));

/** A reference token of RFC 6901. */
export const token = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** At most so many characters; a cut text ends in an ellipsis, and is well-formed. */
export const cut = (text: string, chars: number = limits.echoChars): string =>
  text.length <= chars ? text : `${text.slice(0, chars - 1)}…`.toWellFormed();

/** How much of what two texts share is shown before they part. */
const leadChars = 16;

/** Shown whole, to be searched for. */
const hashForm = /^"?sha256:[0-9a-f]{64}"?$/;

/** Two texts that differ, cut so that the cut texts differ as well. */
function cutPair(a: string, b: string): [string, string] {
  if ([a, b].every((text) => text.length <= limits.echoChars || hashForm.test(text))) return [a, b];
  let shared = 0;
  while (shared < a.length && a[shared] === b[shared]) shared++;
  if (shared < limits.echoChars - leadChars) return [cut(a), cut(b)];
  const from = (text: string): string => cut(`…${text.slice(shared - leadChars)}`).toWellFormed();
  return [from(a), from(b)];
}
