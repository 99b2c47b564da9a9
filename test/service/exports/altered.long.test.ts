/** What was altered below the service is in no export: its building ends with what to do. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportResource } from '../../../src/contract/exports.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { exportEnd, fillProject } from '../support/filled.ts';

describe.each(engines)('exports of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let below: Below;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    await fillProject(tenant.call, { name: 'ada', projectId });
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
  });
  afterAll(() => service.end());

  async function exported(
    resource: ExportResource,
  ): Promise<{ status: string; errorSummary: string | null }> {
    const body = { resource, format: 'json' };
    const { exportId } = (await tenant.call('POST', '/exports', { body })).body;
    return exportEnd(tenant.call, exportId);
  }

  const texts = (list: string): string[] =>
    (JSON.parse(list) as unknown[]).map((field) => JSON.stringify(field));
  const lost = (list: string): string => `[${texts(list).slice(1).join()}]`;
  const inPlaceOfAnother = (list: string): string => {
    const fields = texts(list);
    return `[${[fields[0], ...fields.slice(0, -1)].join()}]`;
  };

  async function alter(type: string, change: (disclosures: string) => string): Promise<number> {
    const leaf = (await below.records()).find(({ record }) => record.includes(`"type":"${type}"`))!;
    const where = below.leafAt(leaf.index);
    const [{ disclosures }] = await below.sql(`SELECT disclosures FROM body WHERE ${where}`);
    const text = change(disclosures).replaceAll("'", "''");
    await below.sql(`UPDATE body SET disclosures = '${text}' WHERE ${where}`);
    return leaf.index;
  }

  it('an export fails when a field is missing without an erasure, or a proof or graph was replaced', async () => {
    const leaves: readonly [ExportResource, number][] = [
      ['audit_events', await alter('gov.event/1', lost)],
      ['risk_decisions', await alter('gov.decision/1', lost)],
      ['policy_evaluations', await alter('gov.evaluation/1', () => '[]')],
      ['replays', await alter('gov.replay/1', lost)],
    ];
    const beside = [
      ['compliance_proofs', 'proof', 'proof'],
      ['causal_graphs', 'graph', 'root_hash'],
    ] as const;
    for (const [, table, column] of beside)
      await below.sql(`UPDATE ${table} SET ${column} = replace(${column}, 'sha256:', 'sha256:0')`);
    const all = [
      ...leaves.map(
        ([resource, index]) => [resource, `leaf ${index} of the audit log lacks a field`] as const,
      ),
      ...beside.map(([resource, what]) => [resource, `the ${what} differs from leaf`] as const),
    ];
    const ends = await Promise.all(all.map(([resource]) => exported(resource)));
    for (const [at, [resource, why]] of all.entries())
      expect(ends[at], resource).toMatchObject({
        status: 'failed',
        errorSummary: expect.stringMatching(`^STORAGE_FAULT: ${why} .*; run gov log fsck --deep`),
      });
  }, 120_000);

  it('an export fails when two fields of an event were swapped', async () => {
    const index = await alter('gov.event/1', inPlaceOfAnother);
    expect(await exported('audit_events')).toMatchObject({
      status: 'failed',
      errorSummary: expect.stringMatching(`^STORAGE_FAULT: leaf ${index} .* did not commit to`),
    });
  }, 60_000);
});
