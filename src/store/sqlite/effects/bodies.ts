/**
 * The rows of bodies that an erasure changes, one by one in the transaction of their request. A crash before
 * COMMIT leaves the values; a crash after it leaves the erased body. Source: SQLite's documentation of
 * `PRAGMA secure_delete`.
 * Proven by `test/store/sqlite/effects/faults-subjects.long.test.ts` and
 * `test/store/sqlite/upkeep/rewrite.long.test.ts`.
 */
import { openBody, type BodySeal } from '../../erasure/body-seal.ts';
import type { EffectRows } from '../../append/effects.ts';
import { keptBody, resealed, type StoredRow } from '../../erasure/erasable-body.ts';
import { idsOf, type SubjectKey, type SubjectKeyRows } from '../../erasure/subject-keys.ts';
import type { Current } from './current.ts';
import { positionOf, positionSql } from '../../file/position.ts';
import { floorSql } from '../../file/pruned.ts';
import type { Prepare } from '../../file/statement.ts';
import type { SubjectKeys } from './subject-keys.ts';
import { runner } from './writing.ts';
import { dropClientEvent, dropSubject, savePrune } from '../../write/bodies.ts';

/** How bodies are sealed, and the keys of their subjects. */
export interface EffectSeal {
  readonly seal: BodySeal;
  readonly keys: SubjectKeys;
}

type BodyRows = Pick<
  EffectRows,
  'body' | 'saveBody' | 'dropClientId' | 'dropSubject' | 'prunedBelow' | 'savePrune' | keyof SubjectKeyRows
>;

/** Bodies about a subject that name keys. */
const about = `subject s JOIN body ON body.position = ${positionSql('s')}
     WHERE s.project = ? AND s.subject = ? AND body.keys IS NOT NULL`;

/** Overwrites freed bytes with zeros, so that no erased value stays in pages of the file. */
export function bodyRows(prepare: Prepare, current: Current, { seal, keys }: EffectSeal): BodyRows {
  const overwrite = prepare('overwrite what is freed', 'PRAGMA secure_delete = 1');
  const leave = prepare('leave what is freed', 'PRAGMA secure_delete = 0');
  const find = prepare<StoredRow>(
    'find body',
    'SELECT disclosures, erased, keys FROM body WHERE position = ?',
  );
  const save = prepare(
    'erase fields',
    'UPDATE body SET disclosures = ?, erased = ?, keys = ? WHERE position = ?',
  );
  const run = runner(prepare);
  const sealed = prepare('find sealed body', `SELECT 1 FROM ${about} AND body.disclosures <> '[]' LIMIT 1`);
  const owed = prepare<{ keys: string }>(
    'find owed keys',
    `SELECT DISTINCT body.keys FROM ${about} AND body.disclosures = '[]'`,
  );
  const floor = prepare<{ below: number | null }>('find pruned', floorSql);
  const zeroing = (change: () => unknown): void => {
    overwrite.all();
    try {
      change();
    } finally {
      leave.all();
    }
  };
  const { isUsed, ...keyRows } = keys.rows(current);
  const keysOf = (text: string | null): SubjectKey[] => idsOf(text).flatMap((id) => keys.find(id) ?? []);
  return {
    ...keyRows,
    hasSealed: (subject) => isUsed(subject) || sealed.get(current.project, subject) !== undefined,
    owedOf: (subject) => owed.all(current.project, subject).map(({ keys: ids }) => idsOf(ids)),
    body: (index) => {
      const row = find.get(positionOf(current.project, index));
      return row === undefined ? null : keptBody(row, openBody(seal, row, keysOf(row.keys)));
    },
    saveBody: (index, kept, { isOwed }) => {
      const position = positionOf(current.project, index);
      const row = find.get(position);
      const sealing = { row, keys: keysOf(row?.keys ?? null), isOwed };
      const { disclosures, keys: named } = resealed(seal, kept, sealing);
      zeroing(() => save.run(disclosures, kept.erased, named, position));
    },
    dropClientId: (clientEventId, index) =>
      zeroing(() => run(current.project, dropClientEvent, { clientEventId, index })),
    dropSubject: (subject, index) => zeroing(() => run(current.project, dropSubject, { subject, index })),
    prunedBelow: () => floor.get(current.project)?.below ?? 0,
    savePrune: (leaf, minIndex, root) => {
      run(current.project, savePrune, { leaf, minIndex, root });
    },
  };
}
