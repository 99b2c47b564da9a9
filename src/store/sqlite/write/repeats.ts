/**
 * Rows that give a repeated request its first response: stored responses and clients' own event ids.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { keptOf, type ClientEvents, type KeptAnswers, type KeptRow } from '../../append/repeats.ts';
import { positionOf } from '../../file/position.ts';
import type { Prepare } from '../../file/statement.ts';

export function keptAnswers(prepare: Prepare): KeptAnswers {
  const find = prepare<KeptRow>(
    'find kept answer',
    'SELECT fingerprint, status, headers, body FROM idempotency WHERE project = ? AND key = ?',
  );
  const save = prepare(
    'keep answer',
    `INSERT INTO idempotency (project, key, fingerprint, at_ms, status, headers, body)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  return {
    find: (project, key) => {
      const row = find.get(project, key);
      return row === undefined ? null : keptOf(row);
    },
    save: (project, key, { fingerprint, atMs, response }) => {
      const { status, headers, body } = response;
      save.run(project, key, fingerprint, atMs, status, JSON.stringify(headers), body);
    },
  };
}

export function clientEvents(prepare: Prepare): ClientEvents {
  // The INSERT both checks and claims: it changes nothing if the id is known.
  const take = prepare(
    'claim client event',
    `INSERT INTO client_event (project, client_event_id, idx, fingerprint) VALUES (?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const find = prepare<{ index: number; fingerprint: string }>(
    'find client event',
    'SELECT idx AS "index", fingerprint FROM client_event WHERE project = ? AND client_event_id = ?',
  );
  const record = prepare<{ record: string }>(
    'find event record',
    'SELECT record FROM leaf WHERE position = ?',
  );
  return {
    claim: (project, clientEventId, { index, fingerprint }) => {
      if (take.run(project, clientEventId, index, fingerprint).changes === 1) return null;
      return find.get(project, clientEventId) ?? null;
    },
    has: (project, clientEventId) => find.get(project, clientEventId) !== undefined,
    eventId: (project, index) => {
      const row = record.get(positionOf(project, index));
      if (row === undefined)
        throw new GovError('STORAGE_FAULT', `expected leaf ${index}, got no row; run fsck`);
      return (JSON.parse(row.record) as { eventId: string }).eventId;
    },
  };
}
