/** The home project of an organization: its log tells of the organization, and it moves when it is deleted. */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import type { Answer } from '../../support/answer.ts';
import { asPerson, inProject, said, told } from '../support/tenants.ts';

describe.each(engines)('organizations that delete their home on %s', (engine) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ engine });
  });
  afterAll(() => service.end());

  const make = async (of: Tenant, name: string, environment = 'production'): Promise<string> =>
    (await of.call('POST', '/projects', { body: { name, environment } })).body.id;
  const homes = async (of: Tenant) => (await service.services.store.organization(of.orgId))!.home;
  const types = async (call: Tenant['call'], id: string) =>
    (await told(call, undefined, inProject(id))).map(
      ({ eventType, resource }) => `${eventType} ${resource.id}`,
    );

  it('an organization that deletes its home gets another one, whose log records the deletion and later changes', async () => {
    const lee = await service.signUp('Lee');
    const asLee = asPerson(service, 'Lee');
    const { production: gone, sandbox } = await homes(lee);
    const kept = await make(lee, 'Kept');
    await make(lee, 'Younger');
    expect((await lee.call('DELETE', `/projects/${gone}`)).status).toBe(200);
    expect(said(await lee.call('GET', '/projects'))).toEqual([401, 'INVALID_CREDENTIAL']);
    expect(await homes(lee)).toEqual({ production: kept, sandbox });
    expect((await asLee('GET', '/auth/identity', inProject(kept))).body.projectId).toBe(kept);
    expect((await asLee('PUT', `/projects/${kept}`, { body: { name: 'Renamed' } })).status).toBe(200);
    const made = (await asLee('POST', '/projects', { body: { name: 'New', environment: 'production' } })).body
      .id;
    expect((await asLee('DELETE', `/projects/${made}`)).status).toBe(200);
    const idToken = await service.idToken('Lee');
    expect((await service.call('POST', '/auth/tokens', { body: { idToken } })).status).toBe(201);
    const events = await types(asLee, kept);
    expect(events.slice(0, 5)).toEqual([
      `project.created ${kept}`,
      `project.deleted ${gone}`,
      `project.updated ${kept}`,
      `project.created ${made}`,
      `project.deleted ${made}`,
    ]);
    expect(events.at(-1)).toMatch(/^session.opened /);
  });

  it('an organization has a home in the other environment when this one has no project', async () => {
    const mia = await service.signUp('Mia');
    const asMia = asPerson(service, 'Mia');
    const { production: gone, sandbox } = await homes(mia);
    expect((await asMia('DELETE', `/projects/${gone}`)).status).toBe(200);
    expect(await types(asPerson(service, 'Mia', true), sandbox)).toContain(`project.deleted ${gone}`);
    const listed = await asMia('GET', '/projects');
    expect([listed.status, listed.body.data.length]).toEqual([200, 1]);
    expect(said(await asMia('GET', '/events/count', inProject(sandbox)))).toEqual([
      401,
      'ENVIRONMENT_MISMATCH',
    ]);
    const next = (await asMia('POST', '/projects', { body: { name: 'Next', environment: 'production' } }))
      .body.id;
    expect(await homes(mia)).toEqual({ production: next, sandbox });
    expect(await types(asMia, next)).toEqual([`project.created ${next}`]);
  });

  it('an organization without a home gets the next new project as its home', async () => {
    const noa = await service.signUp('Noa');
    const asNoa = asPerson(service, 'Noa');
    const { production, sandbox } = await homes(noa);
    for (const id of [production, sandbox]) {
      expect((await asNoa('DELETE', `/projects/${id}`)).status).toBe(200);
    }
    expect((await asNoa('GET', '/projects')).body.data).toEqual([]);
    const next = (await asNoa('POST', '/projects', { body: { name: 'Next', environment: 'sandbox' } })).body
      .id;
    expect(await homes(noa)).toEqual({ production: next, sandbox: next });
    expect((await asNoa('GET', '/projects')).body.data).toHaveLength(1);
  });
});

describe.skipIf(!engines.includes('postgres'))('homes of organizations', () => {
  it('a home records each project that is created or deleted, whatever connections end in the meantime', async () => {
    const service = await startService({ engine: 'postgres' });
    const of = await service.signUp('Cut');
    const admin = new Client({ connectionString: service.database!.superuser });
    await admin.connect();
    const cut = setInterval(() => {
      admin
        .query(
          'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
        )
        .catch(() => {});
    }, 500);
    /** Again until it is done, under one key. */
    const insist = async (method: string, path: string, body?: unknown): Promise<Answer['body']> => {
      const headers = { 'idempotency-key': randomUUID() };
      const once = async (): Promise<Answer['body']> => {
        const answer = await of.call(method, path, { headers, ...(body === undefined ? {} : { body }) });
        // an answer that was lost may be of a deletion that was done
        if (answer.status < 300 || (method === 'DELETE' && answer.status === 404)) return answer.body;
        throw new Error(`${method} ${path} was refused: ${answer.text}`);
      };
      return vi.waitFor(once, { timeout: 30_000, interval: 20 });
    };
    const ids: string[] = [];
    const work = async (worker: number): Promise<void> => {
      for (let n = 0; n < 8; n += 1) {
        const { id } = await insist('POST', '/projects', {
          name: `p ${worker} ${n}`,
          environment: 'production',
        });
        ids.push(id);
        if (n % 2 === 0) await insist('DELETE', `/projects/${id}`);
      }
    };
    await Promise.all([0, 1, 2].map(work));
    clearInterval(cut);
    await admin.end();
    const events = await told(of.call);
    const about = (type: string) =>
      events.filter(({ eventType }) => eventType === type).map(({ resource }) => resource.id);
    expect(about('project.created').toSorted()).toEqual(expect.arrayContaining(ids));
    expect(about('project.created')).toHaveLength(ids.length + 1);
    const listed: readonly { id: string }[] = (await of.call('GET', '/projects')).body.data;
    const living = new Set(listed.map(({ id }) => id));
    const gone = ids.filter((id) => !living.has(id));
    expect(about('project.deleted').toSorted()).toEqual(gone.toSorted());
    await service.end();
  }, 60_000);
});
