/**
 * Whether a bundle shows all of its run. An index leaf commits to the map of every leaf below its `size`. So a verifier sees
 * that no event below S is missing, and no evaluation and risk decision that the layers should have counted:
 *
 * 1 the index leaf is in S′, has a known map function and covers S; 2 each path leads to its root; 3 the list of the run is
 * the shown one; 4 or extends it, and its next item is in the log at or after S; 5 the lists of evaluations and risk
 * decisions have the counts of the layers.
 *
 * A bundle without an index leaf shows none of this: the check is `not_checked`.
 * Attacker controlled; nothing here throws. Proven by `test/core/proofs/completeness.test.ts`.
 */
import { isListed, openEntry, type Growth, type MapEntry } from '../completeness/entry.ts';
import { readIndex, type IndexRecord } from '../completeness/index-leaf.ts';
import { isMapFunction, mapFunctions, type MapFunction } from '../completeness/map-function.ts';
import type { ListValue, MapKey } from '../completeness/map.ts';
import { parseHash } from '../hash.ts';
import { leafHash, verifyConsistency, verifyInclusion } from '../merkle/tree.ts';
import type { Checkpoint } from '../note/tree-head.ts';
import { pathHashes, type BundleFrame, type IncludedRecord } from './bundle.ts';
import type { Evidence, Statement } from './statement.ts';
import type { DerivedLog } from './strength.ts';
import type { CheckList, VerdictCode } from './verdict.ts';

/** Why something is not shown. */
export class Fault {
  readonly code: VerdictCode;
  readonly detail: string;

  constructor(code: VerdictCode, detail: string) {
    this.code = code;
    this.detail = detail;
  }
}

/** An index leaf in a trusted tree. */
export interface OpenIndex extends IndexRecord {
  readonly index: number;
  readonly fn: MapFunction;
}

/**
 * The records from which the caller derived this index leaf; null where it did not. A fault where its root or number of keys
 * is another.
 */
export function derivedFrom(
  { index, record }: IncludedRecord,
  derived: DerivedLog | null,
): number | null | Fault {
  switch (derived?.judge(index, record) ?? 'unknown') {
    case 'right':
      return derived?.records ?? null;
    case 'false':
      return new Fault('INDEX_FALSE', `the index leaf ${index} is not what the records of the log give`);
    case 'unknown':
      return null;
  }
}

/** Step 1: reads an index leaf in the tree of a checkpoint. Never throws. */
export function openIndex({ index, record, inclusion }: IncludedRecord, tree: Checkpoint): OpenIndex | Fault {
  const read = readIndex(record);
  if (read === null) return new Fault('INDEX_INVALID', `leaf ${index}: expected a gov.index/1 leaf`);
  const { size, root } = tree;
  const leaf = leafHash(record);
  if (!verifyInclusion({ index, size, leaf, path: pathHashes(inclusion), root })) {
    return new Fault('NOT_INCLUDED', `leaf ${index}: the index leaf has no valid inclusion proof`);
  }
  const { fn } = read;
  if (!isMapFunction(fn)) {
    const detail = `leaf ${index}: expected one of ${mapFunctions.join(', ')}, got another map function`;
    return new Fault('INDEX_INVALID', detail);
  }
  if (read.size > index) {
    return new Fault('INDEX_INVALID', `leaf ${index}: expected a size of at most ${index}, got ${read.size}`);
  }
  return { ...read, fn, index };
}

/** A list as the proof has it: `n` items, and for the run also their root. */
export interface ShownList {
  readonly key: MapKey;
  readonly what: string;
  readonly n: number;
  readonly root: string | null;
}

/** The lists that the layers of a proof depend on, in the order of the entries of a bundle. */
export function shownLists(
  evidence: Evidence,
  statements: ReadonlyMap<string, Statement>,
): readonly ShownList[] {
  const { runId, runEvents: n, runRoot: root } = evidence;
  const lists: ShownList[] = [{ key: ['run', runId], what: 'events', n, root }];
  const counted = (layer: string, type: string, what: string): void => {
    const statement = statements.get(layer);
    if (statement === undefined) return;
    const decisions = statement.claims['decisions'];
    const claimed = typeof decisions === 'object' && decisions !== null && 'n' in decisions ? decisions.n : 0;
    lists.push({ key: ['of', type, runId], what, n: typeof claimed === 'number' ? claimed : -1, root: null });
  };
  counted('policy_compliance', 'gov.evaluation/1', 'evaluations');
  counted('decision_lineage', 'gov.decision/1', 'risk decisions');
  return lists;
}

interface CompletenessInputs {
  readonly statements: ReadonlyMap<string, Statement>;
  readonly evidence: Evidence | null;
  /** Checkpoint S′. */
  readonly proved: Checkpoint | null;
  readonly derived: DerivedLog | null;
}

/** Without these, S and S′ are anybody's word. */
const anchors = ['layer_statements', 'checkpoint_signatures', 'consistency', 'tree_root'] as const;

interface Shown {
  /** For the output. */
  readonly notes: readonly string[];
  /** The records from which the caller derived the index; null where it did not. */
  readonly records: number | null;
}

const nothing: Shown = { notes: [], records: null };

