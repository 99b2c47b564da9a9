/**
 * Whom an event or decision is about: the values at a project's `subjectPointers`, by a keyed hash, so that all about a
 * person is found again without a scan and without their name in an index. The hash is the first 128 bits of
 * HMAC-SHA-256, under a key of the installation, over `gov.subject/1 LF projectId LF JCS(value)`;
 * a number is its text, so that whoever asks need not know which it was.
 * Proven by `test/service/erasures.test.ts`.
 */
import type { Subject } from '../contract/erasure.ts';
import { limits } from '../contract/limits.ts';
import { canonicalize, type Json, type JsonObject } from '../core/json.ts';
import type { Caller } from './call.ts';
import type { Services } from './services.ts';

/** Hex characters of a subject. */
const subjectChars = 32;

/** Null where a project names no subjects, which costs nothing. */
export type SubjectsOf = ((content: JsonObject) => readonly string[]) | null;

/** Subjects of what the caller's project records. Cost: one HMAC a pointer. */
export function subjectsOf(caller: Pick<Caller, 'rules' | 'project'>, services: Fingerprints): SubjectsOf {
  const { subjectPointers } = caller.rules.settings;
  if (subjectPointers.length === 0) return null;
  const paths = subjectPointers.map((pointer) => pointer.slice(1).split('/').map(nameOf));
  const hash = subjectHasher(caller.project, services);
  return (content) => {
    const found = new Set<string>();
    for (const path of paths) {
      for (const value of valuesAt(content, path)) {
        if (isSubject(value) && found.size < limits.subjectsPerLeaf) found.add(hash(value));
      }
    }
    return [...found];
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

/** What stands at a path; of a list at its end each item, since an event may be about several people. */
function valuesAt(content: Json, path: readonly string[]): readonly Json[] {
  let value: Json = content;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
    const next: Json | undefined = Object.hasOwn(value, name) ? value[name] : undefined;
    if (next === undefined) return [];
    value = next;
  }
  return Array.isArray(value) ? value : [value];
}

const isSubject = (value: Json): value is Subject =>
  typeof value === 'number' ||
  (typeof value === 'string' && value !== '' && value.length <= limits.subjectValueChars);
