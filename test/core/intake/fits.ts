/** What every imported run must be, whichever format it came from: exactly what `POST /events` takes. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { Ajv } from 'ajv';
import { expect } from 'vitest';
import { importRuns, type ImportOptions } from '../../../src/core/intake/registry.ts';
import type { ImportedRun } from '../../../src/core/intake/run.ts';
import { decodeRequest } from '../../../src/core/intake/otlp/protobuf.ts';
import { decodeText, documents } from '../../../src/core/intake/source.ts';
import { EventInput } from '../../../src/contract/events.ts';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize, parseJson, type Json } from '../../../src/core/json/parse.ts';
import { parseTimestamp } from '../../../src/core/time.ts';
import { data, hasData } from '../../paths.ts';

const ajv = new Ajv({ strict: true, strictRequired: false, allErrors: true });
ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });
const valid = ajv.compile<unknown>(EventInput as object);

const importedAt = Date.UTC(2026, 0, 2, 3, 4, 5);

const bytes = (value: unknown): number => Buffer.byteLength(canonicalize(value as Json));
const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;

/** Fails where an event would be refused by the interface, or an id is used twice. */
export function expectToFit(runs: readonly ImportedRun[]): void {
  for (const { runId, events } of runs) {
    const ids = new Set<string | undefined>();
    for (const event of events) {
      if (!valid(event)) expect.fail(`${runId}: ${ajv.errorsText(valid.errors)}`);
      expect(event.runId).toBe(runId);
      expect(bytes(event)).toBeLessThanOrEqual(limits.eventBytes);
      expect(bytes(event.metadata)).toBeLessThanOrEqual(limits.metadataBytes);
      expect(bytes(event.actor)).toBeLessThanOrEqual(limits.partyBytes);
      expect(depth(event.metadata)).toBeLessThanOrEqual(limits.metadataDepth);
      expect(Object.keys(event.metadata ?? {}).every((key) => /^[a-z][A-Za-z]*$/.test(key))).toBe(true);
      // strict reading gives back what was made: no lone surrogate, no number that loses digits
      expect(parseJson(Buffer.from(JSON.stringify(event)))).toEqual(event);
      ids.add(event.clientEventId);
    }
    expect(ids.size).toBe(events.length);
  }
}

/** Imports one text as the file `sourceName`. */
export const importText = (
  text: string,
  options: Partial<ImportOptions> & { sourceName: string },
): ImportedRun[] => [
  ...importRuns(documents(text, options.sourceName), { format: 'auto', importedAt, ...options }),
];

export const importValue = (value: unknown, options: Partial<ImportOptions> = {}): ImportedRun[] =>
  importText(JSON.stringify(value), { sourceName: 'source.json', ...options });

/** The runs of every file of a data folder that has this ending; none where there is no data. */
export function importFolder(folder: string, ending: RegExp): Map<string, ImportedRun[]> {
  if (!hasData) return new Map();
  const names = readdirSync(data(folder)).filter((name) => ending.test(name));
  return new Map(
    names.map((name) => [
      name,
      importText(readFileSync(data(`${folder}/${name}`), 'utf8'), { sourceName: name }),
    ]),
  );
}

export const readData = (name: string): string => readFileSync(data(name), 'utf8');

/** Sum of a count over runs. */
export const total = (runs: Iterable<ImportedRun>, count: (run: ImportedRun) => number): number =>
  [...runs].reduce((sum, run) => sum + count(run), 0);

export const ofType = (runs: Iterable<ImportedRun>, eventType: string): ImportedRun['events'] =>
  [...runs].flatMap((run) => run.events.filter((event) => event.eventType === eventType));

// oxlint-disable-next-line typescript/no-explicit-any -- documents of other programs, read member by member
export type Loose = any;

/** Metadata of an event with every member in reach of a test. */
export const meta = (event: { metadata?: unknown } | undefined): Loose => event?.metadata ?? {};

/** The runs of one file of the data folder, read as `events push` reads it. */
export function importFile(name: string): ImportedRun[] {
  const bytes = readFileSync(data(name));
  const request = decodeRequest(bytes);
  const sourceName = basename(name);
  if (request === undefined) return importText(decodeText(bytes).text, { sourceName });
  return [...importRuns([{ value: request, line: 1 }], { format: 'auto', importedAt, sourceName })];
}

/** Event types of a run, in order. */
export const types = (run: ImportedRun | undefined): string[] =>
  (run?.events ?? []).map(({ eventType }) => eventType);
