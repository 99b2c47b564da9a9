/** Exports with proof show that no row of their filters is missing; what leaves rows out is refused without a service. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportFilters } from '../../../src/contract/exports.ts';
import type { FilterAnswer } from '../../../src/core/exports/answer.ts';
import { exportRowText, readRow, type ReadRow } from '../../../src/core/exports/artifact.ts';
import { verifyExport } from '../../../src/core/exports/verify.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import { subtreesOf } from '../../../src/core/merkle/multi-proof.ts';
import { parseTrust, type Trust } from '../../../src/core/note/trust.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { exportEnd } from '../support/filled.ts';

/** Events of two runs and types over three days, which the client's clock mixes. */
const recorded = Array.from({ length: 60 }, (_, n) =>
  event({
    runId: n % 3 === 0 ? 'third' : 'other',
    eventType: n % 4 === 0 ? 'tool.call' : 'agent.step',
    timestamp: `2026-02-0${1 + ((n * 5) % 3)}T${String((n * 7) % 24).padStart(2, '0')}:10:00Z`,
  }),
);

const asked: readonly (readonly [string, ExportFilters])[] = [
  ['all events', {}],
  ['a run', { runId: 'third' }],
  ['a type', { eventType: 'tool.call' }],
  ['a period', { startTime: '2026-02-01T12:00:00Z', endTime: '2026-02-03T06:00:00Z' }],
  ['a type in a period', { eventType: 'agent.step', startTime: '2026-02-02T12:00:00Z' }],
  ['a type in a run', { runId: 'other', eventType: 'tool.call' }],
  ['a period of a run', { runId: 'other', endTime: '2026-02-02T12:00:00Z' }],
];

interface Parts {
  readonly head: string;
  readonly rows: readonly ReadRow[];
  readonly tail: { manifest: Record<string, Json>; proof: Record<string, Json> };
}

function partsOf(bytes: Buffer): Parts {
  const [head = '', ...lines] = bytes.toString('utf8').trimEnd().split('\n');
  const rows = lines.slice(0, -1).map((line) => readRow(line.replace(/,$/, ''))!);
  return { head, rows, tail: JSON.parse(`{${lines.at(-1)!.slice(2)}`) };
}

const textOf = ({ head, rows, tail }: Parts): Buffer => {
  const { completeness, ...proof } = tail.proof;
  const answer = completeness === undefined ? '' : `,"completeness":${canonicalize(completeness)}`;
  const end = `],"manifest":${JSON.stringify(tail.manifest)},"proof":${JSON.stringify(proof).slice(0, -1)}${answer}}}`;
  const texts = rows.map((each) => exportRowText(each.row, true, each));
  return Buffer.from(`${head}\n${texts.join(',\n')}${rows.length > 0 ? '\n' : ''}${end}\n`);
};

