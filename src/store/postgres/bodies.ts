/** Bodies that erasure changes: looked up under the lock on the heads, and written with the commit. */
import { prunableSql } from '../../core/decided/prune.ts';
import type { KeptBody } from '../../core/erased.ts';
import { isSealed } from '../bodyseal.ts';
import type { EffectRows } from '../effects.ts';
import type { Effect } from '../port.ts';
import { comparesSql } from '../withdrawn.ts';
import { arrayOf } from './arrays.ts';
import type { Writing } from './effects.ts';
import type { Lookup } from './facts.ts';
import { located, prunedBelow } from './readleaves.ts';
import { positionBits } from './schema.ts';
import { sql, step, type Step } from './wire.ts';

type BodyRow = { readonly idx: number } & KeptBody;

const bodies = sql<BodyRow>(
  `SELECT i.idx, b.disclosures, b.erased FROM ${located('SELECT unnest($2::int8[]) AS idx')} i
   CROSS JOIN LATERAL (SELECT disclosures, erased FROM body WHERE position = i.position OFFSET 0) b`,
);

const takeFloor: Lookup['take'] = ([row], facts) => {
  facts.prunedBelow = (row as { below: number | null } | undefined)?.below ?? 0; // of this very statement
};

/** The bodies of all leaves that these effects name. */
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
        // rows of this very statement
        for (const { idx, ...body } of rows as readonly BodyRow[]) facts.bodies.set(idx, body);
      },
    },
  ];
}

const saveBody = sql(
  `UPDATE body SET disclosures = $3, erased = $4 WHERE position = ($1::int8 << ${positionBits}) + $2::int8`,
);
const dropClient = sql('DELETE FROM client_event WHERE project = $1 AND client_event_id = $2 AND idx = $3');

const dropSubject = sql('DELETE FROM subject WHERE project = $1 AND subject = $2 AND idx = $3');

const savePrune = sql('INSERT INTO prune (project, leaf_index, min_index, root) VALUES ($1, $2, $3, $4)');

const range = `position >= ($1::int8 << ${positionBits}) + $2::int8 AND position < ($1::int8 << ${positionBits}) + $3::int8`;
const dropBodies = sql(
  `DELETE FROM body WHERE ${range}
     AND EXISTS (SELECT 1 FROM leaf WHERE leaf.position = body.position AND ${prunableSql('leaf.record')})`,
);
const dropLeaves = sql(`DELETE FROM leaf WHERE ${range} AND ${prunableSql('record')}`);
const dropClients = sql('DELETE FROM client_event WHERE project = $1 AND idx >= $2::int8 AND idx < $3::int8');
const dropSubjects = sql('DELETE FROM subject WHERE project = $1 AND idx >= $2::int8 AND idx < $3::int8');

// runs are compared as JSON has them, so that they compare with requests as well
const withdrawResults = sql(
  `WITH gone AS MATERIALIZED (SELECT ARRAY(
     SELECT substring(record FROM '"runId":("(?:[^"\\\\]|\\\\.)*")') FROM leaf WHERE ${range}) AS runs)
   UPDATE job SET result = (SELECT '{"erasedBy":' || max(leaf_index) || '}' FROM prune WHERE project = $1)
   FROM gone WHERE project = $1 AND type = 'replay' AND status = 'completed'
     AND substr(result, 1, 12) <> '{"erasedBy":' AND (to_json(run_id)::text = ANY(runs) OR (${comparesSql}
       AND EXISTS (SELECT FROM unnest(runs) AS run WHERE starts_with(request, '{"compareRunId":' || run))))`,
);

/** Drops the events of [from, to), which a gov.prune/1 leaf covers: the triggers see to that. */
export const dropSteps = (project: number, { from, to }: { from: number; to: number }): Step[] =>
  [withdrawResults, dropBodies, dropLeaves, dropClients, dropSubjects].map((each) =>
    step(each, project, from, to),
  );

export function bodyRows({
  project,
  facts,
  undo,
  seal,
  write,
}: Writing): Pick<
  EffectRows,
  'body' | 'saveBody' | 'dropClientId' | 'dropSubject' | 'prunedBelow' | 'savePrune'
> {
  return {
    body: (index) => {
      const stored = facts.bodies.get(index);
      const disclosures = stored === undefined ? null : seal.open(stored.disclosures);
      return stored === undefined || disclosures === null ? null : { ...stored, disclosures };
    },
    saveBody: (index, { disclosures, erased }) => {
      // what was in clear stays so: a sealed text is longer, and a body only gets shorter
      const wasSealed = isSealed(facts.bodies.get(index)?.disclosures ?? '');
      const stored = wasSealed ? seal.seal(disclosures) : disclosures;
      undo.set(facts.bodies, index, { disclosures: stored, erased });
      write(step(saveBody, project, index, stored, erased));
    },
    dropClientId: (clientEventId, index) => {
      undo.delete(facts.clients, clientEventId);
      write(step(dropClient, project, clientEventId, index));
    },
    dropSubject: (subject, index) => write(step(dropSubject, project, subject, index)),
    prunedBelow: () => facts.prunedBelow,
    savePrune: (leaf, minIndex, root) => {
      const before = facts.prunedBelow;
      facts.prunedBelow = minIndex;
      undo.add(() => (facts.prunedBelow = before));
      write(step(savePrune, project, leaf, minIndex, Buffer.from(root)));
    },
  };
}
