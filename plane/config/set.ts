/**
 * `gov plane config set`: what `plane.json` says of the configuration that comes from the service. The file is the old
 * one or the new one, and the new one is checked before it is put in place; a serving plane reads it at its next start.
 * Proven by `test/cli/context/plane-directory.test.ts`.
 */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import { readPlaneFile, type PlaneSync } from '../../src/host/data/config.ts';
import { syncDirectory, writePrivate } from '../../src/host/data/files.ts';

/** What the file says of it then. VALIDATION_ERROR names what is at fault; then nothing was changed. */
export function setPlaneConfig(dataDir: string, given: PlaneSync): PlaneSync {
  const path = join(dataDir, 'plane.json');
  for (const key of given.keys ?? []) parseVerifierKey(key);
  const before = readPlaneFile(path);
  const config = { ...before.config, ...given };
  if (config.projectId !== undefined && config.keys === undefined && given.projectId !== undefined) {
    const detail = 'expected the verifier key of the service beside its project; give --key too';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  // as it stands, with members that only later releases know of
  const file = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  const fresh = `${path}.${process.pid}.tmp`;
  rmSync(fresh, { force: true });
  writePrivate(fresh, `${JSON.stringify({ ...file, config }, null, 2)}\n`);
  try {
    readPlaneFile(fresh);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
  return config;
}