describe.each(engines)('exports of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let other: Tenant;
  let below: Below;
  let trust: Trust;

  async function start(name: string): Promise<Tenant> {
    const started = await service.signUp(name);
    await started.call('POST', '/events/batch', { body: { events: recorded } });
    return started;
  }
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await start('ada');
    other = await start('bob');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
    const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n');
    trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
  });
  afterAll(() => service.end());

  async function exported(filters: ExportFilters, by = tenant, resource = 'audit_events') {
    const body = { resource, format: 'json', filters, includeProof: true };
    const created = await by.call('POST', '/exports', { body });
    return exportEnd(by.call, created.body.exportId);
  }
  async function download(filters: ExportFilters, by = tenant, resource?: string): Promise<Buffer> {
    const made = await exported(filters, by, resource);
    expect(made).toMatchObject({ status: 'completed', errorSummary: null });
    return (await by.call('GET', `/exports/${made.exportId}/download`)).bytes;
  }
  async function verdict(bytes: Uint8Array) {
    const { verified, code, notes, checks } = await verifyExport(
      (async function* () {
        yield bytes;
      })(),
      trust,
    );
    return { verified, code, notes, completeness: checks.find(({ id }) => id === 'completeness')! };
  }
  /** The same file without a row, with the hash of its leaf in the gap. */
  async function without(parts: Parts, at: number): Promise<Parts> {
    const hashes = (await below.records()).map(({ record }) => leafHash(record));
    const kept = parts.rows.toSpliced(at, 1);
    const gap = (from: number, to: number) =>
      subtreesOf(from, to).map(({ level, index }) =>
        merkleRoot(hashes.slice(index * 2 ** level, (index + 1) * 2 ** level)),
      );
    let next = 0;
    const rows = kept.map((row) => {
      const changed = { ...row, gap: gap(next, row.leaf.index) };
      next = row.leaf.index + 1;
      return changed;
    });
    const { manifest, proof } = parts.tail;
    const counts = {
      firstSequence: rows[0]?.leaf.index ?? null,
      lastSequence: rows.at(-1)?.leaf.index ?? null,
      rowCount: rows.length,
    };
    const last = gap(next, Number(manifest['treeSize'])).map((hash) => hash.toString('base64'));
    return { ...parts, rows, tail: { manifest: { ...manifest, ...counts }, proof: { ...proof, gap: last } } };
  }
  const withAnswer = (parts: Parts, completeness: unknown): Parts => ({
    ...parts,
    tail: { ...parts.tail, proof: { ...parts.tail.proof, completeness: completeness as Json } },
  });
  const answerIn = (parts: Parts) => parts.tail.proof['completeness'] as unknown as FilterAnswer;

  it.each(asked)('an export of %s shows that no row is missing', async (_what, filters) => {
    const parts = partsOf(await download(filters));
    const { completeness, verified, notes } = await verdict(textOf(parts));
    const { rowCount, treeSize } = parts.tail.manifest;
    expect(completeness).toEqual({
      id: 'completeness',
      result: 'passed',
      detail: `${rowCount} of ${rowCount} rows below leaf ${treeSize}`,
    });
    expect(verified).toBe(true);
    expect(notes.filter((note) => note.startsWith('NOT PROVED'))).toEqual([]);
    expect(Number(rowCount)).toBeGreaterThan(4);
  });

  it.each(asked)('an export of %s is refused when a row was left out of the file', async (_what, filters) => {
    const parts = partsOf(await download(filters));
    for (const at of [0, 3, parts.rows.length - 1]) {
      const short = await without(parts, at);
      const cut = await verdict(textOf(short));
      expect([cut.verified, cut.completeness.result, cut.code]).toEqual([
        false,
        'failed',
        'EXPORT_INCOMPLETE',
      ]);
      expect(cut.completeness.detail).toMatch(/^1 of \d+ events of .* are missing$/);
      // the rest of the file is in order, so only the index tells
      const bare = await verdict(textOf(withAnswer(short, undefined)));
      expect([bare.verified, bare.completeness.result]).toEqual([true, 'not_checked']);
      expect(bare.notes[0]).toMatch(/^NOT PROVED COMPLETE/);
    }
  });

  it('an export is refused with the answer for another filter, another tree size or another project', async () => {
    const ofType = partsOf(await download({ eventType: 'tool.call' }));
    const ofRun = partsOf(await download({ runId: 'third' }));
    await tenant.call('POST', '/events', { body: event({ runId: 'more', eventType: 'tool.call' }) });
    const later = partsOf(await download({ eventType: 'tool.call' }));
    const foreign = partsOf(await download({ eventType: 'tool.call' }, other));
    const refused = async (parts: Parts, by: Parts) => {
      const { verified, completeness } = await verdict(textOf(withAnswer(parts, answerIn(by))));
      return [verified, completeness.result];
    };
    expect(await refused(later, later)).toEqual([true, 'passed']);
    for (const [parts, by] of [
      [ofType, ofRun],
      [ofRun, ofType],
      [later, ofType],
      [ofType, later],
      [ofType, foreign],
    ] as const)
      expect(await refused(parts, by)).toEqual([false, 'failed']);
  });

  it('an export of risk decisions shows that none of its run is missing, and says so plainly of all', async () => {
    for (const runId of ['third', 'other']) {
      const body = { runId, inputs: { amount: 5 } };
      await tenant.call('POST', '/risk/decisions', { body });
    }
    const ofRun = await verdict(await download({ runId: 'third' }, tenant, 'risk_decisions'));
    expect(ofRun.completeness.result).toBe('passed');
    const all = await verdict(await download({}, tenant, 'risk_decisions'));
    expect(all.completeness.detail).toMatch(/^not shown: the index of a log has no list of risk_decisions/);
    expect(all.verified).toBe(true);
  });

  it('an export of a run fails when its events were deleted from the tables of runs', async () => {
    const run = "run_no IN (SELECT run_no FROM run WHERE run_id = 'third')";
    await below.sql(`DELETE FROM run_event WHERE ${run} AND run_seq >= 15`);
    const made = await exported({ runId: 'third' });
    expect(made.status).toBe('failed');
    expect(made.errorSummary).toMatch(/index_mismatch/);
    expect((await exported({ runId: 'other' })).status).toBe('completed');
  });
});
