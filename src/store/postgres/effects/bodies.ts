/**
 * Bodies that an erasure changes: looked up under the lock on the heads, written with the commit. A crash
 * before COMMIT leaves the values; a crash after it leaves the erased body.
 * Proven by `test/store/postgres/suite.alone.test.ts` and `test/store/postgres/effects/subject-keys.test.ts`.
 */
import { prunableSql } from '../../../core/decided/prune.ts';
import { openBody } from '../../erasure/body-seal.ts';
import type { EffectRows } from '../../append/effects.ts';
import { keptBody, resealed, type StoredRow } from '../../erasure/erasable-body.ts';
import type { Effect } from '../../port/store.ts';
import { idsOf } from '../../erasure/subject-keys.ts';
import { comparesSql } from '../../erasure/withdrawn.ts';
import { arrayOf } from '../connection/arrays.ts';
import { stepper, type CommitWriter } from './writing.ts';
import type { Lookup } from '../write/known.ts';
import type { Facts } from '../write/known.ts';
import { located, prunedBelow } from '../read/leaves.ts';
import { positionBits } from '../schema/tables.ts';
import { keysOf, secretsColumn, secretsOf, type Secrets } from './subject-secrets.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import {
  dropClientEvent,
  dropClientEvents,
  dropSubject,
  dropSubjects,
  savePrune,
} from '../../write/bodies.ts';

type BodyRow = { readonly idx: number; readonly secrets: string | null } & StoredRow;

const bodies = sql<BodyRow>(
  `SELECT i.idx, b.disclosures, b.erased, b.keys, ${secretsColumn} FROM ${located('SELECT unnest($2::int8[]) AS idx')} i
   CROSS JOIN LATERAL (SELECT disclosures, erased, keys FROM body WHERE position = i.position OFFSET 0) b`,
);

const takeFloor: Lookup['take'] = ([row], facts) => {
  facts.prunedBelow = (row as { below: number | null } | undefined)?.below ?? 0; // the row of this statement
};

/** Returns the look-ups of the bodies of all leaves that these effects name. */
export function bodyLookups(project: number, effects: readonly Effect[]): Lookup[] {
  const indexes = new Set<number>();
  for (const effect of effects) {
    if (effect.kind === 'eraseFields') for (const { index } of effect.targets) indexes.add(index);
  }
  const floor: Lookup[] = effects.some(({ kind }) => kind === 'prune')
    ? [{ step: step(prunedBelow, project), take: takeFloor }]
    : [];
  if (indexes.size === 0) return floor;
  return [
    ...floor,
    {
      step: step(bodies, project, arrayOf('int8', [...indexes])),
      take: (rows, facts) => {
        // rows of this statement
        for (const { idx, secrets, ...body } of rows as readonly BodyRow[]) {
          facts.bodies.set(idx, body);
          for (const [id, secret] of secretsOf(secrets)) facts.secrets.set(id, secret);
        }
      },
    },
  ];
}

/** Secrets of the keys that a body names. */
function secretsIn({ secrets }: Facts, { keys }: StoredRow): Secrets {
  const named = new Map<string, Uint8Array>();
  for (const id of idsOf(keys)) {
    const secret = secrets.get(id);
    if (secret !== undefined) named.set(id, secret);
  }
  return named;
}

const saveBody = sql(
  `UPDATE body SET disclosures = $3, erased = $4, keys = $5 WHERE position = ($1::int8 << ${positionBits}) + $2::int8`,
);

const range = `position >= ($1::int8 << ${positionBits}) + $2::int8 AND position < ($1::int8 << ${positionBits}) + $3::int8`;
const dropBodies = sql(
  `DELETE FROM body WHERE ${range}
     AND EXISTS (SELECT 1 FROM leaf WHERE leaf.position = body.position AND ${prunableSql('leaf.record')})`,
);
const dropLeaves = sql(`DELETE FROM leaf WHERE ${range} AND ${prunableSql('record')}`);

// run ids are compared in their JSON form, so that they also match requests
const withdrawResults = sql(
  `WITH gone AS MATERIALIZED (SELECT ARRAY(
     SELECT substring(record FROM '"runId":("(?:[^"\\\\]|\\\\.)*")') FROM leaf WHERE ${range}) AS runs)
   UPDATE job SET result = newest.text
   FROM gone, (SELECT '{"erasedBy":' || max(leaf_index) || '}' AS text FROM prune WHERE project = $1) newest
   WHERE project = $1 AND type = 'replay' AND status = 'completed'
     AND result <> newest.text AND (to_json(run_id)::text = ANY(runs) OR (${comparesSql}
       AND EXISTS (SELECT FROM unnest(runs) AS run WHERE starts_with(request, '{"compareRunId":' || run))))`,
);

/** Deletes the events of [from, to). The triggers require that a gov.prune/1 leaf covers them. */
export const dropSteps = (project: number, range: { from: number; to: number }): Step[] => [
  ...[withdrawResults, dropBodies, dropLeaves].map((each) => step(each, project, range.from, range.to)),
  ...[dropClientEvents, dropSubjects].map((each) => stepper(project)(each, range)),
];

export function bodyRows({
  project,
  facts,
  undo,
  seal,
  write,
  add,
}: CommitWriter): Pick<
  EffectRows,
  'body' | 'saveBody' | 'dropClientId' | 'dropSubject' | 'prunedBelow' | 'savePrune'
> {
  return {
    body: (index) => {
      const row = facts.bodies.get(index);
      return row === undefined ? null : keptBody(row, openBody(seal, row, keysOf(secretsIn(facts, row))));
    },
    saveBody: (index, kept, { isOwed }) => {
      const row = facts.bodies.get(index);
      const named = row === undefined ? [] : keysOf(secretsIn(facts, row));
      const { disclosures, keys } = resealed(seal, kept, { row, keys: named, isOwed });
      const { erased } = kept;
      undo.set(facts.bodies, index, { disclosures, erased, keys });
      write(step(saveBody, project, index, disclosures, erased, keys));
    },
    dropClientId: (clientEventId, index) => {
      undo.delete(facts.clients, clientEventId);
      add(dropClientEvent, { clientEventId, index });
    },
    dropSubject: (subject, index) => add(dropSubject, { subject, index }),
    prunedBelow: () => facts.prunedBelow,
    savePrune: (leaf, minIndex, root) => {
      const before = facts.prunedBelow;
      facts.prunedBelow = minIndex;
      undo.add(() => (facts.prunedBelow = before));
      add(savePrune, { leaf, minIndex, root });
    },
  };
}
