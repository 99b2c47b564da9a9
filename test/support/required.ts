/**
 * Once per run of the tests: names the test files that are skipped in part because the official vectors, the recorded
 * runs or the recorded cases are missing. With GOV_TEST_REQUIRED=1 a missing folder fails the run.
 */
import { globSync, readFileSync } from 'node:fs';
import { cases, data, hasCases, hasData, hasVectors, projectRoot, vectors } from '../paths.ts';

export interface Folder {
  /** The name by which test files import it from test/paths.ts. */
  readonly guard: 'hasVectors' | 'hasData' | 'hasCases';
  readonly isThere: boolean;
  readonly path: string;
  readonly what: string;
  /** Where it is looked for: a variable, then a path relative to the project. */
  readonly from: readonly [variable: string, beside: string];
}

const folders: readonly Folder[] = [
  {
    guard: 'hasVectors',
    isThere: hasVectors,
    path: vectors(''),
    what: 'the official vectors',
    from: ['GOV_VECTORS', '../shared/vectors'],
  },
  {
    guard: 'hasData',
    isThere: hasData,
    path: data(''),
    what: 'the recorded runs',
    from: ['GOV_DATA', '../shared/data'],
  },
  {
    guard: 'hasCases',
    isThere: hasCases,
    path: cases(''),
    what: 'the recorded cases',
    from: ['GOV_CASES', '../shared/cases'],
  },
];

/** Whether a source imports the guard from test/paths.ts. */
export const imports = (source: string, guard: Folder['guard']): boolean =>
  [...source.matchAll(/^import\s*\{([^}]*)\}\s*from\s*'[^']*\/paths\.ts'/gm)].some(([, names = '']) =>
    names.split(',').some((name) => name.trim().split(/\s/)[0] === guard),
  );

/** One line for each file that imports the guard of the folder. */
export const skippedLines = (folder: Folder, sources: ReadonlyMap<string, string>): string[] =>
  [...sources]
    .filter(([, source]) => imports(source, folder.guard))
    .map(([path]) => `skipped in part, needs ${folder.what} (${folder.from.join(', ')}): ${path}`)
    .toSorted();

/** Why a run that requires the folder fails. */
export const requiredMessage = ({ what, path, from: [variable, beside] }: Folder): string =>
  `GOV_TEST_REQUIRED=1: expected ${what} at ${path}, got no such folder; ` +
  `put them at ${beside}, name their folder in ${variable}, or unset GOV_TEST_REQUIRED to skip what needs them`;

/** The test files that this kind of run takes: the long ones alone, or all but these. */
function testSources(): Map<string, string> {
  const isLong = process.env['GOV_TEST_LONG'] !== undefined;
  const paths = globSync('test/**/*.test.ts', { cwd: projectRoot })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.long.test.ts') === isLong);
  return new Map(paths.map((path) => [path, readFileSync(`${projectRoot}/${path}`, 'utf8')]));
}

export const setup = (): void => {
  const missing = folders.filter(({ isThere }) => !isThere);
  if (missing.length === 0) return;
  if (process.env['GOV_TEST_REQUIRED'] === '1') throw new Error(missing.map(requiredMessage).join('\n'));
  const sources = testSources();
  const lines = missing.flatMap((folder) => skippedLines(folder, sources));
  process.stderr.write(`${lines.join('\n')}\n`);
};