/** Steps 1 to 5. */
export function checkCompleteness(bundle: BundleFrame, stated: CompletenessInputs, checks: CheckList): Shown {
  const { completeness } = bundle;
  const { evidence, proved, statements, derived } = stated;
  if (completeness === undefined) {
    checks.skip('completeness', 'the bundle does not show whether events are missing');
    return nothing;
  }
  const isAnchored = anchors.every((id) => checks.passed(id));
  if (evidence === null || proved === null || !isAnchored) {
    checks.skip('completeness', 'the checks before it did not pass');
    return nothing;
  }
  const index = openIndex(completeness.index, proved);
  const found =
    index instanceof Fault ? index : judge(completeness.entries, { index, evidence, proved, statements });
  const records = derivedFrom(completeness.index, derived);
  const failed = ({ code, detail }: Fault): Shown => {
    checks.fail('completeness', code, detail);
    return nothing;
  };
  if (index instanceof Fault) return failed(index);
  if (records instanceof Fault) return failed(records);
  if (found instanceof Fault) return failed(found);
  const { runEvents, treeSize } = evidence;
  checks.pass('completeness', `exactly ${runEvents} events below leaf ${treeSize}`);
  const more = (found[0]?.n ?? runEvents) - runEvents;
  if (more === 0) return { notes: [], records };
  const wentOn = `RUN_WENT_ON: ${more} events of the run were recorded later, below leaf ${index.size}`;
  return { notes: [wentOn], records };
}

interface CompletenessInput {
  readonly index: OpenIndex;
  readonly evidence: Evidence;
  readonly proved: Checkpoint;
  readonly statements: ReadonlyMap<string, Statement>;
}

/** The values of the lists, or the first fault. */
function judge(
  entries: readonly MapEntry[],
  judged: CompletenessInput,
): readonly { readonly n: number }[] | Fault {
  const { index, evidence, statements } = judged;
  if (index.size < evidence.treeSize) {
    const detail = `the index covers ${index.size} leaves, expected the ${evidence.treeSize} of the proof`;
    return new Fault('INDEX_TOO_OLD', detail);
  }
  const lists = shownLists(evidence, statements);
  if (entries.length !== lists.length) {
    return new Fault('INDEX_INVALID', `expected ${lists.length} entries of the index, got ${entries.length}`);
  }
  const values: { n: number }[] = [];
  for (const [at, shown] of lists.entries()) {
    const entry = entries[at];
    const isKey = entry !== undefined && entry.key.join('\u0000') === shown.key.join('\u0000');
    const value = isKey ? openEntry(entry, index.root) : null;
    if (entry === undefined || value === null) {
      return new Fault('INDEX_INVALID', `the index has no such list of ${shown.what}`);
    }
    const fault = compare(shown, value, entry.growth, judged);
    if (fault !== null) return fault;
    values.push({ n: value === 'absent' ? 0 : value.n });
  }
  return values;
}

function compare(
  { what, n, root }: ShownList,
  value: ListValue | 'absent',
  growth: Growth | undefined,
  { index, evidence, proved }: CompletenessInput,
): Fault | null {
  const { treeSize, firstIndex, lastIndex } = evidence;
  const found = value === 'absent' ? 0 : value.n;
  const different = new Fault('RUN_DIFFERS', `the ${what} of the run are not those of the log`);
  if (value === 'absent' || found < n) {
    if (n === 0 && growth === undefined) return null;
    return new Fault('RUN_SHORTER_THAN_SHOWN', `the proof shows ${n} ${what}, but the log has ${found}`);
  }
  if (found === n) {
    const same =
      root === null || (value.root === root && value.first === firstIndex && value.last === lastIndex);
    return same && growth === undefined ? null : different;
  }
  const incomplete = new Fault(
    'RUN_INCOMPLETE',
    `the proof shows ${n} ${what} below leaf ${treeSize}, but the log has more: ${found} below leaf ${index.size}`,
  );
  switch (goesOn({ n, root, treeSize }, { value, growth, index, tree: proved })) {
    case 'yes':
      return root === null || value.first === firstIndex ? null : different;
    case 'differs':
      return different;
    case 'no':
      return incomplete;
  }
}

/**
 * Whether a list of leaves extends a shown one of `n` items, and its next item is in the log at `treeSize` or after it. `root`: that of
 * the shown list; null where only its count is shown.
 */
export function goesOn(
  { n, root, treeSize }: { readonly n: number; readonly root: string | null; readonly treeSize: number },
  of: {
    readonly value: ListValue;
    readonly growth: Growth | undefined;
    readonly index: OpenIndex;
    readonly tree: Checkpoint;
  },
): 'yes' | 'no' | 'differs' {
  const { value, growth, index, tree } = of;
  if (growth === undefined) return 'no';
  const { consistency, next } = growth;
  const leaf = parseHash(next.leaf);
  const isNext =
    leaf !== null &&
    next.index >= treeSize &&
    next.index < index.size &&
    isListed(value, { position: n, leaf, path: next.listInclusion }) &&
    verifyInclusion({
      index: next.index,
      size: tree.size,
      leaf,
      path: pathHashes(next.inclusion),
      root: tree.root,
    });
  if (!isNext) return 'no';
  if (root === null) return consistency === undefined ? 'yes' : 'no';
  const [first, second] = [parseHash(root), parseHash(value.root)];
  const extended =
    first !== null &&
    second !== null &&
    consistency !== undefined &&
    verifyConsistency({
      first: n,
      second: value.n,
      firstRoot: first,
      secondRoot: second,
      path: pathHashes(consistency),
    });
  return extended ? 'yes' : 'differs';
}
