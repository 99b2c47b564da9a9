/**
 * Secrets of the keys of subjects, read together with the bodies that name them.
 * Proven by `test/store/postgres/effects/subject-keys.test.ts`.
 */
import { inOrder, noSecret, type SubjectKey } from '../../erasure/subject-keys.ts';

/**
 * SQL: the keys that the body in row `b` names, in the form that `secretsOf` reads; NULL if it names none.
 */
export const secretsColumn =
  'CASE WHEN b.keys IS NOT NULL THEN subject_secrets($1::integer, b.keys) END AS secrets';

export type Secrets = ReadonlyMap<string, Uint8Array>;

/** By key id, including destroyed keys. */
export function secretsOf(text: string | null | undefined): Secrets {
  const secrets = new Map<string, Uint8Array>();
  if (text === null || text === undefined) return secrets;
  for (const each of text.split(',')) {
    const [id = '', secret = ''] = each.split(':');
    secrets.set(id, Buffer.from(secret, 'hex'));
  }
  return secrets;
}

export const isDestroyed = (secret: Uint8Array): boolean => Buffer.compare(secret, noSecret) === 0;

/** Returns the keys that are not destroyed, in order. */
export function keysOf(secrets: Secrets): SubjectKey[] {
  const keys: SubjectKey[] = [];
  for (const [id, secret] of secrets) if (!isDestroyed(secret)) keys.push({ id, secret });
  return inOrder(keys);
}
