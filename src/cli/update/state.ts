/**
 * What the tool knows of newer releases: `update.json` in its state directory. Two processes may write at once; the last
 * one wins, which costs a second question or a second notice at most. Tested by `test/cli/update/notice.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { version } from '../../client/version.ts';
import { isObject } from '../../core/json/object.ts';
import type { Variables } from '../context/config.ts';
import { storedSettings } from '../context/settings.ts';
import { readSetting } from '../context/stored.ts';
import { stateDirectory } from '../push/import-time.ts';
import { writeWhole } from '../terminal/output-file.ts';

export interface UpdateState {
  /** Unix milliseconds of the last question to the registry, answered or not; 0: none. */
  readonly askedMs: number;
  /** Unix milliseconds of the last notice; 0: none. */
  readonly toldMs: number;
  /** The newest release; null: unknown. */
  readonly latest: string | null;
}

/** A release, such as 1.2.3. A registry's other texts never reach a terminal. */
export const releasePattern = /^\d{1,6}\.\d{1,6}\.\d{1,6}$/;

const pathOf = (env: Variables): string => join(stateDirectory(env), 'update.json');

/** Returns the state; that of a first start for a file that is missing or broken. */
export function readUpdateState(env: Variables): UpdateState {
  try {
    const value: unknown = JSON.parse(readFileSync(pathOf(env), 'utf8'));
    const { askedMs, toldMs, latest } = isObject(value) ? value : {};
    return {
      askedMs: typeof askedMs === 'number' ? askedMs : 0,
      toldMs: typeof toldMs === 'number' ? toldMs : 0,
      latest: typeof latest === 'string' && releasePattern.test(latest) ? latest : null,
    };
  } catch {
    return { askedMs: 0, toldMs: 0, latest: null };
  }
}

/** Throws the system's error if the file cannot be written. */
export function changeUpdateState(env: Variables, change: Partial<UpdateState>): void {
  const path = pathOf(env);
  makeFolder(dirname(path), 0o700);
  writeWhole(path, Buffer.from(`${JSON.stringify({ ...readUpdateState(env), ...change })}\n`), 0o600);
}

/** Returns whether the release is newer than this one. */
export function isNewer(release: string): boolean {
  const [theirs, ours] = [release, version].map((text) => text.split('.').map(Number));
  const at = [0, 1, 2].find((index) => theirs?.[index] !== ours?.[index]);
  return at !== undefined && (theirs?.[at] ?? 0) > (ours?.[at] ?? 0);
}

/**
 * Returns the registry to ask; null if the user did not ask for notices, or named no registry. There is no default one: a
 * stranger may own the name of this package there. Errors: exit 2 for a broken configuration file.
 */
export function registryOf(env: Variables, now: number): URL | null {
  const found = storedSettings(env);
  const text = (key: 'updateNotice' | 'updateRegistry'): string | undefined =>
    found.map(({ settings }) => settings[key]).find((each) => each !== undefined);
  const [notice, registry] = [text('updateNotice'), text('updateRegistry')];
  if (notice !== 'true' || registry === undefined) return null;
  return new URL(String(readSetting('updateRegistry', registry, now)));
}
