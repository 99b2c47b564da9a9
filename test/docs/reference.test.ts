/** The generated reference pages say what the code says: run `npm run docs` after a change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { referencePages } from '../../scripts/docs.ts';
import { projectRoot } from '../paths.ts';

it.each([...referencePages()])('the stored page %s is exactly what `npm run docs` writes', (path, text) => {
  expect(readFileSync(join(projectRoot, path), 'utf8')).toBe(text);
});
