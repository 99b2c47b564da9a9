/**
 * A change of what importers read needs a new importerVersion: it alone tells a changed gov from a changed recording when a
 * file is imported again. A golden file has, for the current version, the hash of the events of each recording of the corpus.
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { EventInput } from '../../../src/contract/events.ts';
import { importRuns } from '../../../src/core/intake/registry.ts';
import { importerVersion } from '../../../src/core/intake/run.ts';
import { documents } from '../../../src/core/intake/source.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { projectRoot } from '../../paths.ts';

const golden = 'test/golden/importers.json';
const corpus = 'test/core/intake/corpus';

/** What importers of one version made of the corpus: the SHA-256 of the events of each recording, by its name. */
interface Reading {
  readonly importerVersion: number;
  readonly recordings: Readonly<Record<string, string>>;
}

/** Without the version, and without times of the import, which differ although the recording is read alike. */
function readAlike({ timestamp, metadata = {}, ...event }: EventInput): object {
  const { importerVersion: _version, ...rest } = metadata;
  return { ...event, metadata: rest, ...(rest['timestampSource'] === 'import' ? {} : { timestamp }) };
}

function readingHash(name: string): string {
  const text = readFileSync(join(projectRoot, corpus, name), 'utf8');
  const runs = importRuns(documents(text, name), { format: 'auto', importedAt: 0, sourceName: name });
  const events = [...runs].flatMap((run) => run.events.map(readAlike));
  return hash('sha256', canonicalize(JSON.parse(JSON.stringify(events)) as Json), 'hex');
}

const current: Reading = {
  importerVersion,
  recordings: Object.fromEntries(
    readdirSync(join(projectRoot, corpus))
      .filter((name) => !name.endsWith('.balance.json'))
      .toSorted()
      .map((name) => [name, readingHash(name)]),
  ),
};

/** Returns why a reading may not stand under its version; undefined: it may. Recordings may be added to a version. */
function faultOf(noted: Reading, now: Reading): string | undefined {
  const record = `GOLDEN=1 scripts/with-node vitest run test/core/intake/importer-version.test.ts`;
  if (now.importerVersion < noted.importerVersion)
    return `importerVersion fell from ${noted.importerVersion} to ${now.importerVersion}: it only rises`;
  if (now.importerVersion > noted.importerVersion) return undefined;
  const changed = Object.keys(noted.recordings).filter(
    (name) => now.recordings[name] !== noted.recordings[name],
  );
  return changed.length === 0
    ? undefined
    : `what importers read has changed: raise importerVersion in src/core/intake/run.ts and run "${record}" to record the new hash (${changed.join(', ')}; if you changed that recording itself, add it under another name)`;
}

describe('the version of the importers', () => {
  it('rises when they read a recording of the corpus otherwise', () => {
    const path = join(projectRoot, golden);
    const noted: Reading = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : current;
    const fault = faultOf(noted, current);
    if (fault !== undefined) expect.fail(fault);
    if (process.env['GOLDEN'] === '1') writeFileSync(path, `${JSON.stringify(current, null, 2)}\n`);
    expect(current, `run it with GOLDEN=1 to record new recordings, or the new version`).toEqual(
      JSON.parse(readFileSync(path, 'utf8')),
    );
  });

  const noted: Reading = { importerVersion: 7, recordings: { 'a.json': '1' } };
  it.each([
    ['another hash for the same version', { importerVersion: 7, recordings: { 'a.json': '2' } }, 'raise'],
    ['a recording that is gone', { importerVersion: 7, recordings: {} }, 'raise'],
    ['a version that fell', { importerVersion: 6, recordings: { 'a.json': '2' } }, 'only rises'],
  ])('%s is refused, also with GOLDEN=1', (_, now, said) => {
    expect(faultOf(noted, now)).toContain(said);
  });

  it.each([
    ['a further recording', { importerVersion: 7, recordings: { 'a.json': '1', 'b.json': '3' } }],
    ['another hash for a higher version', { importerVersion: 8, recordings: { 'a.json': '2' } }],
  ])('%s is recorded', (_, now) => {
    expect(faultOf(noted, now)).toBeUndefined();
  });
});
