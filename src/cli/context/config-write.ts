/**
 * Changes the user's configuration files under one lock, so that two processes do not lose each other's change. A crash
 * leaves the old file, and a lock that the next process takes over. Tested by `test/cli/context/config-write.test.ts`.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pause } from '../../client/retry.ts';
import { configPath, readUserConfig } from './config.ts';
import type { UserConfig, Variables } from './config.ts';
import { credentialsPath, readCredentials } from './credentials.ts';
import type { Credentials } from './credentials.ts';
import { CliError, exit } from '../program/exit.ts';
import { writeWhole } from '../terminal/output-file.ts';
import { whyUnwritable } from '../terminal/write-fault.ts';
import { takeLock } from '../../client/sending/lock.ts';

const lockWaitMs = 3000;

/** Replaces the configuration by the result of `change`. Errors: exit 6 if another process keeps the lock. */
export const updateUserConfig = (env: Variables, change: (config: UserConfig) => UserConfig): Promise<void> =>
  locked(env, () => writeUserConfig(env, change(readUserConfig(env))));

/** Contexts and the credentials that they refer to. Both change together. */
export interface UserState {
  readonly config: UserConfig;
  readonly credentials: Credentials;
}

/**
 * Changes both files, and drops credentials without a context. Writes the credentials first: a crash in between leaves
 * a credential without a context.
 */
export const updateUserState = (env: Variables, change: (state: UserState) => UserState): Promise<void> =>
  locked(env, () => {
    const { config, credentials } = change({
      config: readUserConfig(env),
      credentials: readCredentials(env),
    });
    const used = new Set(
      Object.values(config.contexts).map((each) => (each.kind === 'service' ? each.credential : undefined)),
    );
    const kept = Object.fromEntries(Object.entries(credentials).filter(([name]) => used.has(name)));
    write(credentialsPath(env), { credentials: kept });
    writeUserConfig(env, config);
  });

const writeUserConfig = (env: Variables, config: UserConfig): void => write(configPath(env), config);

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
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw new CliError(exit.error, `cannot make ${directory}: ${whyUnwritable(cause)}`, {
      code: 'WRITE_FAILED',
      hint: 'GOV_CONFIG_DIR names another directory',
      cause,
    });
  }
}
