/** A key or session that is ended by one process while another one changes something for it. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import type { RequiredCaller } from '../../../src/store/port/store.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { codeOf, startMs, stored } from '../support/fixture.ts';
import { apiKey, apply, change, moreProjects, session, storedProject, tenant } from '../support/tenants.ts';
import { missing, Processes, server } from './support/described.ts';

const rounds = 40;

describe.skipIf(missing !== null)('two processes and one credential', () => {
  it('two processes store nothing for a credential after one of them has ended it', async () => {
    const processes = await Processes.on(server);
    const [one, other] = [processes.first, await processes.start()];
    await one.createTenant(tenant('x'));
    await one.createTenant(moreProjects(storedProject('x', 'other')));
    const late: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const key = apiKey(`k${round}`, { projectId: 'prj_x_live', scopes: ['*'] });
      const opened = session('x', { digest: apiKey(`s${round}`).digest });
      await stored(one, change('prj_x_live', { kind: 'saveApiKey', key }));
      await stored(one, change('prj_x_live', { kind: 'openSession', session: opened }));
      const by = (kind: 'key' | 'session'): RequiredCaller => ({
        kind: 'requireCaller',
        credential: { kind, digest: kind === 'key' ? key.digest : opened.digest },
        scopes: ['projects:write'],
        atMs: startMs,
      });
      const ended = { key: false, session: false };
      const end = async (kind: 'key' | 'session', effect: Effect): Promise<void> => {
        await stored(one, change('prj_x_live', effect));
        ended[kind] = true;
      };
      // each refuses from some moment on; what begins after the end was answered must be refused
      const changeTenTimes = async (kind: 'key' | 'session'): Promise<void> => {
        for (let at = 0; at < 10; at += 1) {
          const isEnded = ended[kind];
          const name = `${kind} ${round} ${at}`;
          const effect: Effect = { kind: 'changeProject', name, atMs: startMs };
          const code =
            at % 2 === 0
              ? await codeOf(apply(other, 'prj_x_other', by(kind), effect))
              : await codeOf(other.createTenant({ ...moreProjects(storedProject('x', name)), by: by(kind) }));
          if (code === 'none' ? isEnded : code !== 'INVALID_CREDENTIAL') late.push(`${name}: ${code}`);
        }
      };
      await Promise.all([
        changeTenTimes('key'),
        changeTenTimes('session'),
        end('key', { kind: 'revokeApiKey', keyId: key.keyId, revokedMs: startMs, atMs: startMs }),
        end('session', { kind: 'endSession', digest: opened.digest, atMs: startMs }),
        other.used([
          { projectId: 'prj_x_live', keyId: key.keyId, atMs: startMs + round * 60_000 },
          { digest: opened.digest, atMs: startMs + round * 60_000 },
        ]),
      ]);
    }
    expect(late).toEqual([]);
    await processes.drop();
  }, 60_000);

  it('a process that relies on a credential waits for another process that is ending it', async () => {
    const processes = await Processes.on(server);
    const [one, other] = [processes.first, await processes.start()];
    await one.createTenant(tenant('x'));
    await one.createTenant(moreProjects(storedProject('x', 'other')));
    const key = apiKey('k', { projectId: 'prj_x_live', scopes: ['*'] });
    await stored(one, change('prj_x_live', { kind: 'saveApiKey', key }));
    const by: RequiredCaller = {
      kind: 'requireCaller',
      credential: { kind: 'key', digest: key.digest },
      scopes: ['projects:write'],
      atMs: startMs,
    };
    const order: string[] = [];
    const client = new Client({ connectionString: processes.database.superuser });
    await client.connect();
    // somebody ends the key, and has not committed yet
    await client.query('BEGIN');
    await client.query('SELECT FROM gov.organization FOR NO KEY UPDATE');
    await client.query("UPDATE gov.api_key SET revoked_ms = 1 WHERE key_id = 'key_k'");
    const effect: Effect = { kind: 'changeProject', name: 'n', atMs: startMs };
    const changing = codeOf(apply(other, 'prj_x_other', by, effect)).then((code) => order.push(code));
    const waiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await expect.poll(async () => (await client.query(waiting)).rowCount).toBeGreaterThan(0);
    order.push('committed');
    await client.query('COMMIT');
    await client.end();
    await changing;
    expect(order).toEqual(['committed', 'INVALID_CREDENTIAL']);
    await processes.drop();
  });
});
