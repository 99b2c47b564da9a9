/** docs/reference/forward-formats.md names exactly the fields that the encoders write. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cefFields } from '../../src/core/forwards/cef.ts';
import { encodeLine, forwardFormats } from '../../src/core/forwards/encode.ts';
import { plainObject } from '../../src/core/forwards/json.ts';
import { ocsfEvent, ocsfVersions } from '../../src/core/forwards/ocsf.ts';
import { structuredFields } from '../../src/core/forwards/syslog.ts';
import { kinds } from '../core/forwards/samples.ts';
import { projectRoot } from '../paths.ts';

const text = readFileSync(join(projectRoot, 'docs/reference/forward-formats.md'), 'utf8');

/** The names in the first column of the table below a mark. */
function documented(format: string): string[] {
  const [, rest = ''] = text.split(`<!-- fields: ${format} -->`);
  const [table = ''] = rest.trim().split('\n\n');
  const cells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1] ?? '');
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)).toSorted();
}

const all = (names: Iterable<string>): string[] => [...new Set(names)].toSorted();

/** Names below a member, from all records that have it. */
const below = (objects: readonly object[], name: string): string[] =>
  all(objects.flatMap((each) => Object.keys((each as Record<string, object | undefined>)[name] ?? {})));

describe('the reference of forward formats', () => {
  const events = ocsfVersions.flatMap((ocsfVersion) =>
    kinds().map((record) => ocsfEvent(record, { ocsfVersion, version: '0.1.0' })),
  );

  it('names every member of JSON records', () => {
    expect(documented('json')).toEqual(all(kinds().flatMap((record) => Object.keys(plainObject(record)))));
  });

  it('names every attribute of OCSF events', () => {
    expect(documented('ocsf')).toEqual(all(events.flatMap((event) => Object.keys(event))));
  });

  it('names every member of metadata and unmapped of OCSF events', () => {
    const row = (name: string): string =>
      text.split('\n').find((line) => line.startsWith(`| \`${name}\` |`)) ?? '';
    for (const name of below(events, 'metadata').filter((each) => each !== 'original_event_uid'))
      expect(row('metadata')).toContain(`\`${name}\``);
    const unmapped = events.map(({ unmapped }) => unmapped as object);
    for (const name of below(unmapped, 'gov')) expect(row('unmapped')).toContain(`\`${name}\``);
  });

  it('names every key of CEF records', () => {
    expect(documented('cef')).toEqual(
      all(kinds().flatMap((record) => cefFields(record).map(([key]) => key))),
    );
  });

  it('names every parameter of the structured data', () => {
    expect(documented('syslog')).toEqual(
      all(kinds().flatMap((record) => structuredFields(record, 'sentence').map(([name]) => name))),
    );
  });

  it('every format writes one line', () => {
    for (const format of forwardFormats)
      for (const record of kinds())
        expect(encodeLine(record, { format, ocsfVersion: '1.9.0', version: '0.1.0' })).not.toContain('\n');
  });
});
