/**
 * Stored credentials: `credentials.json` beside `config.json`, mode 0600, keyed by the name that contexts refer to. The
 * secret itself lies in the keychain of the system where there is one, else in the file. Each credential is bound to its
 * origin, so that a changed address in a context does not send it elsewhere.
 * Tested by `test/cli/context/definition.test.ts` and `test/cli/keychain/secrets.test.ts`.
 */
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configPath, readObject, type Variables } from './config.ts';
import { isObject } from '../../core/json/object.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { shortHash } from '../program/short-hash.ts';
import { readKeychain } from '../keychain/secrets.ts';

export interface StoredCredential {
  /** A person who signed in, or an API key. */
  readonly kind: 'person' | 'api_key';
  /** The secret. One in the keychain is read on first use. Errors: exit 4 if the keychain has it no longer. */
  readonly token: string;
  /** Scheme, host and port of the service. The credential goes nowhere else. */
  readonly origin: string;
  /** RFC 3339 text; null: never. */
  readonly expiresAt: string | null;
  /** Absent for a credential that is to be stored. */
  readonly store?: CredentialStore;
}
type CredentialStore = 'keychain' | 'file';
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
  if (isObject(credentials) && Object.values(credentials).every(isStored)) {
    const checked = credentials as unknown as Credentials; // each was checked above
    return Object.fromEntries(
      Object.entries(checked).map(([name, each]) => [
        name,
        each.store === 'keychain' ? kept(each, name, env) : { ...each, store: 'file' },
      ]),
    );
  }
  throw usage(
    `${path}: expected credentials as gov auth login writes them, got another form`,
    'move the file away and sign in again',
  );
}

/** A credential whose secret the keychain has. */
function kept(stored: StoredCredential, name: string, env: Variables): StoredCredential {
  let token: string | undefined;
  return {
    ...stored,
    get token() {
      token ??= readKeychain(env, accountOf(env, name)) ?? undefined;
      if (token !== undefined) return token;
      throw new CliError(exit.denied, `the keychain has no credential ${name} any more`, {
        code: 'NOT_SIGNED_IN',
        hint: 'sign in again: gov auth login',
      });
    },
  };
}

/** The account in the keychain. Two directories of configuration have accounts of their own. */
export function accountOf(env: Variables, name: string): string {
  return `${name} (${shortHash(dirname(configPath(env)))})`;
}

/** Says where the secret of a credential is, for people. */
export const placeOf = (env: Variables, { store }: StoredCredential): string =>
  store === 'keychain' ? 'the keychain' : credentialsPath(env);

const isStored = (value: unknown): boolean =>
  isObject(value) &&
  (value['kind'] === 'person' || value['kind'] === 'api_key') &&
  (value['store'] === 'keychain'
    ? value['token'] === undefined
    : typeof value['token'] === 'string' && /^[\u0021-\u007e]{1,16384}$/.test(value['token'])) &&
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
