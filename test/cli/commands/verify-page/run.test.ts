import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../../paths.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

const page = readFileSync(join(projectRoot, 'dist/verify.html'), 'utf8');

it('gov verify-page writes the built page to standard output, or to a new file', async () => {
  const cwd = emptyDirectory();
  expect(await govHere(['verify-page'], { cwd })).toMatchObject({ code: 0, stdout: page });
  const argv = ['verify-page', '-O', 'verify.html'];
  expect((await govHere(argv, { cwd })).code).toBe(0);
  expect(readFileSync(join(cwd, 'verify.html'), 'utf8')).toBe(page);
  const again = await govHere(argv, { cwd });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('exists already')]);
  expect((await govHere([...argv, '--force'], { cwd })).code).toBe(0);
});
