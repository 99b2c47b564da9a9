/**
 * Finds the subjects of an event or decision: the values at a project's `subjectPointers`, stored by a keyed
 * hash. An erasure then finds everything about a person without a scan, and no index contains their name. The
 * hash is the first 128 bits of HMAC-SHA-256, under a key of the installation, over `gov.subject/1 LF
 * projectId LF JCS(value)`; a number counts as its text. A value at a pointer that cannot be hashed is
 * rejected, because an erasure claims that nothing about the subject is left. Proven by
 * `test/service/call/subjects.test.ts` and `test/service/erasure/handlers.test.ts`.
 */
import type { Subject } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import type { FieldError } from '../../contract/problems.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Caller } from './caller.ts';
import type { FieldCode } from '../../contract/field-codes.ts';
import { codePoints, jsonType } from './explain.ts';
import type { Secrets } from './secrets.ts';
import { memberName } from '../../core/json/pointer.ts';

/** Hex characters of a subject's hash. */
const subjectChars = 32;

/**
 * Hashes of a content's subjects, or the value that cannot be one. The finding's pointer is relative to the
 * content.
 */
export type SubjectResult = { readonly subjects?: readonly string[] } | { readonly fault: FieldError };

/** Null where a project names no subjects, which costs nothing. */
export type SubjectsOf = ((content: JsonObject) => SubjectResult) | null;

/** The subjects in what the caller's project records. Cost: one HMAC for each subject. */
export function subjectsOf(caller: Pick<Caller, 'rules' | 'project'>, services: Fingerprints): SubjectsOf {
  const { subjectPointers } = caller.rules.settings;
  if (subjectPointers.length === 0) return null;
  const places = subjectPointers.map((pointer) => ({
    pointer,
    path: pointer.slice(1).split('/').map(memberName),
    isEntered: subjectPointers.some((other) => other.startsWith(`${pointer}/`)),
  }));
  const hash = subjectHasher(caller.project, services);
  return (content) => {
    const texts = new Set<string>();
    const pointers: string[] = [];
    for (const place of places) {
      const before = texts.size;
      const fault = collect(texts, content, place);
      if (fault !== null) return { fault };
      if (texts.size > before) pointers.push(place.pointer);
    }
    const last = pointers.at(-1);
    if (last !== undefined && texts.size > limits.subjectsPerLeaf) {
      return { fault: tooMany(last, texts.size, pointers) };
    }
    return { subjects: [...texts].map(hash) };
  };
}

type Fingerprints = Pick<Secrets, 'fingerprint'>;

/** The hash of a subject of this project. */
export function subjectHasher(
  { projectId }: Caller['project'],
  { fingerprint }: Fingerprints,
): (subject: Subject) => string {
  const label = `gov.subject/1\n${projectId}\n`;
  return (subject) => fingerprint(label + canonicalize(String(subject))).slice(0, subjectChars);
}

interface SubjectPath {
  readonly pointer: string;
  readonly path: readonly string[];
  /**
   * Whether another pointer continues below this place. An object here then is no subject but contains some.
   */
  readonly isEntered: boolean;
}

/**
 * Adds the subjects at a place. A list at the end of a pointer names one subject for each item. A missing
 * value names nobody. The client controls the content.
 */
function collect(
  texts: Set<string>,
  content: Json,
  { pointer, path, isEntered }: SubjectPath,
): FieldError | null {
  let value: Json = content;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value) && !isIndex(name)) {
      const list = `/${pointer.slice(1).split('/').slice(0, depth).join('/')}`;
      return unfit(list, 'WRONG_TYPE', `expected an object, because ${pointer} continues below, got array`);
    }
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as JsonObject)[name] as Json;
  }
  if (isEntered && jsonType(value) === 'object') return null;
  if (!Array.isArray(value)) return add(texts, value, pointer);
  for (const [at, item] of value.entries()) {
    const fault = add(texts, item, `${pointer}/${at}`);
    if (fault !== null) return fault;
  }
  return null;
}

/** Whether a token is an array index: no leading zeros (RFC 6901 §4). */
const isIndex = (token: string): boolean => /^(?:0|[1-9][0-9]*)$/.test(token);

/** Adds one subject. Null and the empty text name nobody: no erasure can ask for them. */
function add(texts: Set<string>, value: Json, pointer: string): FieldError | null {
  if (value === null) return null;
  if (typeof value !== 'string' && typeof value !== 'number') {
    const expected = 'expected text, a number, null or a list of these';
    return unfit(pointer, 'WRONG_TYPE', `${expected}, got ${jsonType(value)}`);
  }
  const text = String(value);
  const limit = limits.subjectValueChars;
  // the number of UTF-16 units is an upper bound of the number of characters
  if (text.length > limit) {
    const length = codePoints(text);
    if (length > limit) {
      return unfit(pointer, 'TOO_LONG', `expected at most ${limit} characters, got ${length}`, limit);
    }
  }
  if (text !== '') texts.add(text);
  return null;
}

/**
 * The finding for a value that no erasure could find. The client can send a name instead, or change the
 * pointers.
 */
const unfit = (pointer: string, code: FieldCode, what: string, limit?: number): FieldError => ({
  pointer,
  in: 'body',
  code,
  detail: `${what}: an erasure by subject would not find it; send the subject as such a value, or change subjectPointers`,
  ...(limit === undefined ? {} : { limit }),
});

function tooMany(pointer: string, count: number, pointers: readonly string[]): FieldError {
  const limit = limits.subjectsPerLeaf;
  const detail =
    `expected at most ${limit} subjects, got ${count}: an erasure by one of the others would not find it; ` +
    `send several, each about at most ${limit} (they are at ${pointers.join(', ')})`;
  return { pointer, in: 'body', code: 'TOO_MANY', detail, limit };
}
