/**
 * `fsck`: compares bodies with the commitments of records, and checks erasures.
 * Each digest of a record (RFC 9901 §4.2.1) has exactly one disclosure or a `gov.erasure/1` leaf that names
 * it. A body has nothing else. Fields that an erasure names are no longer stored.
 * Proven by `test/store/fsck/tamper-erased.test.ts`.
 */
import { isCommittedText } from '../../../core/events/bodies.ts';
import { erasuresOf, unkeptOf, type KeptBody } from '../../../core/events/erased.ts';
import { readErasure } from '../../../core/decided/erasure.ts';
import { storedDigests } from '../../../core/events/disclosure.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { FsckKind } from '../check.ts';
import type { RecordCheck } from '../record.ts';
import { bodyReader, subjectsOf, type BodyRow } from '../../file/body-seal.ts';
import type { Value } from '../../file/connection.ts';
import { positionOf } from '../../file/position.ts';

export interface ErasureCheck extends RecordCheck {
  /** Called with the body of a leaf and the digests that the leaf commits to. */
  body(index: number, digests: readonly string[], body: StoredBody): void;
}

/** A body with its record. `disclosures` is null if there is no row. */
type StoredBody = Pick<KeptBody, 'erased' | 'isGone'> & {
  readonly record: string;
  readonly disclosures: string | null;
};

/** Erasures whose targets stay in memory: up to 60 KB each. */
const heldErasures = 64;

/** `prunedBelow`: below this index an event may be missing together with its body. */
export function erasureCheck(check: Check, project: CheckedProject, prunedBelow: number): ErasureCheck {
  const { db, deep } = check;
  const names = erasureReader(check, project);
  const read = bodyReader(db);
  const hasKeys = subjectsOf(db) !== null;
  const kept = db.prepare<Value[], BodyRow>('SELECT disclosures, erased, keys FROM body WHERE position = ?');
  const problemAt =
    (index: number) =>
    (kind: FsckKind, expected: string, got: string): void =>
      check.problem(`${project.projectId}/audit/${index}`, kind, { expected, got });

  const body = (index: number, digests: readonly string[], stored: StoredBody): void => {
    const { record, disclosures, erased, isGone } = stored;
    const problem = problemAt(index);
    if (disclosures === null) {
      if (digests.length > 0) problem('body_missing', `${digests.length} disclosures`, 'none');
      return;
    }
    if (!deep) return;
    if (isGone === true && !hasKeys) return check.unopened();
    const committed = new Set(digests);
    const found = storedDigests(disclosures) ?? ['no disclosures'];
    const other = found.find((digest) => !committed.delete(digest));
    if (other !== undefined)
      return problem('body_altered', 'disclosures that the record committed to', other);
    const unkept = unkeptOf(digests, { disclosures, erased });
    const { missing } = unkept;
    const unnamed = unkept.erased.find(({ digest, leaf }) => !names(leaf, index).has(digest));
    if (unnamed !== undefined) {
      const expected = `a gov.erasure/1 leaf at ${unnamed.leaf} that names ${unnamed.digest}`;
      problem('erasure_mismatch', expected, 'none');
    } else if (erased !== null) {
      const leaves = erasuresOf(erased);
      if (leaves.length === 0 || leaves.some((leaf) => names(leaf, index).size === 0))
        problem('erasure_mismatch', 'nothing, or erasures that name this leaf', erased.slice(0, 80));
    }
    if (missing.length > 0)
      problem('body_missing', `${digests.length} disclosures`, `${digests.length - missing.length}`);
    else if (unkept.erased.length === 0 && isCommittedText(record, disclosures) === false)
      problem('body_altered', 'disclosures in the order that _sd_hash commits to', 'another order');
  };

  /** Checks that the erasure was carried out. */
  const visit = (index: number, record: JsonObject): void => {
    if (record['type'] !== 'gov.erasure/1') return;
    const problem = problemAt(index);
    const erasure = readErasure(JSON.stringify(record));
    if (erasure === null) return problem('record_malformed', 'an erasure', 'something else');
    for (const target of erasure.targets) {
      const row = kept.get(positionOf(project.no, target.index));
      if (row === undefined && target.index < prunedBelow) continue;
      if (row === undefined || !erasuresOf(row.erased).includes(index)) {
        problem('erasure_mismatch', `a body of leaf ${target.index} that names this erasure`, 'another body');
      } else if (deep) {
        const { opened } = read(positionOf(project.no, target.index), row);
        const still = new Set(typeof opened === 'string' ? [] : storedDigests(opened.text));
        const left = target.digests.filter((digest) => still.has(digest));
        if (left.length === 0) continue;
        problem('erasure_mismatch', `no field of leaf ${target.index} that was erased`, `${left.length}`);
      }
    }
  };
  return { body, visit, finish: () => {} };
}

const nothing: ReadonlySet<string> = new Set();

/** Reads the digests of a leaf that an erasure names. Returns none if there is no erasure at that index. */
function erasureReader({ db }: Check, project: CheckedProject) {
  const find = db.prepare<Value[], string>('SELECT record FROM leaf WHERE position = ?').pluck();
  const held = new Map<number, ReadonlyMap<number, ReadonlySet<string>>>();
  const read = (leaf: number): ReadonlyMap<number, ReadonlySet<string>> => {
    // also reads an erasure that was appended during the check, since the body may already name it
    const record = leaf >= 0 ? find.get(positionOf(project.no, leaf)) : undefined;
    const { targets = [] } = (record === undefined ? null : readErasure(record)) ?? {};
    return new Map(targets.map(({ index, digests }) => [index, new Set(digests)]));
  };
  return (leaf: number, index: number): ReadonlySet<string> => {
    let erasure = held.get(leaf);
    if (erasure === undefined) {
      if (held.size >= heldErasures) held.clear();
      held.set(leaf, (erasure = read(leaf)));
    }
    return erasure.get(index) ?? nothing;
  };
}
