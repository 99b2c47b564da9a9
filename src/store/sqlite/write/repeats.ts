/**
 * Rows that give a repeated request its first response: stored responses and clients' own event ids.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import {
  eventIdOf,
  keptHeaders,
  keptOf,
  type ClientEvents,
  type KeptAnswers,
  type KeptRow,
} from '../../append/repeats.ts';
import { positionOf } from '../../file/position.ts';
import type { Prepare } from '../../file/statement.ts';
import { clientTable, keptTable } from '../../write/commit-tables.ts';
import { insertOne } from '../../write/statement.ts';
import type { Run } from '../effects/writing.ts';

const keepAnswer = insertOne(keptTable);
// The INSERT both checks and claims: it changes nothing if the id is known.
const claimClientId = insertOne(clientTable, 'ON CONFLICT DO NOTHING');

export function keptAnswers(prepare: Prepare, run: Run): KeptAnswers {
  const find = prepare<KeptRow>(
    'find kept answer',
    'SELECT fingerprint, status, headers, body FROM idempotency WHERE project = ? AND key = ?',
  );
  return {
    find: (project, key) => {
      const row = find.get(project, key);
      return row === undefined ? null : keptOf(row);
    },
    save: (project, key, { fingerprint, atMs, response }) => {
      const { status, body } = response;
      run(project, keepAnswer, { key, fingerprint, atMs, status, headers: keptHeaders(response), body });
    },
  };
}

export function clientEvents(prepare: Prepare, run: Run): ClientEvents {
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
      if (run(project, claimClientId, { clientEventId, index, fingerprint }) === 1) return null;
      return find.get(project, clientEventId) ?? null;
    },
    has: (project, clientEventId) => find.get(project, clientEventId) !== undefined,
    event: (project, index) => {
      const row = record.get(positionOf(project, index));
      if (row === undefined)
        throw new GovError('STORAGE_FAULT', `expected leaf ${index}, got no row; run fsck`);
      return eventIdOf(row.record);
    },
  };
}
