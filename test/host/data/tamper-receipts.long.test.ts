/**
 * Receipts that a service gave data planes, changed below it, on either engine: fsck verifies each by the installation's
 * own cosigner key, of the second in which its report came, and where it may stand at all.
 */
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { enrolledPlane } from '../../support/telemetry-plane.ts';

describe.each(engines)('receipts of a service on %s', (engine) => {
  let service: TestService;
  let below: Below;
  let position: string;
  let kept: { sequence: number; cosignature: string; received_ms: number; link: string }[];
  beforeAll(async () => {
    service = await startService({ engine });
    const tenant = await service.signUp('tenant');
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    const sender = await enrolledPlane(tenant.call, { name: 'ward', projectId });
    for (let report = 1; report <= 3; report++) expect((await sender.work(2)).status).toBe(202);
    // the fourth is lost, so the fifth has none
    sender.plane.work(2).report();
    expect((await sender.work(2)).body.cosignature).toBe('');
    position = `${projectId}/data_plane/${sender.plane.home.dataPlaneId}/report/0`;
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
    kept = await below.sql(
      'SELECT sequence, cosignature, received_ms, link FROM telemetry_report ORDER BY sequence',
    );
  });
  afterEach(async () => {
    for (const { sequence, ...row } of kept)
      await below.sql(
        `UPDATE telemetry_report SET cosignature = '${row.cosignature}', received_ms = ${row.received_ms},
           link = '${row.link}' WHERE sequence = ${sequence}`,
      );
  });
  afterAll(() => service.end());

  const found = async (deep = true): Promise<string[]> => {
    const { problems } = await fsck({ dataDir: service.dataDir, env: {}, deep });
    return problems.map(({ position: at, kind, got }) => `${at.replace(position, '')} ${kind} ${got}`);
  };
  const of = (sequence: number): string =>
    `(SELECT cosignature FROM telemetry_report WHERE sequence = ${sequence})`;

  it('fsck finds unchanged receipts whole', async () => {
    expect(kept.map(({ cosignature }) => cosignature === '')).toEqual([false, false, false, true]);
    expect(await found()).toEqual([]);
  });

  it.each([
    ['that of another report', `cosignature = ${of(1)}`, 2, /^\/2 receipt_mismatch .*got an invalid one$/],
    ['none that can be read', "cosignature = 'x'", 2, /^\/2 receipt_mismatch note: /],
    ['two', `cosignature = cosignature || ${of(1)}`, 2, /^\/2 receipt_mismatch 2 signature lines$/],
    ['one of another time', 'received_ms = received_ms + 5000', 3, /^\/3 receipt_mismatch one of \d{10} s/],
    ['one where reports are missing', `cosignature = ${of(1)}`, 5, /^\/5 receipt_mismatch one$/],
  ])('fsck reports a receipt when a report has %s', async (_, change, sequence, expected) => {
    await below.sql(`UPDATE telemetry_report SET ${change} WHERE sequence = ${sequence}`);
    const [first] = await found();
    expect(first).toMatch(expected);
    expect(await found(false)).toEqual([]);
  });

  it('fsck reports receipts when an earlier report does not follow', async () => {
    await below.sql("UPDATE telemetry_report SET link = 'consistency_invalid' WHERE sequence = 2");
    expect(await found()).toEqual([
      '/2 report_mismatch link consistency_invalid',
      '/2 receipt_mismatch one',
      '/3 receipt_mismatch one',
    ]);
  });

  it.each([1, 2, 3])('fsck reports that the receipt of report %i was removed', async (sequence) => {
    await below.sql(`UPDATE telemetry_report SET cosignature = '' WHERE sequence = ${sequence}`);
    expect(await found()).toEqual([`/${sequence} receipt_mismatch none`]);
    expect(await found(false)).toEqual([]);
  });
});

describe.each(engines)('receipts of reports that came in any order, of a service on %s', (engine) => {
  let service: TestService;
  let below: Below;
  let projectId: string;
  let send: (name: string, order: readonly number[]) => Promise<string>;
  beforeAll(async () => {
    service = await startService({ engine });
    const tenant = await service.signUp('tenant');
    projectId = (await tenant.call('GET', '/auth/identity')).body.projectId;
    send = async (name, order) => {
      const sender = await enrolledPlane(tenant.call, { name, projectId });
      const reports = Array.from({ length: Math.max(...order) }, () => sender.plane.work(1).report());
      for (const sequence of order) expect((await sender.send(reports[sequence - 1])).status).toBe(202);
      return sender.plane.home.dataPlaneId;
    };
    below =
      service.database === null
        ? sqliteBelow(service.dataDir, projectId)
        : postgresBelow(service.database.superuser, projectId);
  });
  afterAll(() => service.end());

  const found = async (): Promise<string[]> => {
    const { problems } = await fsck({ dataDir: service.dataDir, env: {}, deep: true });
    return problems.map(({ position, kind }) => `${position} ${kind}`);
  };

  it('fsck accepts receipts missing next to others when reports came in any order', async () => {
    const order = fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7], { minLength: 5 });
    const orders = fc.sample(order, { numRuns: 12, seed: 5 });
    for (const [at, each] of orders.entries()) await send(`plane-${at}`, each);
    expect(await below.sql("SELECT 1 FROM telemetry_report WHERE cosignature = ''")).not.toEqual([]);
    expect(await found()).toEqual([]);
  });

  it('fsck reports receipts that were removed before a gap, and after a gap that was closed', async () => {
    const planeId = await send('closed', [1, 2, 5, 4, 3, 6, 7, 8, 10, 9, 11, 12]);
    const rows = await below.sql(
      `SELECT sequence FROM telemetry_report WHERE plane_id = '${planeId}' AND cosignature <> '' ORDER BY sequence`,
    );
    expect(rows.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 6, 7, 8, 9, 11, 12]);
    const remove = (sequence: number) =>
      below.sql(
        `UPDATE telemetry_report SET cosignature = '' WHERE plane_id = '${planeId}' AND sequence = ${sequence}`,
      );
    // the third closed the gap itself, and the sixth might have come before it
    for (const sequence of [3, 6]) await remove(sequence);
    expect(await found()).toEqual([]);
    for (const sequence of [2, 8, 12]) await remove(sequence);
    const at = `${projectId}/data_plane/${planeId}/report/0`;
    expect(await found()).toEqual([2, 8, 12].map((sequence) => `${at}/${sequence} receipt_mismatch`));
    await remove(1);
    expect(await found()).toContain(`${at}/1 receipt_mismatch`);
  });
});
