/**
 * Every statement of the write path fails once; then what was acknowledged must be there, what was refused
 * must not be half there, and fsck judges.
 */
import Database from 'better-sqlite3';
import { afterEach, describe, expect, it } from 'vitest';
import { declarationHash } from '../../../src/core/graphs/declaration.ts';
import type { AppendRequest } from '../../../src/store/port/store.ts';
import type { Faults } from '../../../src/store/file/faults.ts';
import type { SqliteStore } from '../../../src/store/sqlite/store.ts';
import { codeOf, event, genesis, projectOf, request, startMs } from '../support/fixture.ts';
import {
  addVersion,
  createPolicy,
  decideApproval,
  evaluation,
  movePolicy,
  openApproval,
  configure,
  snapshot,
  unmetered,
} from '../support/governance.ts';
import { signHead, TestPlane } from '../support/plane.ts';
import { graphed, noRows, proved } from '../support/proved.ts';
import { session, toldChanges, toldDeletion, toldTenant, toldUpdate } from '../support/tenants.ts';

const planes: TestPlane[] = [];
const newPlane = (): TestPlane => {
  const plane = new TestPlane();
  planes.push(plane);
  return plane;
};
afterEach(() => {
  for (const plane of planes.splice(0)) plane.drop();
});

/** Counts the steps of a write path, and lets one of them fail. */
class Injected implements Faults {
  readonly steps: string[] = [];
  readonly #failing: number;
  readonly #fail: () => void;

  /** The step with number `failing` runs `fail` instead of its statement. */
  constructor(failing: number, fail: () => void) {
    this.#failing = failing;
    this.#fail = fail;
  }

