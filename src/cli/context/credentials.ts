/**
 * Stored credentials: `credentials.json` beside `config.json`, mode 0600, keyed by the name that contexts refer to. Each
 * credential is bound to its origin, so that a changed address in a context does not send it elsewhere. gov uses no
 * keychain. Tested by `test/cli/context/definition.test.ts`.
 */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configPath, readObject, type Variables } from './config.ts';
import { isObject } from '../../core/json/object.ts';
import { usage } from '../program/exit.ts';

export interface StoredCredential {
  /** A person who signed in, or an API key. */
  readonly kind: 'person' | 'api_key';
  readonly token: string;
  /** Scheme, host and port of the service. The credential goes nowhere else. */
  readonly origin: string;
  /** RFC 3339 text; null: never. */
  readonly expiresAt: string | null;
}
export type Credentials = Readonly<Record<string, StoredCredential>>;

export const credentialsPath = (env: Variables): string => join(dirname(configPath(env)), 'credentials.json');

/**
 * Returns an empty object if nothing is stored. Errors: exit 2 if other users can read the file, or for another form.
 */
export function readCredentials(env: Variables): Credentials {
  const path = credentialsPath(env);
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return {};
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    throw usage(`${path}: expected credentials, got a file that other users can read`, `chmod 600 ${path}`);
  const { credentials = {} } = readObject(path) ?? {};
  if (isObject(credentials) && Object.values(credentials).every(isStored))
    return credentials as unknown as Credentials;
  throw usage(
    `${path}: expected credentials as gov auth login writes them, got another form`,
    'move the file away and sign in again',
  );
}

const isStored = (value: unknown): boolean =>
  isObject(value) &&
  (value['kind'] === 'person' || value['kind'] === 'api_key') &&
  typeof value['token'] === 'string' &&
  /^[\u0021-\u007e]{1,16384}$/.test(value['token']) &&
  typeof value['origin'] === 'string' &&
  (value['expiresAt'] === null || typeof value['expiresAt'] === 'string');

/** Name of a person's credential. One token works for both environments, so its name differs from those of contexts. */
export const personOf = (base: string): string => `person@${base}`;

/** Returns whether a token is a person's: a token of the command line, or an ID token. Keys belong to a project. */
export const isPersonal = (token: string): boolean =>
  token.startsWith('gov_cli_') || (!token.startsWith('gov_') && token.split('.').length === 3);

/** Returns the first 9 and last 4 characters: enough to tell two apart. */
export const masked = (token: string): string =>
  token.length < 24 ? '(set)' : `${token.slice(0, 9)}…${token.slice(-4)}`;
