/** A pass of the scrub over a log whose stored bytes were changed below a serving plane. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventIndex } from '../../../src/core/id.ts';
import { canonicalize } from '../../../src/core/json/parse.ts';
import { leafHash } from '../../../src/core/merkle/tree.ts';
import { readPlaneFile } from '../../../src/host/data/config.ts';
import { readKeys } from '../../../src/host/keys/disk.ts';
import { readOn, startPass, type ScrubServices } from '../../../src/service/operations/scrub.ts';
import { readScrub, unread, type ScrubState } from '../../../src/service/operations/scrub-state.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
let projectId: string;
const ids: string[] = [];
const leafOf = (at: number): number => eventIndex(ids[at]!)!;

beforeEach(async () => {
  ids.length = 0;
  plane = await startPlane();
  ({ projectId } = readPlaneFile(join(plane.dataDir, 'plane.json')));
  for (let round = 0; round < 3; round++) {
    const events = Array.from({ length: 100 }, (_, n) => event({ metadata: { n, note: 'correct' } }));
    const { body } = await plane.call('POST', '/events/batch', { body: { events } });
    for (const { eventId } of body.results) ids.push(eventId);
  }
  await plane.call('POST', '/proofs', { body: { runId: 'run-1' } }); // signs a checkpoint of all events
});
afterEach(() => plane.end());

function query<Row>(sql: string, ...values: number[]): Row {
  const db = new Database(join(plane.dataDir, 'gov.db'), { readonly: true });
  try {
    return db.prepare<number[], Row>(sql).get(...values)!;
  } finally {
    db.close();
  }
}

function change(sql: string, ...values: (string | number | Buffer)[]): void {
  const db = new Database(join(plane.dataDir, 'gov.db'));
  const triggers = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  expect(db.prepare(sql).run(...values).changes).toBeGreaterThan(0);
  db.close();
}

/** A whole pass in slices of `most` leaves. After each slice the state goes through its JSON, as over a restart. */
async function pass(most: number): Promise<ScrubState> {
  const store = openReader(join(plane.dataDir, 'gov.db'));
  const keys = readKeys(plane.dataDir);
  const services: ScrubServices = { store, now: () => 1_800_000_000_000, verifierKeys: keys.verifierKeys };
  try {
    let state = await startPass(services, projectId, unread);
    while (state.reading !== null)
      state = readScrub(JSON.stringify(await readOn(services, projectId, { state, most })));
    return state;
  } finally {
    store.close();
  }
}

describe('a pass of the scrub', () => {
  it.each([1000, 256, 7])('finds nothing in a whole log, read in slices of %i leaves', async (most) => {
    const state = await pass(most);
    expect(state).toMatchObject({ found: 0, findings: [], reading: null });
    expect(state.last?.leaves).toBeGreaterThan(303);
  });

  it('names each altered leaf of a slice and reads on after it', async () => {
    const replaced = "UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx IN (?, ?)";
    change(replaced, leafOf(5), leafOf(201));
    const state = await pass(256);
    expect(state.findings.map(({ tree, index }) => [tree, index])).toEqual([
      ['audit', leafOf(5)],
      ['audit', leafOf(201)],
    ]);
    expect(state.findings[0]?.detail).toContain('does not match its hash');
  });

  it('names a leaf whose body was changed', async () => {
    change(
      `UPDATE body SET disclosures = replace(disclosures, 'correct', 'corrupt')
       WHERE position = (SELECT position FROM leaf WHERE idx = ?)`,
      leafOf(150),
    );
    expect((await pass(64)).findings).toMatchObject([{ tree: 'audit', index: leafOf(150) }]);
  });

  it('names a leaf that was deleted', async () => {
    change('DELETE FROM leaf WHERE idx = ?', leafOf(299));
    expect((await pass(256)).findings).toMatchObject([{ tree: 'audit', index: leafOf(299) }]);
  });

  it('finds a record that was replaced together with its hash, because the signed root differs', async () => {
    const at = leafOf(100);
    const { record } = query<{ record: string }>('SELECT record FROM leaf WHERE idx = ?', at);
    const forged = canonicalize({ ...(JSON.parse(record) as object), causedBy: ['forged'] });
    change('UPDATE leaf SET record = ? WHERE idx = ?', forged, at);
    const offset = (at % 32) * 32;
    change(
      `UPDATE tile SET hashes = CAST(substr(hashes, 1, ${offset}) || ? || substr(hashes, ${offset + 33}) AS BLOB)
       WHERE tree = 0 AND level = 0 AND n = ? AND part = ?`,
      leafHash(forged),
      Math.floor(at / 256),
      Math.floor((at % 256) / 32),
    );
    const { findings } = await pass(64);
    expect(findings).toMatchObject([
      { tree: 'audit', detail: expect.stringContaining('do not hash to the root') },
    ]);
  });

  it('names a checkpoint that cannot be read, and still reads the leaves', async () => {
    change("UPDATE checkpoint SET note = 'garbage' WHERE tree = 0");
    change("UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx = ?", leafOf(5));
    const { findings, last } = await pass(256);
    expect(findings).toMatchObject([
      { tree: 'audit', detail: expect.stringContaining('a stored checkpoint cannot be read') },
      { tree: 'audit', index: leafOf(5) },
    ]);
    expect(last?.found).toBe(2);
    const { status, body } = await plane.call('GET', '/operations/integrity');
    expect(status).toBe(200);
    expect(body.checkpoints[0]).toMatchObject({ tree: 'audit', signed: null });
  });

  it('keeps the first findings and counts all of them', async () => {
    change("UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx >= ?", leafOf(200));
    const state = await pass(256);
    expect([state.findings.length, state.found]).toEqual([20, 100]);
  });
});
