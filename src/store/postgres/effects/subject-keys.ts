/**
 * Keys of subjects in the table `subject_key`; `src/store/erasure/subject-keys.ts` judges. One statement
 * reads them with the bodies that name them, so both are of one snapshot. A commit looks up the keys of the
 * subjects that its requests name, under the lock on the heads. The transaction of the erasure destroys them:
 * a crash before COMMIT leaves the keys, a crash after it leaves zeros.
 * Proven by `test/store/postgres/effects/subject-keys.test.ts`.
 */
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { AppendRequest } from '../../port/store.ts';
import type { Effect } from '../../port/store.ts';
import {
  idsOf,
  inOrder,
  newSubjectKey,
  noSecret,
  noSubject,
  type SubjectKey,
} from '../../erasure/subject-keys.ts';
import type { SubjectKeyRows } from '../../erasure/subject-keys.ts';
import { arrayOf, textArray } from '../connection/arrays.ts';
import type { Lookup } from '../write/known.ts';
import type { Facts } from '../write/known.ts';
import { located } from '../read/leaves.ts';
import type { Rows } from '../write/table-rows.ts';
import { isDestroyed, secretsColumn, secretsOf } from './subject-secrets.ts';
import type { Undo } from '../write/undo.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import type { NewSubjectKey, SubjectFacts } from '../write/known.ts';

interface KeyRow {
  readonly subject: string;
  readonly key_id: string;
  readonly secret: Buffer;
}

const keysAbout = sql<KeyRow>(
  'SELECT subject, key_id, secret FROM subject_key WHERE project = $1 AND subject = ANY($2::text[]) ORDER BY key_id',
);
interface BesideRow {
  readonly keys: string;
  readonly sealed: boolean;
  readonly secrets: string | null;
}

const beside = sql<BesideRow>(
  `SELECT b.keys, b.sealed, ${secretsColumn} FROM (
     SELECT DISTINCT b.keys, b.sealed
     FROM ${located('SELECT idx FROM subject WHERE project = $1 AND subject = $2')} i
     CROSS JOIN LATERAL (SELECT keys, disclosures <> '[]' AS sealed FROM body
       WHERE position = i.position AND keys IS NOT NULL OFFSET 0) b
     WHERE i.idx <> ALL($3::int8[])) b`,
);
export const subjectKeyCount = sql<{ keys: number }>(
  'SELECT count(*) AS keys FROM subject_key WHERE project = $1 AND subject = $2',
);

/**
 * Returns look-ups of the keys of all subjects that requests name, if bodies are sealed. For a subject whose
 * key an erasure destroys, also the other bodies about it.
 */
export function keyLookups(project: number, requests: readonly AppendRequest[], seal: BodySeal): Lookup[] {
  if (!seal.seals) return [];
  const subjects = new Set<string>();
  for (const { leaves } of requests) {
    for (const draft of leaves) for (const subject of draft.subjects ?? []) subjects.add(subject);
  }
  const ends = requests.flatMap(({ effects = [] }) => effects.flatMap((effect) => endOf(effect)));
  for (const { subject } of ends) subjects.add(subject);
  if (subjects.size === 0) return [];
  const lookups: Lookup[] = [
    {
      step: step(keysAbout, project, textArray([...subjects])),
      take: (rows, facts) => {
        // rows of this statement
        for (const { subject, key_id: id, secret } of rows as readonly KeyRow[]) {
          const found = facts.subjectKeys.get(subject) ?? [];
          facts.subjectKeys.set(subject, [...found, { id, secret }]);
        }
      },
    },
  ];
  for (const { subject, indexes } of ends) {
    lookups.push({
      step: step(beside, project, subject, arrayOf('int8', indexes)),
      take: (rows, facts) => {
        // rows of this statement
        for (const { keys, sealed, secrets } of rows as readonly BesideRow[]) {
          if (sealed) facts.sealedBeside.add(subject);
          else facts.owed.set(subject, [...(facts.owed.get(subject) ?? []), idsOf(keys)]);
          for (const [id, secret] of secretsOf(secrets)) facts.secrets.set(id, secret);
        }
      },
    });
  }
  return lookups;
}

function endOf(effect: Effect): { subject: string; indexes: number[] }[] {
  if (effect.kind !== 'eraseFields' || effect.destroysKey !== true || effect.subject === undefined) return [];
  return [{ subject: effect.subject, indexes: effect.targets.map(({ index }) => index) }];
}

export const noSubjectFacts = (): SubjectFacts => ({
  subjectKeys: new Map(),
  sealedBeside: new Set(),
  owed: new Map(),
  sealedNow: new Set(),
  secrets: new Map(),
});

/** Returns the keys that seal a body about these subjects; the commit creates missing keys. */
export function sealingKeys(
  facts: SubjectFacts,
  made: Rows<NewSubjectKey>,
): (project: number, subjects: readonly string[]) => readonly SubjectKey[] {
  return (project, subjects) =>
    inOrder(
      subjects.map((subject) => {
        facts.sealedNow.add(subject);
        const [found] = facts.subjectKeys.get(subject) ?? [];
        if (found !== undefined) return found;
        const key = newSubjectKey();
        facts.subjectKeys.set(subject, [key]);
        made.add({ project, keyId: key.id, subject, secret: key.secret });
        return key;
      }),
    );
}

const destroy = sql(
  `UPDATE subject_key SET secret = decode(repeat('00', ${noSecret.length}), 'hex'), subject = '${noSubject}'
   WHERE project = $1 AND key_id = ANY($2::text[])`,
);
const eraseKeys = sql(
  'INSERT INTO erased_key (project, leaf_index, key_id) SELECT $1, $2, * FROM unnest($3::text[])',
);

/** Destroys keys of all projects that a restored older copy of the table still has. */
export const destroyAgain = sql(
  `UPDATE subject_key k SET secret = decode(repeat('00', ${noSecret.length}), 'hex'), subject = '${noSubject}'
   FROM erased_key e WHERE e.project = k.project AND e.key_id = k.key_id AND k.subject <> '${noSubject}'`,
);

export function subjectKeyRows({
  project,
  facts,
  undo,
  seal,
  write,
}: {
  readonly project: number;
  readonly facts: Facts;
  readonly undo: Undo;
  readonly seal: BodySeal;
  write(made: Step): void;
}): SubjectKeyRows {
  return {
    subjectKeys: (subject) => (facts.subjectKeys.get(subject) ?? []).map(({ id }) => id),
    keyState: (keyId) => {
      const secret = facts.secrets.get(keyId);
      if (secret === undefined) return 'absent';
      return isDestroyed(secret) ? 'destroyed' : 'there';
    },
    owedOf: (subject) => facts.owed.get(subject) ?? [],
    hasSealed: (subject) => facts.sealedNow.has(subject) || facts.sealedBeside.has(subject),
    destroyKeys: (subject, keyIds, leaf) => {
      undo.delete(facts.subjectKeys, subject);
      const ids = textArray([...keyIds]);
      write(step(eraseKeys, project, leaf, ids));
      write(step(destroy, project, ids));
      seal.forget();
    },
  };
}