  before(step: string): void {
    this.steps.push(step);
    if (this.steps.length - 1 === this.#failing) this.#fail();
  }
}

const sqliteError = (code: string) => (): void => {
  throw new Database.SqliteError(`injected ${code}`, code);
};

const job = { jobId: 'job_1', type: 'proof' as const, runId: 'r0', request: '{}', createdMs: 0 };

/** Requests that between them use every kind of row; each with the key under which its answer is kept. */
const proof = proved('1', 'r0');
const graph = graphed('1', { runId: 'r0', sealed: true, rows: noRows });

const requests = (): AppendRequest[] => {
  const kept = (key: string) => ({
    key,
    fingerprint: 'f',
    response: { status: 201, body: key, headers: {} },
  });
  const batch = Array.from({ length: 40 }, (_, at) =>
    event({ runId: `r${at % 3}`, eventType: `type.${at % 2}`, clientEventId: `c${at}` }),
  );
  return [
    request(batch, { idempotency: kept('batch') }),
    request([event({ runId: 'r0', clientEventId: 'c1' }), event({ runId: 'r9' })], {
      idempotency: kept('repeat'),
    }),
    request([proof.leaf, graph.leaf], {
      meter: { op: 'compliance_proof', units: 1 },
      effects: [
        { kind: 'enqueueJob', job },
        { kind: 'declareGraph', runId: 'r0', declaration: '{}', atMs: 0 },
        { kind: 'saveProof', proof: proof.row, leaf: 0 },
        { kind: 'saveGraph', graph: graph.row, leaf: 1 },
        {
          kind: 'sealGraph',
          runId: 'r0',
          rootHash: graph.row.rootHash,
          declarationHash: declarationHash('{}'),
          leaf: 1,
        },
      ],
      idempotency: kept('effects'),
    }),
    ...governed().map(([key, made]) => ({ ...made, idempotency: kept(key) })),
    request(
      Array.from({ length: 300 }, () => event({ runId: 'r1' })),
      { idempotency: kept('tiles') },
    ),
  ];
};

const governed = (): [key: string, made: AppendRequest][] => [
  ['made', createPolicy('1')],
  ['version', addVersion('1', 2, 1)],
  ['active', movePolicy('1', 'active', { revision: 2, active: 2 })],
  ['opened', openApproval('1')],
  ['decided', decideApproval('1', 'approved')],
  [
    'others',
    unmetered(
      [snapshot('r0'), ...Array.from({ length: 20 }, (_, at) => evaluation(`${at + 2}`))],
      [{ kind: 'claimSnapshot', runId: 'r0' }],
    ),
  ],
  ['configured', configure('{}')],
];

const keyOfTenant = { projectId: 'prj_x_live', keyId: 'key_prj_x_live' } as const;

/** A tenant is there whole, or not at all; what changed of it too. */
async function judgeTenant(store: SqliteStore, acknowledged: ReadonlySet<string>, at: string): Promise<void> {
  const parts = [
    (await store.organization('org_x')) !== null,
    (await store.user('https://issuer.test', 'x')) !== null,
    ...(await Promise.all(
      ['prj_x_live', 'prj_x_test'].map(async (id) => (await store.project(id)) !== null),
    )),
    (await store.projects('org_x')).length > 0,
  ];
  expect(new Set(parts).size, at).toBe(1);
  if (acknowledged.has('tenant')) expect(parts[0], at).toBe(true);
  if (parts[0] !== true) return;
  const changed = [
    (await store.apiKeyOf('prj_x_live', 'key_new'))?.revokedMs === startMs,
    (await store.storedProject('org_x', 'prj_x_live'))?.name === 'renamed',
    (await store.session(session('x').digest))?.session.endedMs === startMs,
    (await store.organization('org_x'))?.customerId === 'cus_1',
    (await store.head('prj_x_live', 'audit')).size > 4,
  ];
  expect(new Set(changed).size, at).toBe(1);
  if (acknowledged.has('changed')) expect(changed[0], at).toBe(true);
  await judgeMove(store, acknowledged.has('moved'), at);
}

const deletion = () => toldDeletion(['x', 'live']);

/** Moves the home of production, and tells the new one. */
const move = (store: SqliteStore) => store.append({ ...deletion(), toHome: deletion().leaves });

async function judgeMove(store: SqliteStore, acknowledged: boolean, at: string): Promise<void> {
  const moved = [
    (await store.storedProject('org_x', 'prj_x_live'))?.deletedMs === startMs,
    (await store.organization('org_x'))?.home.production === 'prj_x_test',
    (await store.head('prj_x_test', 'audit')).size === 4,
    (await store.run('prj_x_test', 'gov.system'))?.events === 3,
  ];
  expect(new Set(moved).size, at).toBe(1);
  if (acknowledged) expect(moved[0], at).toBe(true);
}

/** Runs the scenario; returns the keys of what was acknowledged. */
async function scenario(store: SqliteStore): Promise<Set<string>> {
  const acknowledged = new Set<string>();
  const attempt = async (key: string, write: () => Promise<unknown>): Promise<void> => {
    try {
      await write();
      acknowledged.add(key);
    } catch {
      // refused: fsck and the kept answers judge
    }
  };
  await attempt('project', () => store.createProject(projectOf('a'), genesis('a')));
  const [first, ...others] = requests();
  await attempt('batch', () => store.append(first!));
  await attempt('signed', () => signHead(store));
  await Promise.all(others.map((each) => attempt(each.idempotency!.key, () => store.append(each))));
  await attempt('installed', () => store.claimInstallation('keys'));
  await attempt('tenant', () => store.createTenant(toldTenant('x')));
  await attempt('changed', () => store.append(toldChanges()));
  await attempt('moved', () => move(store));
  await attempt('used', () => store.used([{ ...keyOfTenant, atMs: startMs }]));
  await attempt('claimed', () => store.claimJob(1, 60_000));
  await attempt('swept', () => store.sweep(0));
  return acknowledged;
}

/** How many steps the scenario takes where nothing fails. */
async function countSteps(): Promise<string[]> {
  const faults = new Injected(-1, () => undefined);
  const store = newPlane().open({ faults });
  const acknowledged = await scenario(store);
  expect(acknowledged.size).toBe(20);
  await store.close();
  return faults.steps;
}

/** Signs a head that was not signed before; the signer is never called once writing has stopped. */
async function signNew(store: SqliteStore): Promise<void> {
  const head = await store.head('prj_a', 'metering');
  await store.saveCheckpoint(
    'prj_a',
    'metering',
    { origin: 'test/a/metering/0', ...head, extensions: [] },
    () => {
      throw new Error('it was signed');
    },
  );
}

/** The first and the last time that each step is taken. */
function edges(steps: readonly string[]): [failing: number, step: string][] {
  const places = steps.map((step, at) => [at, step] as [number, string]);
  return places.filter(([at, step]) => steps.indexOf(step) === at || steps.lastIndexOf(step) === at);
}

async function judge(plane: TestPlane, acknowledged: ReadonlySet<string>, at: string): Promise<void> {
  const store = plane.open();
  await judgeTenant(store, acknowledged, at);
  const exists = (await store.project('prj_a')) !== null;
  if (acknowledged.has('project')) expect(exists, at).toBe(true);
  if (exists) {
    for (const key of requests().map(({ idempotency }) => idempotency!.key)) {
      if (!acknowledged.has(key)) continue;
      expect((await store.keptResponse('prj_a', key))?.response.body, `${key} after ${at}`).toBe(key);
    }
    if (acknowledged.has('signed')) expect(await store.newestCheckpoint('prj_a', 'audit')).not.toBeNull();
    // goes on where it was
    await store.append(request([event()]));
  }
  await store.close();
  const report = await plane.fsck();
  expect(report.problems, at).toEqual([]);
}

/** A plane for each statement; other tests run beside it. */
const patient = { timeout: 180_000 };

describe('a failed statement in the write path', () => {
  it(
    'the writer stops for good on an I/O error in any statement and loses no acknowledged event',
    patient,
    async () => {
      const steps = await countSteps();
      for (const [failing, step] of edges(steps)) {
        const plane = newPlane();
        const faults = new Injected(failing, sqliteError('SQLITE_IOERR_WRITE'));
        let faulted = 0;
        let store: SqliteStore;
        try {
          store = plane.open({ faults, onFault: () => (faulted += 1) });
        } catch {
          continue; // failed while it opened
        }
        const acknowledged = await scenario(store);
        expect(store.condition(), step).toMatchObject({
          writable: false,
          reasons: [expect.stringMatching(/^storage_fault: /)],
        });
        expect(faulted, step).toBe(1);
        expect(await codeOf(store.append(request([event()]))), step).toBe('STORAGE_FAULT');
        await expect(signNew(store), step).rejects.toMatchObject({
          code: expect.stringMatching(/FAULT|NOT_FOUND/) as string,
        });
        await store.close();
        await judge(plane, acknowledged, `${failing} ${step}`);
        plane.drop();
      }
      expect(new Set(steps).size).toBeGreaterThan(45);
    },
  );

  it('the writer rolls back on a full disk in any statement and continues once there is space', async () => {
    const steps = await countSteps();
    for (const [failing, step] of edges(steps)) {
      const plane = newPlane();
      const faults = new Injected(failing, sqliteError('SQLITE_FULL'));
      let store: SqliteStore;
      try {
        store = plane.open({ faults });
      } catch {
        continue;
      }
      const acknowledged = await scenario(store);
      if (store.condition().writable) expect(step).toBe('sweep staged parts');
      else expect(await codeOf(store.append(request([event()]))), step).toBe('STORAGE_FULL');
      expect(store.probe(), step).toBe(true);
      expect(store.condition()).toEqual({ writable: true, reasons: [], altered: [], queued: 0 });
      if (!acknowledged.has('project')) await store.createProject(projectOf('a'), genesis('a'));
      for (const each of requests()) {
        const { outcome } = await store.append(each);
        expect(outcome, step).toBe(acknowledged.has(each.idempotency!.key) ? 'replayed' : 'stored');
      }
      if (!acknowledged.has('tenant')) await store.createTenant(toldTenant('x'));
      if (!acknowledged.has('changed')) await store.append(toldChanges());
      if (!acknowledged.has('moved')) await move(store);
      await judgeTenant(store, new Set(['tenant', 'changed', 'moved']), step);
      await store.close();
      expect((await plane.fsck()).problems, step).toEqual([]);
      plane.drop();
    }
  });

  it('a fault after a durable COMMIT gives the callers no success and leaves the store whole', async () => {
    const plane = newPlane();
    let db: Database.Database | undefined;
    let commits = 0;
    const faults: Faults = {
      opened: (opened) => (db = opened),
      before: (step) => {
        if (step !== 'commit' || ++commits !== 3) return;
        db?.exec('COMMIT');
        throw new Database.SqliteError('injected', 'SQLITE_IOERR_FSYNC');
      },
    };
    const store = plane.open({ faults });
    const acknowledged = await scenario(store);
    expect(acknowledged.has('repeat')).toBe(false);
    await store.close();
    await judge(plane, acknowledged, 'a durable commit');
  });

  it('a bug refuses only its own request, and the writer continues', async () => {
    const plane = newPlane();
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    const broken = request([{ ...event({ clientEventId: 'c1' }), clientEventId: 'c1' }], {
      fingerprints: new Map(),
    });
    const results = await Promise.allSettled([
      store.append(request([event({ clientEventId: 'c0' })])),
      store.append(broken),
      store.append(request([event({ clientEventId: 'c1' })])),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'INTERNAL' } });
    expect(store.condition().writable).toBe(true);
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });
});

