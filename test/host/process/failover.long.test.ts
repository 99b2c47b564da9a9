/**
 * Two processes of one service on a PostgreSQL with a synchronous standby: connections are ended below them, then the
 * primary dies and the standby takes over. Every acknowledged event must be there, once.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fsck } from '../../../src/host/data/fsck.ts';
import { startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { serveProcess, type ServingProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';
import { serverPrograms, startReplicated, type Replicated } from './support/replicated.ts';

const programs = serverPrograms();
const rounds = Number(process.env['GOV_TEST_ROUNDS'] ?? 5);

describe.skipIf(programs === null)('a service on a replicated PostgreSQL', () => {
  let postgres: Replicated;
  let service: TestService;
  let ada: Tenant;
  let processes: readonly ServingProcess[];
  beforeAll(async () => {
    postgres = await startReplicated(programs ?? '');
    service = await startService({ file: { database: postgres.serving, connections: 4 } });
    ada = await service.signUp('ada');
    // the service of this process would hold connections of its own
    await service.close();
    processes = await Promise.all([
      serveProcess('service', service.dataDir),
      serveProcess('service', service.dataDir),
    ]);
  }, 120_000);
  afterAll(async () => {
    for (const { child } of processes) child.kill('SIGTERM');
    const ends = await Promise.all(processes.map(({ ended }) => ended));
    await service.end();
    await postgres.stop();
    expect(ends).toEqual([0, 0]);
  }, 120_000);

  /** Repeats one request under one key, on either process, until it is acknowledged. Returns the event's id. */
  async function insist(runId: string, name: string): Promise<string> {
    for (let at = name.length; ; at += 1) {
      const { baseUrl } = processes[at % processes.length]!;
      const answer = await send('POST', `${baseUrl}/events`, {
        key: ada.keys.production,
        body: event({ runId, metadata: { name } }),
        headers: { 'idempotency-key': `${runId}:${name}` },
      }).catch(() => null);
      if (answer?.status === 201) return answer.body.eventId as string;
      if (answer !== null) expect(answer.status, JSON.stringify(answer.body)).toBe(503);
      await wait(20);
    }
  }

  /** Writes 400 events with eight writers, and disturbs them when each tenth part is acknowledged. */
  async function written(runId: string, disturb: (tenth: number) => Promise<void>): Promise<string[]> {
    const names = Array.from({ length: 400 }, (_, at) => `n${at}`);
    const ids: string[] = [];
    const disturbed: Promise<void>[] = [];
    const writer = async (lane: number): Promise<void> => {
      for (let at = lane; at < names.length; at += 8) {
        ids.push(await insist(runId, names[at]!));
        if (ids.length % 40 === 0) disturbed.push(disturb(ids.length / 40));
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(writer));
    await Promise.all(disturbed);
    return ids;
  }

  /** Compares the run with what was acknowledged, on both processes. */
  async function isWhole(runId: string, acknowledged: readonly string[]): Promise<void> {
    for (const { baseUrl } of processes) {
      const key = ada.keys.production;
      const read = async (): Promise<string[] | number> => {
        const { status, body } = await send('GET', `${baseUrl}/events?runId=${runId}&limit=1000`, { key });
        if (status !== 200) return status; // a connection that just ended
        return (body.events as { eventId: string }[]).map(({ eventId }) => eventId).toSorted();
      };
      await expect.poll(read, { timeout: 10_000 }).toEqual([...acknowledged].toSorted());
    }
  }

  it('the service loses and repeats no event while PostgreSQL ends its connections', async () => {
    for (let round = 0; round < rounds; round += 1) {
      let ended = 0;
      const ids = await written(`ended-${round}`, async () => {
        ended += await postgres.endConnections();
      });
      expect(ended).toBeGreaterThan(9);
      await isWhole(`ended-${round}`, ids);
    }
  }, 300_000);

  it('the service loses and repeats no event when the standby takes over from a dead primary', async () => {
    const ids = await written('failed-over', async (tenth) => {
      if (tenth === 4) await postgres.failOver();
    });
    await isWhole('failed-over', ids);
    const report = await fsck({ dataDir: service.dataDir, deep: true });
    expect(report.problems).toEqual([]);
  }, 300_000);
});
