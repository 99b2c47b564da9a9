/** One stored byte changed below a serving plane: what touches it says so, everything else goes on. */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventIndex } from '../../../src/core/id.ts';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';

let plane: TestPlane;
const ids: string[] = [];
/** The leaf of the n-th event; leaves of the plane's own stand before the first. */
const leafOf = (event: number): number => eventIndex(ids[event]!)!;
beforeAll(async () => {
  plane = await startPlane();
  for (const runId of ['record', 'body', 'whole', 'source', 'renamed']) {
    const metadata = { note: 'correct', timestampSource: 'import' };
    const events = Array.from({ length: 5 }, (_, n) => event({ runId, metadata: { n, ...metadata } }));
    const { body } = await plane.call('POST', '/events/batch', { body: { events } });
    for (const { eventId } of body.results) ids.push(eventId);
  }
  const db = new Database(join(plane.dataDir, 'gov.db'));
  const triggers = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  db.prepare("UPDATE leaf SET record = replace(record, 'tool.call', 'tool.kall') WHERE idx = ?").run(
    leafOf(2),
  );
  const bodies: [event: number, from: string, to: string][] = [
    [7, 'correct', 'corrupt'],
    [17, '"import"', '"source"'],
    [22, '/timestampSource', '/timestampSauce'],
  ];
  const replace = db.prepare(
    `UPDATE body SET disclosures = replace(disclosures, ?, ?)
     WHERE position = (SELECT position FROM leaf WHERE idx = ?)`,
  );
  for (const [event, from, to] of bodies) replace.run(from, to, leafOf(event));
  db.close();
});
afterAll(() => plane.end());

const reasons = async (path: string) => {
  const { status, body } = await plane.call('GET', path);
  return {
    status,
    health: body.status as string,
    codes: body.reasons.map((each: string) => each.split(':', 1)[0]),
  };
};

describe('a stored byte that was changed', () => {
  it('is met by a worker thread: the proof is refused with its position, and health knows', async () => {
    expect((await reasons('/health')).codes).not.toContain('integrity_violation');
    const { status, body } = await plane.call('POST', '/proofs', { body: { runId: 'body' } });
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(body.detail).toContain(`leaf ${leafOf(7)} of the audit log`);
    expect((await reasons('/health')).codes).toContain('integrity_violation');
  });

  it.each([
    ['record', 2],
    ['source', 17],
    ['renamed', 22],
  ])('in %s is met by a proof of integrity alone, which names the leaf of event %i', async (runId, at) => {
    const composed = { layers: ['event_integrity'] };
    const { status, body } = await plane.call('POST', '/proofs', { body: { runId, composed } });
    expect([status, body.code]).toEqual([503, 'STORAGE_FAULT']);
    expect(body.detail).toContain(`leaf ${leafOf(at)} of the audit log`);
  });

  it('where a layer says nothing of it does not hinder that layer', async () => {
    const composed = { layers: ['event_integrity'] };
    const { status } = await plane.call('POST', '/proofs', { body: { runId: 'body', composed } });
    expect(status).toBe(201);
  });

  it.each([
    ['record', 2],
    ['body', 7],
  ])('in a %s is a storage fault that names the leaf of event %i and what to run', async (runId, at) => {
    for (const path of [`/events/${ids[at]}`, `/events?runId=${runId}`]) {
      const { status, body } = await plane.call('GET', path);
      expect([status, body.code], path).toEqual([503, 'STORAGE_FAULT']);
      expect(body.detail, path).toContain(`leaf ${leafOf(at)} of the audit log`);
      expect(body.detail, path).toContain('gov log fsck --deep');
    }
  });

  it('makes the plane degraded, and keeps it ready', async () => {
    expect(await reasons('/health')).toMatchObject({ status: 200, health: 'degraded' });
    expect((await reasons('/health')).codes).toContain('integrity_violation');
    expect((await reasons('/health/ready')).codes).not.toContain('integrity_violation');
  });

  it('leaves every other event readable, and writing and proving possible', async () => {
    for (const [at, id] of ids.entries()) {
      if ([2, 7, 17, 22].includes(at)) continue;
      expect((await plane.call('GET', `/events/${id}`)).status, `${at}`).toBe(200);
    }
    expect((await plane.call('POST', '/events', { body: event({ runId: 'record' }) })).status).toBe(201);
    expect((await plane.call('GET', '/events?runId=whole')).status).toBe(200);
    expect((await plane.call('POST', '/proofs', { body: { runId: 'whole' } })).status).toBe(201);
  });
});
