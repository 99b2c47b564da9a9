/**
 * The Go programs that check what this project writes (`test/interop/go`): one with nothing but Go's standard library,
 * one with golang.org/x/mod/sumdb, where the formats come from. Debian has both: golang-go, golang-golang-x-mod-dev.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { projectRoot } from '../../paths.ts';
import { has } from './exported.ts';

export interface GoProgram {
  readonly name: string;
  readonly hasXmod: boolean;
  /** Why it cannot be built here. */
  readonly skip: string | null;
  /** Into a folder; the path of the executable. */
  build(folder: string): string;
}

const goPath = process.env['GOV_GOPATH'] ?? '/usr/share/gocode';
const hasGo = has('go');
const xmodIsHere = hasGo && existsSync(join(goPath, 'src/golang.org/x/mod/sumdb/tlog/tlog.go'));

const program = (name: string, tags: string, skip: string | null): GoProgram => ({
  name,
  hasXmod: tags === 'xmod',
  skip,
  build: (folder) => {
    const file = join(folder, `check-${tags}`);
    const { stderr } = spawnSync('go', ['build', '-tags', tags, '-o', file, '.'], {
      cwd: join(projectRoot, 'test/interop/go'),
      env: { ...process.env, GO111MODULE: 'off', GOPATH: goPath, GOPROXY: 'off' },
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return file;
  },
});

export const goPrograms: readonly GoProgram[] = [
  program('Go’s standard library', '', hasGo ? null : 'no go'),
  program('golang.org/x/mod', 'xmod', xmodIsHere ? null : `no go, or no x/mod in ${goPath}`),
];
