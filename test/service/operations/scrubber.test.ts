/** The scrubber of a service: it finds what was altered, records it once, and tells its tenant alone. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { eventIndex } from '../../../src/core/id.ts';
import { Scrubber } from '../../../src/service/operations/scrubber.ts';
import { scrubId, scrubKind } from '../../../src/service/operations/scrub-state.ts';
import { postgresBelow, sqliteBelow, type Below } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

describe.each(engines)('the scrubber, on %s', (engine) => {
  let service: TestService;
  let ada: Tenant;
  let bob: Tenant;
  let ahead = 0;
  let scrubber: Scrubber;
  const dayMs = 24 * 3600 * 1000;

  beforeAll(async () => {
    service = await startService({ engine });
    ada = await service.signUp('ada');
    bob = await service.signUp('bob');
    const { services } = service;
    const { now } = services;
    scrubber = new Scrubber({ ...services, now: () => now() + ahead }, { projectId: null });
  });
  afterAll(() => service.end());

  const production = async (tenant: Tenant): Promise<string> =>
    (await tenant.call('GET', '/projects')).body.data.find(
      ({ environment }: { environment: string }) => environment === 'production',
    ).id;
  const below = (projectId: string): Below =>
    service.database === null
      ? sqliteBelow(service.dataDir, projectId)
      : postgresBelow(service.database.superuser, projectId);
  const integrity = async (tenant: Tenant) => (await tenant.call('GET', '/operations/integrity')).body;
  const violations = async (tenant: Tenant) =>
    (await tenant.call('GET', '/events?runId=gov.system&eventType=integrity.violation')).body.events;
  /** A pass over every project. */
  const pass = async (): Promise<void> => {
    ahead += dayMs;
    while (await scrubber.turn());
  };
  /** Records events, signs them, and alters the body of one. */
  async function altered(tenant: Tenant): Promise<{ index: number; eventId: string }> {
    const events = Array.from({ length: 20 }, () => event({ runId: 'altered' }));
    const { results } = (await tenant.call('POST', '/events/batch', { body: { events } })).body;
    const { eventId } = results[7];
    const index = eventIndex(eventId)!;
    await tenant.call('POST', '/proofs', {
      body: { runId: 'altered', composed: { layers: ['log_inclusion'] } },
    });
    const { sql, leafAt } = below(await production(tenant));
    await sql(
      `UPDATE body SET disclosures = replace(disclosures, 'execute', 'exfiltr') WHERE ${leafAt(index)}`,
    );
    return { index, eventId };
  }

  it('a whole log needs no attention after a pass, and the answer says what was read', async () => {
    expect((await integrity(ada)).scrub).toBeNull();
    await ada.call('POST', '/proofs', { body: { runId: 'none' } });
    await pass();
    const { status, reasons, scrub, backup, fsck, disk, checkpoints } = await integrity(ada);
    expect([status, reasons, backup, fsck, disk]).toEqual(['ok', [], null, null, null]);
    expect(scrub).toMatchObject({ state: 'waiting', found: 0, findings: [], last: { found: 0 } });
    expect(scrub.last.leaves).toBeGreaterThan(1);
    expect(checkpoints.map(({ tree }: { tree: string }) => tree)).toEqual(['audit', 'metering']);
  });

  it('an altered body is found by the next pass, recorded once, and shown to its tenant alone', async () => {
    const { index } = await altered(ada);
    await pass();
    await pass();
    const { status, reasons, scrub } = await integrity(ada);
    expect(status).toBe('attention');
    expect(reasons).toEqual([expect.stringMatching(/^integrity_violation: the scrub found 1 altered place/)]);
    expect(scrub.findings).toMatchObject([{ tree: 'audit', index }]);
    expect(await violations(ada)).toMatchObject([
      { actor: { id: 'gov' }, resource: { id: `audit/${index}` }, metadata: { tree: 'audit', index } },
    ]);
    expect(await integrity(bob)).toMatchObject({ status: 'ok', scrub: { found: 0 } });
    expect(await violations(bob)).toEqual([]);
  });

  it('an altered body that a request reads first is recorded without a pass', async () => {
    const { index, eventId } = await altered(bob);
    expect((await bob.call('GET', `/events/${eventId}`)).status).toBe(503);
    await scrubber.turn();
    expect(await violations(bob)).toMatchObject([{ metadata: { index } }]);
  });

  it('a pass that a crash ended continues after its last saved leaf', async () => {
    const { store } = service.services;
    const projectId = await production(ada);
    const kept = await store.document(projectId, scrubKind, scrubId);
    const { projectId: _, ...document } = kept!;
    const state = JSON.parse(document.data);
    // as a process leaves it that ended at the end of the audit log, without the hash of its leaves
    const reading = { tree: 'metering', size: 3, root: 'AAAA', from: 3, peaks: null };
    const data = JSON.stringify({ ...state, found: 0, findings: [], leaves: 7, reading });
    await store.saveDocuments(projectId, [{ save: { ...document, data, dueMs: 0, status: 'reading' } }]);
    while (await scrubber.turn());
    expect((await integrity(ada)).scrub.last.leaves).toBe(10);
  });
  it('a pass that was planned while the clock was years ahead starts after the next look', async () => {
    const { store } = service.services;
    const projectId = await production(ada);
    const { projectId: _, ...document } = (await store.document(projectId, scrubKind, scrubId))!;
    const dueMs = service.services.now() + ahead + 1000 * dayMs;
    await store.saveDocuments(projectId, [{ save: { ...document, dueMs } }]);
    const before = (await integrity(ada)).scrub.last.completedAt;
    await pass();
    expect((await integrity(ada)).scrub.last.completedAt > before).toBe(true);
  });
  it('keeps what it found where the log takes no event', async () => {
    const { index } = await altered(ada);
    const { services } = service;
    const { now, store } = services;
    const full = new Proxy(store, {
      get: (target, name) => {
        if (name === 'append') return () => Promise.reject(new GovError('STORAGE_FAULT', 'an altered tile'));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    ahead += dayMs;
    const hindered = new Scrubber(
      { ...services, store: full, now: () => now() + ahead },
      { projectId: null },
    );
    while (await hindered.turn());
    const { scrub } = await integrity(ada);
    expect(scrub.findings.map((each: { index: number }) => each.index)).toContain(index);
  });
});
