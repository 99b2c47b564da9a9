/**
 * The version of a build, as `src/client/version.ts` describes it: the number of package.json, `-dev` while the changelog has no
 * heading for it, and as build metadata the commit and the database versions of this tree.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mainMigrations } from '../src/store/file/schema/tables.ts';
import { newestVersion } from '../src/store/postgres/store.ts';

export function buildVersion(project: string): string {
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string };
  const changelog = readFileSync(join(project, 'CHANGELOG.md'), 'utf8');
  const isReleased = changelog
    .split('\n')
    .some((line) => line.replace(/[[\]]/g, '').startsWith(`## ${version}`));
  const databases = [`db${mainMigrations.at(-1)?.version}`, `pg${newestVersion}`];
  return `${version}${isReleased ? '' : '-dev'}+${[...commitOf(project), ...databases].join('.')}`;
}

/** Nothing outside of a checkout. A tree with changes is not its commit. */
function commitOf(project: string): string[] {
  const git = (...words: string[]): string =>
    execFileSync('git', words, {
      cwd: project,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  try {
    // a folder inside the checkout of something else has that one's commits
    if (git('rev-parse', '--show-prefix') !== '') return [];
    const commit = git('rev-parse', '--short=8', 'HEAD');
    return git('status', '--porcelain', '--untracked-files=no') === '' ? [commit] : [commit, 'changed'];
  } catch {
    return [];
  }
}
