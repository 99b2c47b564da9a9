/**
 * Evidence that a log signed an index which leaves out an event (`kind` `index_omission` of an evidence file):
 *
 *   checkpoint  the signed note of a tree that has the index leaf and the event
 *   index       { index, record, inclusion }: the `gov.index/1` leaf
 *   entry       what its map says of ["run", R]
 *   leaf        { index, record, inclusion }: an event of run R, below the size of the index
 *   item?       { leaf, inclusion }: what the list of the run has in place of the event
 *
 * An event has its number in its run (`runSeq`), which is its place in the list. So the index is false where the map lacks
 * the run, where its list ends before that place, or where the list has another leaf there. No honest log has such an index.
 * Attacker controlled; nothing here throws but VALIDATION_ERROR. Proven by `test/core/evidence/index-omission.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isListed, openEntry, readEntry, type MapEntry } from '../completeness/entry.ts';
import { keyText, readMapped } from '../completeness/map-function.ts';
import { parseHash } from '../hash.ts';
import type { Json } from '../json/parse.ts';
import { canonicalText } from '../json/canonical.ts';
import { hash, hashForm, list, object, text, type Location, type Shape } from '../json/shape.ts';
import { leafHash, verifyInclusion } from '../merkle/tree.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import { pathHashes, type IncludedRecord } from '../proofs/bundle.ts';
import { Fault, openIndex } from '../proofs/completeness.ts';
import { readIncluded } from '../proofs/read-bundle.ts';
import { evidenceMediaType } from './media-type.ts';

export interface IndexOmission {
  readonly checkpoint: string;
  readonly index: IncludedRecord;
  readonly entry: MapEntry;
  readonly leaf: IncludedRecord;
  readonly item?: { readonly leaf: string; readonly inclusion: readonly string[] };
}

export const indexOmissionText = (omission: IndexOmission): string =>
  `${canonicalText({ mediaType: evidenceMediaType, kind: 'index_omission', ...omission })}\n`;

const shape: Shape = {
  required: ['checkpoint', 'entry', 'index', 'kind', 'leaf', 'mediaType'],
  optional: ['item'],
};
const itemShape: Shape = { required: ['inclusion', 'leaf'] };

/** Reads the file, whose media type and kind the caller read. Throws VALIDATION_ERROR. */
export function readIndexOmission(value: Json, at: Location): IndexOmission {
  const read = object(value, at, shape);
  const { item } = read;
  return {
    checkpoint: text(read, 'checkpoint', at),
    index: readIncluded(read['index'], { up: at, name: 'index' }),
    entry: readEntry(read['entry'] ?? null, { up: at, name: 'entry' }),
    leaf: readIncluded(read['leaf'], { up: at, name: 'leaf' }),
    ...(item === undefined ? {} : { item: readItem(item, { up: at, name: 'item' }) }),
  };
}

function readItem(value: Json, at: Location): NonNullable<IndexOmission['item']> {
  const item = object(value, at, itemShape);
  return {
    leaf: text(item, 'leaf', at, hashForm),
    inclusion: list(item, 'inclusion', at, { max: limits.proofPathHashes, read: hash }),
  };
}

/** What the file shows under a trusted checkpoint, in words, or why it shows nothing. */
export function judgeOmission(
  { index: shown, entry, leaf, item }: Omit<IndexOmission, 'checkpoint'>,
  tree: Checkpoint,
): string | Fault {
  const index = openIndex(shown, tree);
  if (index instanceof Fault) return index;
  const value = openEntry(entry, index.root);
  if (value === null || entry.growth !== undefined)
    return new Fault('INDEX_INVALID', 'the index has no such list');
  const own = leafHash(leaf.record);
  const { size, root } = tree;
  const path = pathHashes(leaf.inclusion);
  if (!verifyInclusion({ index: leaf.index, size, leaf: own, path, root }))
    return new Fault('NOT_INCLUDED', `leaf ${leaf.index} has no valid inclusion proof`);
  const { event, items } = readMapped(leaf.record, index.fn);
  const isOf = entry.key[0] === 'run' && items.some((each) => each.text === keyText(entry.key));
  if (event === null || !isOf || leaf.index >= index.size)
    return new Fault('EVIDENCE_SHOWS_NOTHING', 'the leaf is not an event of this run below the index');
  const is = `event ${event.runSeq} of run ${entry.key[1] ?? ''} is leaf ${leaf.index}, and the index leaf ${index.index}`;
  if (value === 'absent') return `${is} has no such run`;
  if (event.runSeq >= value.n) return `${is} lists ${value.n} events of the run`;
  const other = item === undefined ? null : parseHash(item.leaf);
  const differs =
    other !== null &&
    !other.equals(own) &&
    isListed(value, { position: event.runSeq, leaf: other, path: item?.inclusion ?? [] });
  return differs
    ? `${is} has another leaf in its place`
    : new Fault('EVIDENCE_SHOWS_NOTHING', 'the index may list this event');
}
