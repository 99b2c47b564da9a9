/** Artifacts that prove themselves, held against the public verifier; and tables that no spreadsheet takes for code. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLeaf } from '../../../src/core/decided/leaf.ts';
import { openReplay } from '../../../src/core/decided/replay.ts';
import { verifyExport } from '../../../src/core/exports/verify.ts';
import { withdrawnResult } from '../../../src/core/replay/withdrawn.ts';
import { parseTrust, type Trust } from '../../../src/core/note/trust.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { isFormula, unmarked } from '../../support/unmarked.ts';
import { endOf, exportEnd, fillProject } from '../support/filled.ts';

describe.each(engines)('an artifact on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let trust: Trust;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    await fillProject(tenant.call, { name: 'ada', projectId });
    const events = Array.from({ length: 300 }, (_, n) => event({ runId: n % 3 === 0 ? 'third' : 'other' }));
    await tenant.call('POST', '/events/batch', { body: { events } });
    const keys = (await tenant.call('GET', '/log/key')).text.trim().split('\n');
    trust = parseTrust(`${keys.map((key) => `log ${key}\n`).join('')}quorum none\n`);
  });
  afterAll(() => service.end());

  async function download(body: Record<string, unknown>): Promise<Buffer> {
    const created = await tenant.call('POST', '/exports', { body });
    const made = await exportEnd(tenant.call, created.body.exportId);
    expect(made).toMatchObject({ status: 'completed', errorSummary: null });
    return (await tenant.call('GET', `/exports/${made.exportId}/download`)).bytes;
  }
  const verdict = (bytes: Uint8Array) =>
    verifyExport(
      (async function* () {
        for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
      })(),
      trust,
    );

  it.each([
    ['audit_events', {}],
    ['audit_events', { runId: 'third' }],
    ['audit_events', { eventType: 'tool.call', endTime: '2026-03-01T09:30:00Z' }],
    ['audit_events', { runId: 'nobody' }],
    ['compliance_proofs', {}],
    ['risk_decisions', {}],
    ['policy_evaluations', {}],
    ['replays', {}],
    ['causal_graphs', {}],
  ])(
    'an artifact of %s, %j, verifies offline, and not with one byte of a row changed',
    async (resource, filters) => {
      const bytes = await download({ resource, format: 'json', filters, includeProof: true });
      expect(await verdict(bytes)).toMatchObject({ verified: true, code: null, resource });
      const text = bytes.toString('utf8');
      const { data } = JSON.parse(text);
      if (data.length === 0) return;
      const at = text.indexOf('"runId":"') + '"runId":"'.length;
      const changed = Buffer.from(bytes);
      changed[at] = changed[at] === 0x61 ? 0x62 : 0x61;
      expect((await verdict(changed)).verified).toBe(false);
    },
  );

  it('an artifact without a row does not verify', async () => {
    const bytes = await download({ resource: 'audit_events', format: 'json', includeProof: true });
    const lines = bytes.toString('utf8').split('\n');
    expect((await verdict(Buffer.from(lines.toSpliced(3, 1).join('\n')))).verified).toBe(false);
  });

  const parts = (bytes: Buffer): { head: string; rows: string[]; tail: string } => {
    const [head = '', ...lines] = bytes.toString('utf8').trimEnd().split('\n');
    return { head, rows: lines.slice(0, -1).map((line) => line.replace(/,$/, '')), tail: lines.at(-1) ?? '' };
  };
  const joined = (head: string, rows: readonly string[], tail: string): Buffer =>
    Buffer.from(`${head}\n${rows.join(',\n')}\n${tail}\n`);

  it.each([
    ['audit_events', 'timestamp'],
    ['risk_decisions', 'evaluatedAt'],
    ['policy_evaluations', 'evaluatedAt'],
    ['compliance_proofs', 'createdAt'],
    ['replays', 'createdAt'],
  ])(
    'an artifact of %s does not verify with rows of another that are outside of its times',
    async (resource, name) => {
      const all = await download({ resource, format: 'json', includeProof: true });
      const { data, manifest } = JSON.parse(all.toString('utf8'));
      const times = data.map((row: Record<string, unknown>) => String(row[name])).toSorted();
      const filters = { startTime: times.at(-1) };
      const few = parts(await download({ resource, format: 'json', filters, includeProof: true }));
      const { rows } = parts(all);
      expect(rows.length).toBeGreaterThan(few.rows.length);
      const firstTail = new RegExp('"firstSequence":\\d+,"lastSequence":\\d+,"rowCount":\\d+');
      const { firstSequence, lastSequence, rowCount } = manifest;
      const tail = few.tail.replace(
        firstTail,
        `"firstSequence":${firstSequence},"lastSequence":${lastSequence},"rowCount":${rowCount}`,
      );
      expect((await verdict(joined(few.head, few.rows, few.tail))).verified).toBe(true);
      const { verified, checks } = await verdict(joined(few.head, rows, tail));
      expect([verified, checks.find(({ id }) => id === 'rows')]).toEqual([
        false,
        expect.objectContaining({
          code: 'ROW_MISMATCH',
          detail: expect.stringContaining('matches the filters'),
        }),
      ]);
    },
  );

  it('an artifact of replays does not verify without results that no erasure took', async () => {
    await tenant.call('POST', '/events', { body: event({ runId: 'untouched' }) });
    const { jobId } = (await tenant.call('POST', '/replay', { body: { runId: 'untouched' } })).body;
    await endOf(tenant.call, jobId);
    const bytes = await download({ resource: 'replays', format: 'json', includeProof: true });
    expect((await verdict(bytes)).notes).toContainEqual(expect.stringMatching(/^WITHDRAWN: [1-9]/));
    const { head, rows, tail } = parts(bytes);
    const { proof } = JSON.parse(bytes.toString('utf8'));
    expect([proof.erasures.length, proof.withdrawn.length]).toEqual([1, 1]);
    const last = JSON.parse(rows.at(-1) ?? '');
    expect(last.runId).toBe('untouched');
    const leaf = { ...last.evidence, disclosures: JSON.stringify(last.evidence.disclosures) };
    for (const by of [proof.erasures[0].index, proof.withdrawn[0].index, 999_999_999]) {
      const blank = withdrawnResult(openReplay(openLeaf(leaf)), by);
      const changed = `${rows.at(-1)?.slice(0, rows.at(-1)?.indexOf('},"') ?? 0)}},${blank.slice(1)}`;
      const { verified, checks } = await verdict(joined(head, [...rows.slice(0, -1), changed], tail));
      expect([verified, checks.find(({ id }) => id === 'rows')?.result]).toEqual([false, 'passed']);
      expect(checks.find(({ id }) => id === 'disclosures')).toMatchObject({ code: 'DISCLOSURE_MISSING' });
    }
    // nor without what shows that an erasure is of the run
    const { withdrawn: _, ...others } = proof;
    const bare = tail.replace(JSON.stringify(proof), JSON.stringify(others));
    expect((await verdict(joined(head, rows, bare))).code).toBe('DISCLOSURE_MISSING');
  });

  it('an artifact as CSV is valid for a strict parser, and contains no formula', async () => {
    const hostile = [
      '=1+1',
      '+1',
      '-1',
      '@SUM(A1)',
      '\u0009=1',
      ' =cmd',
      '＝1+1',
      '"quoted", "twice"',
      'line\r\nbreak',
      '\u001b[31mred',
      '\u202Eevil',
      "'=1",
      'x;=1+1;y',
      'x\t=1+1\ty',
      'x|@SUM(A1)',
      'a\n=WEBSERVICE(A1)\nb',
      'x;"=1"',
      '﹦1',
      '\u3164=1',
    ];
    const events = hostile.map((name, n) =>
      event({ runId: 'hostile', actor: { name }, metadata: { n, [name]: name } }),
    );
    const plain = hostile.map((name) => event({ runId: 'hostile', actor: name, resource: name }));
    await tenant.call('POST', '/events/batch', { body: { events: [...events, ...plain] } });
    const bytes = await download({ resource: 'audit_events', format: 'csv', filters: { runId: 'hostile' } });
    expect(bytes[0]).not.toBe(0xef);
    const rows: Record<string, string>[] = parse(bytes, { columns: true, record_delimiter: '\r\n' });
    const { events: answered } = (await tenant.call('GET', '/events?runId=hostile&limit=100')).body;
    expect(rows.length).toBe(answered.length);
    rows.forEach((row, at) => {
      for (const [name, cell] of Object.entries(row)) {
        const value = answered[at][name] ?? null;
        const text = value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
        const shown = unmarked(cell);
        if (typeof value === 'object' && value !== null) expect(JSON.parse(shown)).toEqual(value);
        else expect(shown).toBe(text);
      }
    });
    for (const delimiter of [',', ';', '\t', '|']) {
      const fields = parse(bytes, { delimiter, relax_quotes: true, relax_column_count: true }) as string[][];
      for (const field of fields.flat()) expect(isFormula(field), field).toBe(false);
    }
  });

  it.each(['audit_events', 'compliance_proofs', 'risk_decisions', 'replays', 'policy_evaluations', 'jobs'])(
    'an artifact of %s as CSV has a row for each row of the JSON form',
    async (resource) => {
      const { data } = JSON.parse((await download({ resource, format: 'json' })).toString('utf8'));
      const rows: unknown[] = parse(await download({ resource, format: 'csv' }), {
        record_delimiter: '\r\n',
      });
      // an export of events tells of the one before
      expect(rows.length - 1).toBeGreaterThanOrEqual(data.length);
      expect(data.length).toBeGreaterThan(0);
    },
  );
});
