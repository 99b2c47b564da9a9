/** A SQLite store on disk for tests that reach below the port. */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { fsckStore } from '../../../src/store/fsck/run.ts';
import type { FsckReport } from '../../../src/store/fsck/check.ts';
import { openStore, type SqliteStore, type StoreOptions } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import {
  dropFolder,
  event,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  request,
  seededBytes,
  startMs,
  stored,
} from './fixture.ts';
import {
  acceptReplay,
  addVersion,
  completeReplay,
  configure,
  createPolicy,
  decideApproval,
  evaluation,
  movePolicy,
  openApproval,
  snapshot,
  unmetered,
} from './governance.ts';
import { unguarded } from '../../support/unguarded.ts';

export class TestPlane {
  readonly dataDir = newFolder();
  readonly clock = new HandClock();
  readonly randomBytes = seededBytes('plane');

  open(more: Partial<StoreOptions> = {}): SqliteStore {
    const { dataDir, clock, randomBytes } = this;
    return openStore({ dataDir, clock, randomBytes, reserveBytes: 0, ...more });
  }

  /** A closed store with project `prj_a`: genesis and `events` in three runs, batches of 50, two checkpoints. */
  async filled(events: number): Promise<this> {
    const store = this.open();
    await store.createProject(projectOf('a'), genesis('a'));
    for (let from = 0; from < events; from += 50) {
      this.clock.ms += 1000;
      const drafts = Array.from({ length: Math.min(50, events - from) }, (_, at) =>
        event({
          runId: `r${(from + at) % 3}`,
          clientEventId: `c${from + at}`,
          timestamp: new Date(this.clock.ms + at).toISOString(),
        }),
      );
      await stored(store, request(drafts));
      if (from === 0 || from + 50 >= events) await signHead(store);
    }
    await store.close();
    return this;
  }

  /**
   * After the events: two policies of two versions, one of them in force; a run with a snapshot and evaluations,
   * one approval denied, one open; the risk router, configured twice;
   * one replay completed, one not.
   */
  async governed(): Promise<this> {
    const store = this.open();
    const requests = [
      createPolicy('1'),
      createPolicy('2'),
      addVersion('1', 2, 1),
      addVersion('2', 2, 1),
      movePolicy('1', 'active', { revision: 2 }),
      movePolicy('2', 'active', { revision: 2 }),
      movePolicy('2', 'disabled', { revision: 3 }),
      unmetered([snapshot('r1'), evaluation('0')], [{ kind: 'claimSnapshot', runId: 'r1' }]),
      openApproval('1'),
      openApproval('2'),
      decideApproval('1', 'denied'),
      configure('{}'),
      configure('{"mode":"strict"}'),
    ];
    for (const each of requests) await stored(store, each);
    for (const id of ['1', '2']) {
      await stored(store, acceptReplay(id));
      const claimed = await store.claimJob(startMs, 1000);
      if (id === '1') await stored(store, completeReplay(id, claimed?.lease ?? ''));
    }
    await store.close();
    return this;
  }

  /** A plane with a copy of this one’s files; this one must be closed. */
  copy(): TestPlane {
    const copy = new TestPlane();
    copy.clock.ms = this.clock.ms;
    cpSync(this.dataDir, copy.dataDir, { recursive: true });
    return copy;
  }

  /** Changes the database below every guard. */
  sql(statements: string): void {
    const db = new Database(storeFiles(this.dataDir).main);
    unguarded(db, () => db.exec(statements));
    db.close();
  }

  /** Changes the database as whoever serves it could. */
  guarded(statement: string): void {
    const db = new Database(storeFiles(this.dataDir).main);
    try {
      db.exec(statement);
    } finally {
      db.close();
    }
  }

  /** Files of the store that hold a text. */
  holds(text: string): string[] {
    return readdirSync(this.dataDir).filter((name) =>
      readFileSync(join(this.dataDir, name)).includes(Buffer.from(text)),
    );
  }

  query<Row>(sql: string): Row[] {
    const db = new Database(storeFiles(this.dataDir).main, { readonly: true });
    try {
      return db.prepare<[], Row>(sql).all();
    } finally {
      db.close();
    }
  }

  fsck(deep = true): Promise<FsckReport> {
    return fsckStore({ dataDir: this.dataDir, deep });
  }

  drop(): void {
    dropFolder(this.dataDir);
  }
}

/** Saves a checkpoint of the audit head, without a real signature. */
export async function signHead(store: SqliteStore, projectId = 'prj_a'): Promise<void> {
  const project = await store.project(projectId);
  const head = await store.head(projectId, 'audit');
  const checkpoint = { origin: project?.auditOrigin ?? '', ...head, extensions: [] };
  await store.saveCheckpoint(
    projectId,
    'audit',
    checkpoint,
    ({ origin, size, root }) => `${origin}\n${size}\n${root.toString('base64')}\n\n— test sig\n`,
  );
}
