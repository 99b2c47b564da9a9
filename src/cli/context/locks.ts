/**
 * Locks of an administrator: settings that nobody of this machine can override, in `/etc/gov/policy.json`:
 * `{"locks": {"baseUrl": "https://gov.example.com/api/v1", "output": "json"}}`. No variable moves the file. A file that is
 * broken, or that every user may write or replace, ends every command that reads settings.
 * Tested by `test/cli/context/locks.test.ts`.
 */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isObject } from '../../core/json/object.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { kebab, unreadable } from '../program/flags.ts';
import type { Io } from '../terminal/io.ts';
import { readObject, storable } from './config.ts';
import { fullAddress } from './definition.ts';
import { faultIn } from './stored.ts';

export const lockable = ['baseUrl', ...storable] as const;
type Lockable = (typeof lockable)[number];
export type Locks = Readonly<Partial<Record<Lockable, string>>>;

export const policyPath = ({ policyFile = '/etc/gov/policy.json' }: Pick<Io, 'policyFile'>): string =>
  policyFile;

/** Returns no locks where there is no file. Errors: exit 2 for another form; exit 4 if every user may write the file. */
export function readLocks(io: Pick<Io, 'policyFile' | 'now'>): Locks {
  const path = policyPath(io);
  const file = readObject(path);
  if (file === undefined) return {};
  refuseWritable(path);
  const { locks, ...others } = file;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined || !isObject(locks))
    throw usage(
      `${path}: expected {"locks": {"output": "json"}}, got ${unknown === undefined ? 'another form' : JSON.stringify(unknown)}`,
      administrator,
    );
  for (const [name, value] of Object.entries(locks)) check(path, { name, value, now: io.now() });
  return locks as Locks; // checked above
}

const administrator = 'ask the administrator of this machine';

function check(
  path: string,
  { name, value, now }: { readonly name: string; readonly value: unknown; readonly now: number },
): void {
  const key = lockable.find((each) => each === name);
  if (key === undefined || typeof value !== 'string')
    throw usage(
      `${path}: expected texts for ${lockable.join(', ')}, got ${JSON.stringify(name)}`,
      administrator,
    );
  const fault = key === 'baseUrl' ? null : faultIn(key, value, now);
  if (fault !== null) throw usage(`${path}: ${name} is ${fault}`, administrator);
  if (key === 'baseUrl') fullAddress(value);
}

function refuseWritable(path: string): void {
  for (const each of [path, dirname(path)]) refuseWorldWritable(each);
}

function refuseWorldWritable(path: string): void {
  let mode: number;
  try {
    ({ mode } = statSync(path));
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (process.platform === 'win32' || (mode & 0o002) === 0) return;
  const found = (mode & 0o777).toString(8).padStart(4, '0');
  throw new CliError(
    exit.denied,
    `${path}: expected that only administrators may write it, got mode ${found}`,
    {
      code: 'POLICY_WRITABLE',
      hint: `as root: chmod o-w ${path}`,
    },
  );
}

/** Errors: exit 4 for a flag that names another value than the lock. */
export function refuseFlag(name: Lockable, given: string, { locks, io }: { locks: Locks; io: Io }): void {
  const locked = locks[name];
  if (locked === undefined || locked === given) return;
  throw new CliError(
    exit.denied,
    `--${kebab(name)}: expected ${locked}, which ${policyPath(io)} locks, got ${JSON.stringify(given.slice(0, 64))}`,
    { code: 'LOCKED', hint: administrator },
  );
}

/** Errors: exit 4 for an address of another service or environment than the lock names. */
export function refuseAddress(baseUrl: string, { locks, io }: { locks: Locks; io: Io }): void {
  const locked = locks.baseUrl;
  if (locked === undefined || fullAddress(locked) === fullAddress(baseUrl)) return;
  throw new CliError(
    exit.denied,
    `expected the address ${locked}, which ${policyPath(io)} locks, got ${baseUrl}`,
    { code: 'LOCKED', hint: administrator },
  );
}