describe('a missing home', () => {
  it('a missing home refuses only the requests that report to it', async () => {
    const plane = newPlane();
    await plane.open().close();
    const store = plane.open();
    await store.createTenant(toldTenant('x'));
    await store.createTenant(toldTenant('y'));
    plane.sql("UPDATE organization SET home_production = 'prj_none' WHERE organization_id = 'org_x'");
    const told = { toHome: [event({ runId: 'gov.system' })] };
    const results = await Promise.allSettled([
      store.append(request([event()], { projectId: 'prj_x_live' })),
      store.append({ ...toldUpdate(['x', 'live'], { name: 'n' }), ...told }),
      store.append(request([event()], { projectId: 'prj_x_live' })),
      store.append({ ...toldUpdate(['y', 'live'], { name: 'n' }), ...told }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect((await store.storedProject('org_x', 'prj_x_live'))?.name).toBe('live');
    expect((await store.head('prj_x_live', 'audit')).size).toBe(6);
    expect(store.condition()).toEqual({ writable: true, reasons: [], altered: [], queued: 0 });
    await store.close();
    expect((await plane.fsck()).problems).toMatchObject([
      { position: 'organization/org_x', kind: 'organization_mismatch' },
    ]);
  });
});

describe('a database locked by another program', () => {
  it('a database locked by another program refuses the commit in time, and the next one works', async () => {
    const plane = newPlane();
    const store = plane.open();
    await store.createProject(projectOf('a'), genesis('a'));
    const other = new Database(`${plane.dataDir}/gov.db`);
    other.exec('BEGIN IMMEDIATE');
    expect(await codeOf(store.append(request([event()])))).toBe('OVERLOADED');
    other.exec('ROLLBACK');
    other.close();
    expect((await store.append(request([event()]))).outcome).toBe('stored');
    await store.close();
    expect((await plane.fsck()).problems).toEqual([]);
  });
});
