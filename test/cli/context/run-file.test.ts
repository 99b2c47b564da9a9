import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readRunFile } from '../../../src/cli/context/run-file.ts';
import { emptyDirectory } from '../support/tool.ts';

it('readRunFile has no member where no plane serves, and those of the file where one does', () => {
  const dataDir = emptyDirectory();
  expect(readRunFile(dataDir)).toEqual({});
  writeFileSync(join(dataDir, 'run.json'), '{"pid":7}');
  expect(readRunFile(dataDir)).toEqual({ pid: 7 });
});
