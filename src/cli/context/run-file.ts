/**
 * Reads `run.json` of a data directory. Commands that only call a plane need no code of the host, whose reader does the
 * same. Tested by `test/cli/context/run-file.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, runFileName, type RunFile } from '../../core/plane/run-file.ts';

/** Returns no member if the plane does not serve, or this user may not read the file. */
export function readRunFile(dataDir: string): RunFile {
  try {
    return parseRunFile(readFileSync(join(dataDir, runFileName), 'utf8'));
  } catch {
    return {};
  }
}
