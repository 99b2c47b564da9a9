/** Artifacts that prove themselves, held against the public verifier; and tables that no spreadsheet takes for code. */
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { couldBeFormula } from '../../src/core/csv.ts';
import { verifyExport } from '../../src/core/exportverify.ts';
import { parseTrust, type Trust } from '../../src/core/trust.ts';
import { engines, startService, type Tenant, type TestService } from '../hosted.ts';
import { event } from '../serving.ts';
import { exportEnd, fillProject } from './filled.ts';

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
  ])('of %s, %j, is verified offline, and not with one byte of a row changed', async (resource, filters) => {
    const bytes = await download({ resource, format: 'json', filters, includeProof: true });
    expect(await verdict(bytes)).toMatchObject({ verified: true, code: null, resource });
    const text = bytes.toString('utf8');
    const { data } = JSON.parse(text);
    if (data.length === 0) return;
    const at = text.indexOf('"runId":"') + '"runId":"'.length;
    const changed = Buffer.from(bytes);
    changed[at] = changed[at] === 0x61 ? 0x62 : 0x61;
    expect((await verdict(changed)).verified).toBe(false);
  });

  it('without a row is not verified', async () => {
    const bytes = await download({ resource: 'audit_events', format: 'json', includeProof: true });
    const lines = bytes.toString('utf8').split('\n');
    expect((await verdict(Buffer.from(lines.toSpliced(3, 1).join('\n')))).verified).toBe(false);
  });

  it('as a table is what a strict parser reads, and nothing in it is a formula', async () => {
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
        const shown = cell.startsWith("'") ? cell.slice(1) : cell;
        if (typeof value === 'object' && value !== null) expect(JSON.parse(shown)).toEqual(value);
        else expect(shown).toBe(text);
        if (typeof value !== 'number' && !cell.startsWith("'")) expect(couldBeFormula(cell)).toBe(false);
      }
    });
  });

  it.each(['audit_events', 'compliance_proofs', 'risk_decisions', 'replays', 'policy_evaluations', 'jobs'])(
    'of %s as a table has a row for each of the other form',
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
