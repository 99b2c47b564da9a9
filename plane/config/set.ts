/**
 * `gov plane config set`: changes how `plane.json` treats the configuration of the service. Checks the new file
 * before it replaces the old one. A crash leaves the old file or the new one. A serving plane reads the file at
 * its next start. Proven by `test/cli/context/plane-directory.test.ts`.
 */
import { join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { parseVerifierKey } from '../../src/core/note/signed.ts';
import { readPlaneFile, type PlaneSync } from '../../src/host/data/config.ts';
import { trustOf } from './trust.ts';
import { rewriteMembers } from '../../src/host/config/rewrite.ts';

/** Members to change. Null removes the limit. */
interface Changes extends Omit<PlaneSync, 'maxAgeSeconds'> {
  readonly maxAgeSeconds?: number | null;
}

/** Returns the new settings. VALIDATION_ERROR names the invalid member, and then nothing changed. */
export function setPlaneConfig(dataDir: string, { maxAgeSeconds, ...given }: Changes): PlaneSync {
  const path = join(dataDir, 'plane.json');
  for (const key of given.keys ?? []) parseVerifierKey(key);
  const before = readPlaneFile(path);
  const { maxAgeSeconds: limitBefore, ...others } = before.config ?? {};
  const limit = maxAgeSeconds === undefined ? limitBefore : (maxAgeSeconds ?? undefined);
  const config = { ...others, ...given, ...(limit === undefined ? {} : { maxAgeSeconds: limit }) };
  if (config.projectId !== undefined && config.keys === undefined && given.projectId !== undefined) {
    const detail = 'expected a verifier key with the project of the service; give --key too';
    throw new GovError('VALIDATION_ERROR', detail);
  }
  rewriteMembers(path, { config }, readPlaneFile);
  return config;
}

/** Whether the plane refuses every evaluation from its next start on: it has an age limit, and takes no configuration. */
export function refusesUntilConfigured(dataDir: string, { maxAgeSeconds, ...sync }: PlaneSync): boolean {
  const { environment } = readPlaneFile(join(dataDir, 'plane.json'));
  return (
    maxAgeSeconds !== undefined && sync.policies !== 'off' && trustOf(dataDir, sync, environment) === null
  );
}
