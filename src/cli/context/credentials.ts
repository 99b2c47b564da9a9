/**
 * What was signed in with, or given to `gov auth login`: `credentials.json` beside `config.json`, of mode 0600, by the
 * name that contexts refer to. A credential is bound to the origin it was got from, so that no change of a context's
 * address sends it elsewhere. There is no use of a keychain. `test/cli/context/definition.test.ts` holds it.
 */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configPath, isObject, readObject } from './config.ts';
import type { Variables } from './config.ts';
import { usage } from '../program/exit.ts';

export interface StoredCredential {
  /** A person who signed in, or an API key. */
  readonly kind: 'person' | 'api_key';
  readonly token: string;
  /** Scheme, host and port that it is sent to, and no other. */
  readonly origin: string;
  /** RFC 3339; null: never. */
  readonly expiresAt: string | null;
}
export type Credentials = Readonly<Record<string, StoredCredential>>;

export const credentialsPath = (env: Variables): string => join(dirname(configPath(env)), 'credentials.json');

/** Empty where nothing is stored. Errors: exit 2 where others than the user can read it, or it is no such file. */
export function readCredentials(env: Variables): Credentials {
  const path = credentialsPath(env);
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return {};
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw usage(`${path}: others on this machine can read these credentials`, `chmod 600 ${path}`);
  const { credentials = {} } = readObject(path) ?? {};
  if (isObject(credentials) && Object.values(credentials).every(isStored)) return credentials as Credentials;
  throw usage(
    `${path}: expected credentials as gov auth login writes them`,
    'move it away and sign in again',
  );
}

const isStored = (value: unknown): boolean =>
  isObject(value) &&
  (value['kind'] === 'person' || value['kind'] === 'api_key') &&
  typeof value['token'] === 'string' &&
  /^[\u0021-\u007e]{1,16384}$/.test(value['token']) &&
  typeof value['origin'] === 'string' &&
  (value['expiresAt'] === null || typeof value['expiresAt'] === 'string');

/** A person's token is one for both environments, so it is not named as one context is. */
export const personOf = (base: string): string => `person@${base}`;

/** Whether a token is a person's: a token of the command line, or an ID token; keys are of a project. */
export const isPersonal = (token: string): boolean =>
  token.startsWith('gov_cli_') || (!token.startsWith('gov_') && token.split('.').length === 3);

/** First 9 and last 4 characters: enough to tell two apart. */
export const masked = (token: string): string =>
  token.length < 24 ? '(set)' : `${token.slice(0, 9)}…${token.slice(-4)}`;
