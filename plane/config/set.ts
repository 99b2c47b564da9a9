/**
 * `gov plane config set`: changes how `plane.json` treats the configuration of the service. Checks the new file
 * before it replaces the old one. A crash leaves the old file or the new one. A serving plane reads the file at
 * its next start. Proven by `test/cli/context/plane-directory.test.ts`.
 */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import { readPlaneFile, type PlaneSync } from '../../src/host/data/config.ts';
import { syncDirectory, writePrivate } from '../../src/host/data/files.ts';
import { editedText } from '../../src/core/text.ts';

/** Returns the new settings. VALIDATION_ERROR names the invalid member, and then nothing changed. */
export function setPlaneConfig(dataDir: string, given: PlaneSync): PlaneSync {
  const path = join(dataDir, 'plane.json');
  for (const key of given.keys ?? []) parseVerifierKey(key);
  const before = readPlaneFile(path);
  const config = { ...before.config, ...given };
  if (config.projectId !== undefined && config.keys === undefined && given.projectId !== undefined) {
    const detail = 'expected a verifier key with the project of the service; give --key too';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  // the raw file, with members that only later releases know
  const file = JSON.parse(editedText(readFileSync(path, 'utf8'))) as Record<string, unknown>;
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
