import { describe, expect, it } from 'vitest';
import { type Folder, imports, requiredMessage, skippedLines } from './required.ts';

const folder: Folder = {
  guard: 'hasVectors',
  isThere: false,
  path: '/srv/vectors/',
  what: 'the official vectors',
  from: ['GOV_VECTORS', '../shared/vectors'],
};

describe('folders that tests need', () => {
  it.each([
    ["import { hasVectors, vectors } from '../../paths.ts';", true],
    ["import {\n  vectors,\n  hasVectors as has,\n} from '../paths.ts';", true],
    ["import { hasData } from '../paths.ts';", false],
    ["import { projectRoot } from '../paths.ts';\nconst hasVectors = true;", false],
    ["import { hasVectors } from './other.ts';", false],
  ])('the check of %j for an import of hasVectors from test/paths.ts returns %j', (source, expected) => {
    expect(imports(source, 'hasVectors')).toBe(expected);
  });

  it('one line names each test file that a missing folder skips in part', () => {
    const guarded = "import { hasVectors } from '../paths.ts';";
    const sources = new Map([
      ['test/core/b.test.ts', guarded],
      ['test/core/c.test.ts', "import { hasData } from '../paths.ts';"],
      ['test/core/a.test.ts', guarded],
    ]);
    expect(skippedLines(folder, sources)).toEqual([
      'skipped in part, needs the official vectors (GOV_VECTORS, ../shared/vectors): test/core/a.test.ts',
      'skipped in part, needs the official vectors (GOV_VECTORS, ../shared/vectors): test/core/b.test.ts',
    ]);
  });

  it('a run that requires a missing folder fails and says what was expected and what to do', () => {
    expect(requiredMessage(folder)).toBe(
      'GOV_TEST_REQUIRED=1: expected the official vectors at /srv/vectors/, got no such folder; ' +
        'put them at ../shared/vectors, name their folder in GOV_VECTORS, or unset GOV_TEST_REQUIRED to skip what needs them',
    );
  });
});
