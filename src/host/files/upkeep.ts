/**
 * `upkeep.json` of a data directory: when `gov log fsck` and `gov plane backup` last ended, and what they found. Both are
 * commands of their own, so the serving process learns of them here. It is a convenience and proves nothing.
 * Proven by `test/plane/serve/upkeep.test.ts`.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Upkeep } from '../../service/hosting/upkeep.ts';
import { replacePrivate } from './private.ts';

export type KeptUpkeep = Pick<Upkeep, 'fsck' | 'backup'>;

const upkeepFile = 'upkeep.json';
const nothing: KeptUpkeep = { fsck: null, backup: null };

/** A missing or unreadable file says nothing. */
export function readUpkeep(dataDir: string): KeptUpkeep {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, upkeepFile), 'utf8'));
    // written by `noteUpkeep`
    return typeof value === 'object' && value !== null
      ? { ...nothing, ...(value as Partial<KeptUpkeep>) }
      : nothing;
  } catch {
    return nothing;
  }
}

/** Writes nothing into a directory that is a backup, that serves nothing, or that this user may not change. */
export function noteUpkeep(dataDir: string, change: Partial<KeptUpkeep>): void {
  const has = (name: string): boolean => existsSync(join(dataDir, name));
  if (has('manifest.json') || (!has('plane.json') && !has('service.json'))) return;
  try {
    const kept = { ...readUpkeep(dataDir), ...change };
    replacePrivate(join(dataDir, upkeepFile), `${JSON.stringify(kept)}\n`);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    // a check of a read-only directory, or on a full disk, is worth as much without its note
  }
}

/** Whether the directory of a backup still has its manifest. */
export function isPresent({ out, manifestHash }: NonNullable<Upkeep['backup']>): boolean {
  try {
    return manifestHashOf(out) === manifestHash;
  } catch {
    return false;
  }
}

export const manifestHashOf = (out: string): string =>
  createHash('sha256')
    .update(readFileSync(join(out, 'manifest.json')))
    .digest('hex');
