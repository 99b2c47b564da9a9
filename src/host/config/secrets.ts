/**
 * Secrets of a configuration. They come from the environment or from files that only their owner reads. Flags
 * take no secrets, because every user of the machine can list them. No message shows a secret. Proven by
 * `test/host/service/config.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { refuseReadableByOthers } from '../files/private.ts';
import { invalid, type SettingValue, type Variables } from './layers.ts';

/** Returns the secret in the variable NAME, or in the file that NAME_FILE names. */
export function secretOf(env: Variables, name: string): SettingValue | null {
  const value = env[name];
  if (value !== undefined && value !== '') return { value, from: name };
  const path = env[`${name}_FILE`];
  return path === undefined || path === '' ? null : secretFile(path);
}

/** Returns the secret in a file. FORBIDDEN where others may read it. */
export function secretFile(path: string): SettingValue {
  let value: string;
  try {
    value = readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new GovError(
      'VALIDATION_ERROR',
      `expected a secret in the file ${resolve(path)}, which cannot be read`,
      {
        cause,
      },
    );
  }
  refuseReadableByOthers(path);
  if (value === '') throw invalid(path, 'a secret, got an empty file');
  return { value, from: path };
}

/**
 * The database URL, or null for SQLite. Sources in order: `--database`, GOV_DATABASE, GOV_DATABASE_FILE,
 * service.json.
 */
export function databaseOf(
  flag: string | undefined,
  env: Variables,
  file: SettingValue<string | null>,
): string | null {
  if (flag !== undefined) {
    const checked = checkDatabase({ value: flag, from: '--database' });
    if (new URL(checked).password === '') return checked;
    throw invalid('--database', 'no password, which every user could list; put the URL into GOV_DATABASE');
  }
  const secret = secretOf(env, 'GOV_DATABASE');
  if (secret !== null) return checkDatabase(secret);
  return file.value === null ? null : checkDatabase({ value: file.value, from: file.from });
}

/** Omits the URL from the error, because it may contain a password. */
function checkDatabase({ value, from }: SettingValue): string {
  if (URL.canParse(value) && /^postgres(?:ql)?:$/.test(new URL(value).protocol)) return value;
  throw invalid(from, 'a URL such as postgres://gov_serving@127.0.0.1:5432/gov, got another text');
}
