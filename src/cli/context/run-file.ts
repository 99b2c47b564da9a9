/**
 * Reads `run.json` of a data directory. Commands that only call a plane need no code of the host, whose reader does the
 * same. Tested by `test/cli/context/run-file.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovNetworkError } from '../../client/errors.ts';
import { parseRunFile, runFileName, type RunFile } from '../../core/planes/run-file.ts';
import { shellWord } from '../../core/shell-word.ts';

/** Returns no member if the plane does not serve, or this user may not read the file. */
export function readRunFile(dataDir: string): RunFile {
  try {
    return parseRunFile(readFileSync(join(dataDir, runFileName), 'utf8'));
  } catch {
    return {};
  }
}

/**
 * Returns the error of a directory that no process serves: as of a refused connection. The plane of another directory may
 * answer at the same address, and knows the same keys if one directory is a copy of the other.
 */
export function unserved(dataDir: string, url: string): GovNetworkError {
  const message = `could not reach ${new URL(url).origin}: no process serves ${dataDir}`;
  return new GovNetworkError('ECONNREFUSED', message, {
    retryable: true,
    hint: `gov plane serve --data ${shellWord(dataDir)}`,
  });
}
