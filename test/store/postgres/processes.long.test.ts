/** Several processes on one database, and connections that end in the middle of a commit. */
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { leafHash, merkleRoot } from '../../../src/core/merkle/tree.ts';
import type { Store } from '../../../src/store/port/store.ts';
import type { Faults } from '../../../src/store/postgres/connection/faults.ts';
import { fsckPostgres } from '../../../src/store/postgres/write/fsck.ts';
import { appended, codeOf, event, genesis, projectOf, request, startMs, stored } from '../support/fixture.ts';
import { missing, Processes, server } from './support/described.ts';

/** Nothing is missing, nothing is there twice, time never runs backwards, and the root covers all of it. */
async function assertWhole(store: Store, runs: readonly string[]): Promise<void> {
  const { size, root } = await store.head('prj_a', 'audit');
  const leaves = await store.leaves('prj_a', 'audit', { from: 0, to: size });
  expect(merkleRoot(leaves.map(({ record }) => leafHash(record)))).toEqual(root);
  const times = leaves
    .slice(1)
    .map(({ record }) => (JSON.parse(record) as { serverTimestamp: string }).serverTimestamp);
  expect(times).toEqual(times.toSorted());
  for (const runId of runs) {
    const range = { fromSeq: 0, beforeIndex: size, limit: size, bodies: false };
    const records = (await store.runLeaves('prj_a', runId, range)).map(
      ({ record }) => JSON.parse(record) as { runSeq: number },
    );
    expect(records.map(({ runSeq }) => runSeq)).toEqual(records.map((_, at) => at));
    expect((await store.run('prj_a', runId))?.events).toBe(records.length);
  }
}

