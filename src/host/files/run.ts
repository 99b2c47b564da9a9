/** Writes and reads `run.json` (`src/core/planes/run-file.ts`). Proven by `test/plane/lifecycle.test.ts`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseRunFile, runFileName, type RunFile } from '../../core/planes/run-file.ts';
import { replacePrivate } from './private.ts';

export const runFileOf = (dataDir: string): string => join(dataDir, runFileName);

export const writeRunFile = (path: string, facts: RunFile): void =>
  replacePrivate(path, `${JSON.stringify(facts)}\n`);

/** Returns no member if no process serves the directory, or this user may not read the file. */
export function readRunFile(dataDir: string): RunFile {
  try {
    return parseRunFile(readFileSync(runFileOf(dataDir), 'utf8'));
  } catch {
    return {};
  }
}
