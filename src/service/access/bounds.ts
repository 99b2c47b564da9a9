/**
 * The bounds of a key as a caller: its environment (contract P4, Z11) and its expiry (contract B8). A person has neither.
 * Proven by `test/service/access/projects.test.ts` and `test/service/access/api-keys.test.ts`.
 */
import type { Environment } from '../../contract/auth.ts';
import { GovError } from '../../contract/problems.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Caller } from '../call/caller.ts';

/** Whether the caller acts on projects of an environment: a key on those of its own, a person on all. */
export const actsIn = ({ type, project }: Caller, environment: Environment): boolean =>
  type === 'person' || project.environment === environment;

/** FORBIDDEN for a key of the other environment. */
export function requireEnvironment(caller: Caller, environment: Environment): void {
  if (actsIn(caller, environment)) return;
  const detail =
    `expected a project of the ${caller.project.environment} environment, which is the key's, got one of ${environment}; ` +
    `call with a key of ${environment}, or as a person`;
  throw new GovError('FORBIDDEN', detail);
}

/** FORBIDDEN for an end (Unix milliseconds; null: never) after that of the caller's key. */
export function requireEnd({ expiresMs }: Caller, endMs: number | null): void {
  if (expiresMs === null || (endMs !== null && endMs <= expiresMs)) return;
  const got = endMs === null ? 'no end' : formatTimestamp(endMs);
  const detail =
    `expected a key that expires at ${formatTimestamp(expiresMs)} at the latest, as the calling key does, got ${got}; ` +
    'call with a key that lives longer, or as a person';
  throw new GovError('FORBIDDEN', detail);
}
