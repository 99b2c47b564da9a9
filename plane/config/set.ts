/**
 * `gov plane config set`: changes how `plane.json` treats the configuration of the service. Checks the new file
 * before it replaces the old one. A crash leaves the old file or the new one. A serving plane reads the file at
 * its next start. Proven by `test/cli/context/plane-directory.test.ts`.
 */
import { join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import { readPlaneFile, type PlaneSync } from '../../src/host/data/config.ts';
import { rewriteMembers } from '../../src/host/data/rewrite.ts';

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
  rewriteMembers(path, { config }, readPlaneFile);
  return config;
}
