/**
 * Changes the user's configuration files under one lock, so that two processes do not lose each other's change. A crash
 * leaves the old file, and a lock that the next process takes over. Tested by `test/cli/context/config-write.long.test.ts`.
 */
import type Conf from 'conf';
import { dirname, join } from 'node:path';
import { pause } from '../../client/retry.ts';
import { configPath, readUserConfig } from './config.ts';
import type { UserConfig, Variables } from './config.ts';
import { accountOf, credentialsPath, readCredentials } from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { removeFromKeychain, whyNoKeychain, writeKeychain } from '../keychain/secrets.ts';
import { CliError, exit } from '../program/exit.ts';
import { writeWhole } from '../terminal/output-file.ts';
import { codeOf, whyUnwritable } from '../../files/write-fault.ts';
import { takeLock } from '../../client/sending/lock.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** Longer than a keychain may take. */
const lockWaitMs = 8000;

/** Replaces the configuration by the result of `change`. Errors: exit 6 if another process keeps the lock. */
export async function updateUserConfig(
  env: Variables,
  change: (config: UserConfig) => UserConfig,
): Promise<void> {
  const write = await userConfigWriter(env);
  await locked(env, () => write(change(readUserConfig(env))));
}

/** Replaces the file by this text, which the caller has checked. The present file may be broken. Errors: as above. */
export const replaceUserConfig = (env: Variables, text: string): Promise<void> =>
  locked(env, () => writeWhole(configPath(env), Buffer.from(text), 0o600));

/** Contexts and the credentials that they refer to. Both change together. */
export interface UserState {
  readonly config: UserConfig;
  readonly credentials: Credentials;
}

/**
 * Changes both files, and drops credentials without a context. Writes the credentials first: a crash in between leaves
 * a credential without a context.
 */
export async function updateUserState(
  env: Variables,
  change: (state: UserState) => UserState,
): Promise<void> {
  const writeConfig = await userConfigWriter(env);
  await locked(env, () => {
    const before = readCredentials(env);
    const { config, credentials } = change({ config: readUserConfig(env), credentials: before });
    const used = new Set(
      Object.values(config.contexts).map((each) => (each.kind === 'service' ? each.credential : undefined)),
    );
    const kept = Object.fromEntries(Object.entries(credentials).filter(([name]) => used.has(name)));
    storeCredentials(env, kept, before);
    writeConfig(config);
  });
}

/**
 * Writes the file, and moves new secrets into the keychain where there is one. A keychain that refuses a secret leaves
 * it to the file. Secrets without a credential leave the keychain last, so that a crash loses none that is in use.
 */
function storeCredentials(env: Variables, credentials: Credentials, before: Credentials): void {
  const isOn = whyNoKeychain(env) === null;
  const stored = Object.entries(credentials).map(([name, credential]) => {
    const { kind, origin, expiresAt, store } = credential;
    const known = { kind, origin, expiresAt };
    if (credential === before[name] && store === 'keychain') return [name, { ...known, store }];
    const { token } = credential;
    const isKept =
      isOn && credential !== before[name] && writeKeychain(env, accountOf(env, name), token) === null;
    return [name, isKept ? { ...known, store: 'keychain' } : { ...known, token }];
  });
  write(credentialsPath(env), { credentials: Object.fromEntries(stored) });
  const inKeychain = new Set(
    stored.filter(([, each]) => !Object.hasOwn(Object(each), 'token')).map(([name]) => name),
  );
  for (const [name, { store }] of Object.entries(before))
    if (store === 'keychain' && !inKeychain.has(name)) removeFromKeychain(env, accountOf(env, name));
}

/**
 * Returns the writer of `config.json`. conf replaces the file as a whole; members that a change does not name stay. It
 * has no lock of its own, and loads 30 ms of code, so that only changes of the configuration use it.
 */
async function userConfigWriter(env: Variables): Promise<(config: UserConfig) => void> {
  const { default: Store } = await import('conf');
  const path = configPath(env);
  return (config) => {
    try {
      const file: Conf = new Store({
        cwd: dirname(path),
        configName: 'config',
        projectName: 'gov',
        configFileMode: 0o600,
        clearInvalidConfig: false,
        serialize: (value) => `${JSON.stringify(value, null, 2)}\n`,
      });
      file.store = { ...file.store, currentContext: undefined, ...config };
    } catch (cause) {
      if (codeOf(cause) === '') throw cause;
      throw new CliError(exit.error, `cannot write ${path}: ${whyUnwritable(cause)}`, {
        code: 'WRITE_FAILED',
        cause,
      });
    }
  };
}

const write = (path: string, value: unknown): void =>
  writeWhole(path, Buffer.from(`${JSON.stringify(value, null, 2)}\n`), 0o600);

/** Runs `work` while no other process changes the files. Waits up to `lockWaitMs` for that. */
export async function locked<Value>(env: Variables, work: () => Value): Promise<Value> {
  const directory = dirname(configPath(env));
  makeDirectory(directory);
  const busy = (why: string): CliError =>
    new CliError(exit.conflict, `another process is changing ${directory}: ${why}`, {
      code: 'CONFIG_IN_USE',
    });
  const deadline = performance.now() + lockWaitMs;
  for (;;) {
    try {
      const release = takeLock(join(directory, 'lock'), busy);
      try {
        return work();
      } finally {
        release();
      }
    } catch (cause) {
      const isBusy = cause instanceof CliError && cause.code === 'CONFIG_IN_USE';
      if (!isBusy || performance.now() > deadline) throw cause;
      await pause(5 + Math.random() * 20);
    }
  }
}

function makeDirectory(directory: string): void {
  try {
    makeFolder(directory, 0o700);
  } catch (cause) {
    throw new CliError(exit.error, `cannot make ${directory}: ${whyUnwritable(cause)}`, {
      code: 'WRITE_FAILED',
      hint: 'GOV_CONFIG_DIR names another directory',
      cause,
    });
  }
}