describe.skipIf(missing !== null)('two processes', () => {
  it('two processes append to one project with unique indexes, no gap and monotone time', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    const runs = ['r0', 'r1', 'r2'];
    const answers = await Promise.all(
      stores.flatMap((store, process) =>
        Array.from({ length: 4 }, async (_, caller) => {
          const indexes: number[] = [];
          for (let round = 0; round < 12; round += 1) {
            processes.clock.ms += ((round + caller) % 3) - 1; // the clocks of machines differ
            const made = runs.map((runId) =>
              event({ runId, clientEventId: `${process}-${caller}-${round}-${runId}` }),
            );
            indexes.push(...(await appended(store, request(made))).map(({ index }) => index));
          }
          return indexes;
        }),
      ),
    );
    const indexes = answers.flat().toSorted((a, b) => a - b);
    expect(indexes).toEqual(Array.from({ length: 2 * 4 * 12 * 3 }, (_, at) => at + 1));
    await assertWhole(stores[1]!, runs);
    expect((await stores[0]!.totals('prj_a')).audit_event).toBe(indexes.length);
    const report = await fsckPostgres({ url: processes.database.serving, deep: true });
    expect(report.problems).toEqual([]);
    await processes.drop();
  });

  it('a process sees at once the runs, client ids, answers and revoked keys of another process', async () => {
    const processes = await Processes.on(server);
    const [one, other] = [processes.first, await processes.start()];
    const idempotency = {
      key: 'k',
      fingerprint: 'f',
      response: { status: 201, body: 'once', headers: {} },
    };
    const made = request([event({ clientEventId: 'c' })], { idempotency });
    await stored(one, made);
    expect((await other.append(made)).outcome).toBe('replayed');
    const repeat = await stored(other, request([event({ clientEventId: 'c' })]));
    expect(repeat.assigned).toMatchObject([{ outcome: 'duplicate', index: 1 }]);
    expect((await appended(other, request([event()])))[0]).toMatchObject({ index: 2, runSeq: 1 });
    expect((await appended(one, request([event()])))[0]).toMatchObject({ index: 3, runSeq: 2 });
    const key = {
      keyId: 'key_1',
      projectId: 'prj_a',
      digest: Buffer.alloc(32, 7),
      prefix: 'p',
      last4: 'last',
      name: 'n',
      description: null,
      scopes: ['events:write'],
      createdMs: 0,
      createdBy: 'operator',
      updatedMs: 0,
      lastUsedMs: null,
      expiresMs: null,
      revokedMs: null,
      rotatedFrom: null,
    };
    await one.saveApiKey(key);
    expect((await other.apiKey(key.digest))?.key.revokedMs).toBeNull();
    await one.saveApiKey({ ...key, revokedMs: startMs });
    expect((await other.apiKey(key.digest))?.key.revokedMs).toBe(startMs);
    await processes.drop();
  });

  it('two processes create the first event of a run and a new event type once', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    for (let round = 0; round < 15; round += 1) {
      const made = () => request([event({ runId: `r${round}`, eventType: `type.t${round}` })]);
      await Promise.all(stores.map((store) => appended(store, made())));
      expect((await stores[0]!.run('prj_a', `r${round}`))?.events).toBe(2);
    }
    expect(await stores[1]!.countEvents('prj_a', { eventType: 'type.t7' })).toBe(2);
    expect((await stores[1]!.runs('prj_a', {}, { limit: 99 })).map(({ runId }) => runId)).toEqual(
      Array.from({ length: 15 }, (_, at) => `r${14 - at}`),
    );
    await processes.drop();
  });

  it('processes share jobs: each job is claimed once and none is lost', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start(), await processes.start()];
    const effects = Array.from({ length: 40 }, (_, at) => ({
      kind: 'enqueueJob' as const,
      job: {
        jobId: `job_${at}`,
        type: 'proof' as const,
        runId: 'r1',
        request: '{}',
        createdMs: startMs + at,
      },
    }));
    await stored(stores[0]!, request([], { effects }));
    const claimed: string[] = [];
    await Promise.all(
      stores.map(async (store) => {
        for (;;) {
          const job = await store.claimJob(startMs + 1000, 60_000);
          if (job === null) return;
          claimed.push(job.jobId);
          const done = {
            kind: 'completeJob' as const,
            jobId: job.jobId,
            lease: job.lease,
            result: '{}',
            atMs: startMs,
          };
          await stored(store, request([], { meter: { op: 'none', units: 0 }, effects: [done] }));
        }
      }),
    );
    expect(claimed.toSorted()).toEqual(effects.map(({ job }) => job.jobId).toSorted());
    expect(await stores[0]!.jobs('prj_a', { status: 'completed' }, { limit: 99 })).toHaveLength(40);
    await processes.drop();
  });

  it('two processes that create the same project at the same time create it once', async () => {
    const processes = await Processes.on(server);
    const stores = [processes.first, await processes.start()];
    const codes = await Promise.all(
      stores.map((store) => codeOf(store.createProject(projectOf('b'), genesis('b')))),
    );
    expect(codes.toSorted()).toEqual(['CONFLICT', 'none']);
    expect((await stores[0]!.head('prj_b', 'audit')).size).toBe(1);
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('a connection that ends', () => {
  /** Ends the server process of a write at the n-th step of this name. */
  class Killer implements Faults {
    readonly #superuser: string;
    target: { step: 'read' | 'write'; after: number } | null = null;

    constructor(superuser: string) {
      this.#superuser = superuser;
    }

    async before(step: 'read' | 'write', backend: number): Promise<void> {
      if (this.target?.step !== step || (this.target.after -= 1) > 0) return;
      this.target = null;
      const client = new Client({ connectionString: this.#superuser });
      await client.connect();
      await client.query('SELECT pg_terminate_backend($1, 5000)', [backend]);
      await client.end();
    }
  }

  it('the caller does not notice a connection that ends before anything was written', async () => {
    const processes = await Processes.on(server);
    const killer = new Killer(processes.database.superuser);
    const store = await processes.start({ faults: killer });
    await appended(store, request([event()]));
    killer.target = { step: 'read', after: 1 };
    expect((await appended(store, request([event()])))[0]).toMatchObject({ index: 2, runSeq: 1 });
    expect(store.condition().writable).toBe(true);
    await processes.drop();
  });

  it('a connection that ends during a commit is a STORAGE_FAULT without partial writes', async () => {
    const processes = await Processes.on(server);
    const killer = new Killer(processes.database.superuser);
    const store = await processes.start({ faults: killer });
    const { size } = await store.head('prj_a', 'audit');
    killer.target = { step: 'write', after: 1 };
    const lost = await Promise.all([1, 2, 3].map(() => codeOf(store.append(request([event(), event()])))));
    expect(lost).toEqual(['STORAGE_FAULT', 'STORAGE_FAULT', 'STORAGE_FAULT']);
    expect(store.condition()).toMatchObject({
      writable: false,
      reasons: [expect.stringMatching(/^storage_fault: /)],
    });
    expect((await store.head('prj_a', 'audit')).size).toBe(size);
    expect(await store.run('prj_a', 'r1')).toBeNull();
    expect((await appended(store, request([event()])))[0]).toMatchObject({ index: size, runSeq: 0 });
    await expect.poll(() => store.condition().writable, { timeout: 5000 }).toBe(true);
    expect((await fsckPostgres({ url: processes.database.serving, deep: true })).problems).toEqual([]);
    await processes.drop();
  });

  it('an idle connection that ends is replaced by another one', async () => {
    const processes = await Processes.on(server);
    const store = processes.first;
    await appended(store, request([event()]));
    const client = new Client({ connectionString: processes.database.superuser });
    await client.connect();
    await client.query(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'gov'",
    );
    await client.end();
    expect((await store.run('prj_a', 'r1'))?.events).toBe(1);
    expect((await appended(store, request([event()])))[0]).toMatchObject({ runSeq: 1 });
    await processes.drop();
  });
});

describe.skipIf(missing !== null)('a commit', () => {
  /** Fails the n-th write with what the server would say. */
  const failing = (code: string, times: number): Faults => ({
    before: async (step) => {
      if (step === 'write' && (times -= 1) >= 0) throw Object.assign(new Error(`thrown ${code}`), { code });
    },
  });

  it.each(['40001', '40P01'])(
    'a commit that conflicts with others on the same rows (%s) is retried, at most six times',
    async (code) => {
      const processes = await Processes.on(server);
      const lucky = await processes.start({ faults: failing(code, 5) });
      expect((await appended(lucky, request([event(), event()])))[1]).toMatchObject({ index: 2, runSeq: 1 });
      const unlucky = await processes.start({ faults: failing(code, 6) });
      expect(await codeOf(unlucky.append(request([event()])))).toBe('OVERLOADED');
      expect((await appended(unlucky, request([event()])))[0]).toMatchObject({ index: 3, runSeq: 2 });
      await processes.drop();
    },
  );

  it.each([
    ['53100', 'STORAGE_FULL'],
    ['58030', 'STORAGE_FAULT'],
    ['53200', 'OVERLOADED'],
  ])(
    'a commit that the server fails with %s is refused as %s, and the next one is stored',
    async (code, problem) => {
      const processes = await Processes.on(server);
      const store = await processes.start({ faults: failing(code, 1) });
      expect(await codeOf(store.append(request([event()])))).toBe(problem);
      expect((await appended(store, request([event()])))[0]).toMatchObject({ index: 1, runSeq: 0 });
      await assertWhole(store, ['r1']);
      await processes.drop();
    },
  );

  it('a commit loses only the request whose row the database refuses', async () => {
    const processes = await Processes.on(server);
    const store = processes.first;
    const job = { jobId: 'job_1', type: 'proof', runId: 'r1', request: '{}', createdMs: startMs } as const;
    const made = () => request([event()], { effects: [{ kind: 'enqueueJob', job }] });
    const codes = await Promise.all(
      [made(), request([event()]), made(), request([event()])].map((each) => codeOf(store.append(each))),
    );
    expect(codes).toEqual(['none', 'none', 'INTERNAL', 'none']);
    expect((await store.run('prj_a', 'r1'))?.events).toBe(3);
    await assertWhole(store, ['r1']);
    expect(store.condition()).toEqual({ writable: true, reasons: [], altered: [], queued: 0 });
    await processes.drop();
  });

  it('reads that wait too long for a free connection are refused as OVERLOADED', async () => {
    const processes = await Processes.on(server);
    const held = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const faults: Faults = {
      before: async () => {
        reached.resolve();
        await held.promise;
      },
    };
    const store = await processes.start({ connections: 1, waitMs: 300, faults });
    const waiting = appended(store, request([event()]));
    await reached.promise;
    expect(await codeOf(store.head('prj_a', 'audit'))).toBe('OVERLOADED');
    held.resolve();
    expect((await waiting)[0]).toMatchObject({ index: 1 });
    expect((await store.head('prj_a', 'audit')).size).toBe(2);
    await processes.drop();
  });

  it('a commit that cannot get the lock in time is refused as OVERLOADED', async () => {
    const processes = await Processes.on(server);
    const blocked = new Client({ connectionString: processes.database.superuser });
    await blocked.connect();
    await blocked.query('BEGIN; SELECT FROM gov.head WHERE project = 1 FOR UPDATE');
    expect(await codeOf(processes.first.append(request([event()])))).toBe('OVERLOADED');
    await blocked.query('ROLLBACK');
    await blocked.end();
    expect((await appended(processes.first, request([event()])))[0]).toMatchObject({ index: 1 });
    await processes.drop();
  }, 30_000);
});
