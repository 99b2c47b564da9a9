/**
 * Whom an event or decision is about: the values at a project's `subjectPointers`, by a keyed hash, so that all about a
 * person is found again without a scan and without their name in an index. The hash is the first 128 bits of
 * HMAC-SHA-256, under a key of the installation, over `gov.subject/1 LF projectId LF JCS(value)`;
 * a number is its text, so that whoever asks need not know which it was. An erasure says that nothing about a subject is
 * left, so what stands at a pointer is found again or refused, never passed over.
 * Proven by `test/service/erasure/subjects.test.ts` and `test/service/erasure/handlers.test.ts`.
 */
import type { Subject } from '../../contract/erasure.ts';
import { limits } from '../../contract/limits.ts';
import type { FieldError } from '../../contract/problems.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import type { Caller } from '../call/handler.ts';
import { codePoints, jsonType, type FieldCode } from '../call/explain.ts';
import type { Services } from '../dependencies.ts';

/** Hex characters of a subject. */
const subjectChars = 32;

/** Hashes of the subjects of a content, or what of it could not be found by its subject; its pointer is into the content. */
export type SubjectsFound = { readonly subjects?: readonly string[] } | { readonly fault: FieldError };

/** Null where a project names no subjects, which costs nothing. */
export type SubjectsOf = ((content: JsonObject) => SubjectsFound) | null;

/** Subjects of what the caller's project records. Cost: one HMAC a subject. */
export function subjectsOf(caller: Pick<Caller, 'rules' | 'project'>, services: Fingerprints): SubjectsOf {
  const { subjectPointers } = caller.rules.settings;
  if (subjectPointers.length === 0) return null;
  const places = subjectPointers.map((pointer) => ({
    pointer,
    path: pointer.slice(1).split('/').map(nameOf),
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

type Fingerprints = Pick<Services, 'fingerprint'>;

/** The hash under which a subject of this project is found. */
export function subjectHasher(
  { projectId }: Caller['project'],
  { fingerprint }: Fingerprints,
): (subject: Subject) => string {
  const label = `gov.subject/1\n${projectId}\n`;
  return (subject) => fingerprint(label + canonicalize(String(subject))).slice(0, subjectChars);
}

const nameOf = (token: string): string => token.replaceAll('~1', '/').replaceAll('~0', '~');

interface Place {
  readonly pointer: string;
  readonly path: readonly string[];
  /** Another pointer of the project leads on from here, so that an object here is no subject but has some. */
  readonly isEntered: boolean;
}

/**
 * Adds the subjects at a place; of a list at its end each item, since an event may be about several people. Where
 * there is nothing, it is about nobody there. The client controls it.
 */
function collect(texts: Set<string>, content: Json, { pointer, path, isEntered }: Place): FieldError | null {
  let value: Json = content;
  for (const [depth, name] of path.entries()) {
    if (Array.isArray(value) && !isIndex(name)) {
      const list = `/${pointer.slice(1).split('/').slice(0, depth).join('/')}`;
      return unfit(list, 'WRONG_TYPE', `expected an object, into which ${pointer} leads on, got array`);
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

/** RFC 6901 §4: without leading zeros. */
const isIndex = (token: string): boolean => /^(?:0|[1-9][0-9]*)$/.test(token);

/** Null and the empty text name nobody: no erasure can ask for them. */
function add(texts: Set<string>, value: Json, pointer: string): FieldError | null {
  if (value === null) return null;
  if (typeof value !== 'string' && typeof value !== 'number') {
    const expected = 'expected text, a number, null or a list of these';
    return unfit(pointer, 'WRONG_TYPE', `${expected}, got ${jsonType(value)}`);
  }
  const text = String(value);
  const limit = limits.subjectValueChars;
  // as many UTF-16 units are at most as many characters
  if (text.length > limit) {
    const length = codePoints(text);
    if (length > limit) {
      return unfit(pointer, 'TOO_LONG', `expected at most ${limit} characters, got ${length}`, limit);
    }
  }
  if (text !== '') texts.add(text);
  return null;
}

/** Every pointer leads to something of somebody, so what to do is to send a name, or to change the pointers. */
const unfit = (pointer: string, code: FieldCode, what: string, limit?: number): FieldError => ({
  pointer,
  in: 'body',
  code,
  detail: `${what}: an erasure by subject would not find it; send whom it is about as such a value, or point subjectPointers elsewhere`,
  ...(limit === undefined ? {} : { limit }),
});

function tooMany(pointer: string, count: number, pointers: readonly string[]): FieldError {
  const limit = limits.subjectsPerLeaf;
  const detail =
    `expected at most ${limit} subjects, got ${count}: an erasure by one of the others would not find it; ` +
    `send several, each about at most ${limit} (they are at ${pointers.join(', ')})`;
  return { pointer, in: 'body', code: 'TOO_MANY', detail, limit };
}
