/** Exports of every fate leave a store that is whole; rows of theirs that are not what the log tells are found. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { GovError, type ProblemCode } from '../../../src/contract/problems.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { removeExports } from '../../../src/service/exports/sweep.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { exportEnd, fillProject } from '../support/filled.ts';

describe.each(engines)('exports of a service on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let projectId: string;
  let exportId: string;
  let below: Below;

  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    ({ projectId } = (await tenant.call('GET', '/auth/identity')).body);
    await fillProject(tenant.call, { name: 'ada', projectId });
    const asked = async (body: Record<string, unknown>): Promise<string> =>
      (await tenant.call('POST', '/exports', { body })).body.exportId;
    const done = async (body: Record<string, unknown>): Promise<string> => {
      const id = await asked(body);
      await exportEnd(tenant.call, id);
      return id;
    };
    exportId = await done({
      resource: 'audit_events',
      format: 'json',
      filters: { runId: 'ada-run' },
      includeProof: true,
    });
    await done({ resource: 'jobs', format: 'csv' });
    const expired = await done({ resource: 'audit_events', format: 'json' });
    const { eventId } = (await tenant.call('GET', '/events?runId=ada-sealed')).body.events[0];
    await tenant.call('POST', '/erasures', { body: { eventId } });
    await removeExports(service.services);
    expect((await tenant.call('GET', `/exports/${expired}`)).body.status).toBe('expired');
    const failed = await done({ resource: 'replays', format: 'json', ...refusing('VALIDATION_ERROR') });
    await removeExports(service.services);
    expect((await tenant.call('GET', `/exports/${failed}`)).body.status).toBe('failed');
    const again = await asked({ resource: 'replays', format: 'json', ...refusing('STORAGE_FULL') });
    await vi.waitFor(async () => {
      const { status, errorSummary } = (await tenant.call('GET', `/exports/${again}`)).body;
      expect([status, errorSummary]).toEqual(['pending', expect.stringMatching(/^STORAGE_FULL/)]);
    }, 20_000);
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
    await service.close();
  });
  afterAll(() => service.end());

  /** From now on the building of exports ends so; adds nothing to what is asked for. */
  function refusing(code: ProblemCode): object {
    Object.assign(service.services.exports, {
      work: { run: () => Promise.reject(new GovError(code, 'for this test')), close: async () => {} },
    });
    return {};
  }

  const check = async () => (await fsck({ dataDir: service.dataDir, env: {}, deep: true })).problems;

  it('exports leave an intact store', async () => {
    expect(await check()).toEqual([]);
  });

  it('fsck reports an export whose column differs from the log', async () => {
    const own = `WHERE export_id = '${exportId}'`;
    const literal = (value: unknown): string =>
      typeof value === 'string' ? `'${value}'` : `${String(value)}`;
    for (const [column, value] of [
      ['resource', "'jobs'"],
      ['format', "'csv'"],
      ['filters', "'{}'"],
      ['include_proof', '0'],
      ['tree_size', '1'],
      ['created_ms', '5'],
      ['row_count', '5'],
      ['size_bytes', '5'],
      ['manifest', `'{"treeSize":1}'`],
      ['completed_ms', '5'],
      ['digest', engine === 'sqlite' ? `x'${'00'.repeat(32)}'` : `'\\x${'00'.repeat(32)}'`],
    ] as const) {
      const [row] = await below.sql(`SELECT ${column} AS value FROM export_job ${own}`);
      await below.sql(`UPDATE export_job SET ${column} = ${value} ${own}`);
      const position = `${projectId}/export/${exportId}`;
      const [first, ...others] = await check();
      expect([first?.position, first?.kind, others.length], column).toEqual([position, 'export_mismatch', 0]);
      expect(first?.expected).toMatch(new RegExp(`^${column} `));
      if (column !== 'digest')
        await below.sql(`UPDATE export_job SET ${column} = ${literal(row.value)} ${own}`);
    }
    await below.sql(`DELETE FROM export_job ${own}`);
    expect(await check()).toMatchObject([{ kind: 'export_mismatch', got: 'no such row' }]);
  });
});
