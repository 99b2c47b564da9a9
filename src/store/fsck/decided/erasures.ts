/**
 * `fsck`: bodies against what records committed to, and erasures. Each digest of a record is opened by one disclosure or
 * named by a `gov.erasure/1` leaf, and nothing else is stored; what an erasure names is gone.
 */
import { isCommittedText } from '../../../core/event/bodies.ts';
import { erasuresOf, unkeptOf, type KeptBody } from '../../../core/event/erased.ts';
import { readErasure } from '../../../core/decided/erasure.ts';
import { storedDigests } from '../../../core/event/disclosure.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import type { Check, CheckedProject, FsckKind } from '../run.ts';
import type { RecordCheck } from '../record.ts';
import { bodyReader, subjectsOf, type BodyRow } from '../../file/body-seal.ts';
import type { Value } from '../../file/connection.ts';
import { positionOf } from '../../file/position.ts';

export interface ErasureCheck extends RecordCheck {
  /** The body of a leaf that committed to these digests. */
  body(index: number, digests: readonly string[], body: StoredBody): void;
}

/** With the record that it stands beside; `disclosures` is null where there is no row. */
type StoredBody = Pick<KeptBody, 'erased' | 'isGone'> & {
  readonly record: string;
  readonly disclosures: string | null;
};

/** Erasures whose targets are held in memory: up to 60 KB each. */
const heldErasures = 64;

/** `prunedBelow`: where an event may be gone with its body. */
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
      problem('body_altered', 'the disclosures as one text that _sd_hash is of', 'the same in another order');
  };

  /** That it was carried out. */
  const visit = (index: number, record: JsonObject): void => {
    if (record['type'] !== 'gov.erasure/1') return;
    const problem = problemAt(index);
    const erasure = readErasure(JSON.stringify(record));
    if (erasure === null) return problem('record_malformed', 'an erasure', 'something else');
    for (const target of erasure.targets) {
      const row = kept.get(positionOf(project.no, target.index));
      if (row === undefined && target.index < prunedBelow) continue;
      if (row === undefined || !erasuresOf(row.erased).includes(index)) {
        problem('erasure_mismatch', `the body of leaf ${target.index} to name this erasure`, 'not so');
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

/** The digests of a leaf that an erasure names; none where there is no erasure at that index. */
function erasureReader({ db }: Check, project: CheckedProject) {
  const find = db.prepare<Value[], string>('SELECT record FROM leaf WHERE position = ?').pluck();
  const held = new Map<number, ReadonlyMap<number, ReadonlySet<string>>>();
  const read = (leaf: number): ReadonlyMap<number, ReadonlySet<string>> => {
    // also one that was appended beside the check, which the body knows of already
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
