import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { controlPlaces, knownSecrets } from '../../../src/cli/sandbox/places.ts';
import { limits } from '../../../src/contract/limits.ts';
import { placesOf } from '../../../src/core/action/places.ts';

const folder = mkdtempSync(join(tmpdir(), 'places-'));

it('each control path is one of the canonical action', () => {
  for (const { path } of controlPlaces({ workspace: '/w', home: '/h' }))
    expect([path, placesOf(path, {})]).toEqual([
      path,
      expect.arrayContaining([path.endsWith('.envrc') ? 'secret' : 'control']),
    ]);
});

it('finds the secrets of a workspace by their names, and none in folders that others fill', () => {
  for (const name of ['a/b', 'node_modules/x', '.git']) mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['.env', '.env.example', 'a/b/key.pem', 'node_modules/x/test.pem', 'a/README.md'])
    writeFileSync(join(folder, name), '');
  const { paths, isCut } = knownSecrets({ workspace: folder, homes: [] });
  expect(paths.filter((path) => path.startsWith(folder))).toEqual([
    join(folder, '.env'),
    join(folder, 'a/b/key.pem'),
  ]);
  expect(isCut).toBe(false);
});

it('says that a workspace has more entries than it looked at', () => {
  const large = mkdtempSync(join(tmpdir(), 'places-'));
  for (let at = 0; at < limits.sandboxEntries; at += 1) mkdirSync(join(large, String(at)));
  expect(knownSecrets({ workspace: large, homes: [] }).isCut).toBe(false);
  mkdirSync(join(large, 'one-more'));
  expect(knownSecrets({ workspace: large, homes: [] }).isCut).toBe(true);
});
