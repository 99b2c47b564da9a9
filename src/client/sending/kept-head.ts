/**
 * The largest tree that a log proved to be an extension of all receipts, in `kept.json` of the spool. Later trees have to
 * extend it too. One that does not is remembered beside it. Tested by `test/client/receipts/keeper.test.ts`.
 */
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject } from '../../core/json/object.ts';
import { parseJson } from '../../core/json/parse.ts';
import { syncDirectory, writeAll } from '../../files/durable.ts';

export interface KeptHeads {
  /** Signed note of the newest tree; null before the first one. */
  readonly newest: string | null;
  /** Signed notes that a later tree did not extend. */
  readonly contradicted: readonly string[];
}

export const keptPath = ({ directory }: { readonly directory: string }): string =>
  join(directory, 'kept.json');

const mostContradicted = 8;
const none: KeptHeads = { newest: null, contradicted: [] };

/** A file that another program changed counts as missing: it only saves questions. */
export function readKeptHeads(path: string): KeptHeads {
  if (!existsSync(path)) return none;
  try {
    const value = parseJson(readFileSync(path));
    if (!isObject(value)) return none;
    const { newest, contradicted } = value;
    if (newest !== null && typeof newest !== 'string') return none;
    if (!Array.isArray(contradicted)) return none;
    return { newest, contradicted: contradicted.filter((note) => typeof note === 'string') };
  } catch {
    return none;
  }
}

/** Durable when it returns. A crash leaves the file of before. Throws the system's error. */
export function writeKeptHeads(path: string, { newest, contradicted }: KeptHeads): void {
  const draft = `${path}.draft`;
  const text = JSON.stringify({ newest, contradicted: contradicted.slice(-mostContradicted) });
  const file = openSync(draft, 'w', 0o600);
  try {
    writeAll(file, Buffer.from(text));
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncDirectory(dirname(path));
}
