/**
 * Checks that an export has every row that its filters select. The index of the log keeps a list of rows for each filter
 * (`filters.ts`). The verifier recomputes each list from the rows of the export, in five steps:
 *
 * 1. The tree of the checkpoint contains the `gov.index/1` leaf, and that leaf covers the rows.
 * 2. The names of the lists are the names that the filters give.
 * 3. The path of each list leads to the root of the index map.
 * 4. An item of a list without a row is of a later leaf, or the filters exclude it.
 * 5. Rows and such items together have the count and the root of the list. A list of leaves is checked as in a bundle.
 *
 * Without an answer of the index, the check is `not_checked`.
 * Attacker controlled; nothing here throws. Proven by `test/core/exports/completeness.test.ts`.
 */
import { openEntry, type MapEntry } from '../completeness/entry.ts';
import { KeyList } from '../completeness/key-list.ts';
import type { ListValue, MapKey } from '../completeness/map.ts';
import { keyText, mapFunction, textItem } from '../completeness/map-function.ts';
import { readRecord } from '../events/run-entry.ts';
import { isCount } from '../count.ts';
import type { JsonObject } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import type { Checkpoint } from '../note/tree-head.ts';
import { Fault, goesOn, openIndex, type OpenIndex } from '../proofs/completeness.ts';
import type { FilterAnswer, ListAnswer } from './answer.ts';
import { isAsked, isDayIn, isIn, periodOf, type ListPlan } from './filters.ts';
import type { ListItem, RowLists } from './row-lists.ts';

/** An answer, and what it is compared with. */
export interface AnswerInput {
  readonly answer: FilterAnswer;
  readonly rows: RowLists;
  readonly asked: JsonObject;
  /** How many leaves the rows come from. */
  readonly treeSize: number;
  /** The tree of a checkpoint that a trusted key signed. */
  readonly tree: Checkpoint;
}

/** Returns null if no row is missing, or why that is not shown. */
export function judgeAnswer(answered: AnswerInput): Fault | null {
  const { answer, rows, treeSize, tree } = answered;
  const index = openIndex(answer.index, tree);
  if (index instanceof Fault) return index;
  if (index.size < treeSize) {
    const detail = `the index covers ${index.size} leaves, expected the ${treeSize} of the rows`;
    return new Fault('INDEX_TOO_OLD', detail);
  }
  if (rows.plan.kind !== 'run' && index.fn !== mapFunction) {
    return new Fault('INDEX_INVALID', `expected an index by ${mapFunction}, got one by ${index.fn}`);
  }
  const names = namesOf(answered, index);
  if (names instanceof Fault) return names;
  if (answer.lists.length !== names.length) {
    const detail = `expected ${names.length} lists of the index, got ${answer.lists.length}`;
    return new Fault('INDEX_INVALID', detail);
  }
  for (const name of rows.names) {
    if (names.includes(name)) continue;
    return new Fault('EXPORT_DIFFERS', `the index has no list of the rows of ${name}`);
  }
  const short: string[] = [];
  for (const [at, name] of names.entries()) {
    const list = answer.lists[at];
    const fault = list === undefined ? noList(name) : judgeList(list, name, { ...answered, index });
    if (fault instanceof Fault) return fault;
    if (fault !== null) short.push(fault);
  }
  if (short.length === 0) return null;
  const more = short.length > shownLists ? `; and of ${short.length - shownLists} more lists` : '';
  return new Fault('EXPORT_INCOMPLETE', `${short.slice(0, shownLists).join('; ')}${more}`);
}

/** Lists with missing items that a message names. */
const shownLists = 5;

const noList = (name: string): Fault =>
  new Fault('INDEX_INVALID', `the index has no such list${name === '' ? '' : ` of ${name}`}`);

/** The value of the list of a key, or null for a list without items. */
function valueOf(entry: MapEntry, key: MapKey, index: OpenIndex): ListValue | Fault | null {
  const value = keyText(entry.key) === keyText(key) ? openEntry(entry, index.root) : null;
  if (value === null) return noList(key.join(' '));
  return value === 'absent' ? null : value;
}

/** Step 2: the names of the lists that the rows come from. */
function namesOf({ answer, rows, asked }: AnswerInput, index: OpenIndex): readonly string[] | Fault {
  const { plan } = rows;
  const { names } = answer;
  if (plan.kind === 'run' || plan.kind === 'type') {
    return names === undefined ? [''] : new Fault('INDEX_INVALID', 'expected one list, got names of lists');
  }
  if (names === undefined)
    return new Fault('INDEX_INVALID', `expected the ${plan.kind} of the log, got none`);
  const value = valueOf(names.entry, [plan.kind], index);
  if (value instanceof Fault) return value;
  const list = new KeyList();
  for (const name of names.items) list.add(textItem(name), 0, 0);
  const isWhole = value === null ? names.items.length === 0 : isSame(list, value);
  if (!isWhole) return new Fault('INDEX_INVALID', `expected all ${plan.kind} of the log, got others`);
  const period = periodOf(asked);
  return plan.kind === 'types' ? names.items : names.items.filter((day) => isDayIn(day, period));
}

const isSame = (list: KeyList, value: ListValue): boolean =>
  list.n === value.n && list.n > 0 && list.value().root === value.root;

const keyOf = (plan: ListPlan, name: string): MapKey =>
  plan.kind === 'types' ? ['type', name] : plan.kind === 'days' ? ['day', name] : plan.key;

type ListContext = AnswerInput & { readonly index: OpenIndex };

/** Steps 3 to 5: null for a list that has no more items, what is missing, or another fault. */
function judgeList(list: ListAnswer, name: string, judged: ListContext): Fault | string | null {
  const { rows, index } = judged;
  const { plan } = rows;
  const key = keyOf(plan, name);
  const value = valueOf(list.entry, key, index);
  if (value instanceof Fault) return value;
  const others = plan.kind === 'run' ? recordsOf(list, plan.key, judged) : placesOf(list, judged);
  if (others instanceof Fault) return others;
  const own = rows.whole(name, others);
  const n = own?.n ?? 0;
  const what = nameOf(plan, name);
  if (value === null) {
    const isNone = n === 0 && list.entry.growth === undefined;
    return isNone ? null : new Fault('EXPORT_DIFFERS', `the index has no ${what}, the file shows ${n}`);
  }
  if (plan.kind === 'run') return judgeLeaves(list.entry, { value, own, what, judged });
  if (list.entry.growth !== undefined) return noList(name);
  if (n < value.n) return missing({ n, of: value.n, what });
  return own !== null && isSame(own, value) ? null : differs(what);
}

const missing = ({ n, of, what }: { n: number; of: number; what: string }): string =>
  `${of - n} of ${of} ${what} are missing`;
const differs = (what: string): Fault =>
  new Fault('EXPORT_DIFFERS', `the ${what} of the file are not those of the index`);

function nameOf(plan: ListPlan, name: string): string {
  if (plan.kind === 'types') return `events of type ${name}`;
  if (plan.kind === 'days') return `events of day ${name}`;
  if (plan.key[0] === 'of') return `leaves ${plan.key[1]} of run ${plan.key[2]}`;
  return `events of ${plan.kind} ${plan.key[1]}`;
}

/** A list of leaves may go on after the tree of the rows, as that of a run in a bundle. */
function judgeLeaves(
  { growth }: MapEntry,
  of: { value: ListValue; own: KeyList | null; what: string; judged: ListContext },
): Fault | string | null {
  const { value, own, what, judged } = of;
  const n = own?.n ?? 0;
  const { treeSize, index, tree } = judged;
  if (n >= value.n) return own !== null && isSame(own, value) && growth === undefined ? null : differs(what);
  const root = own === null ? null : own.value().root;
  const shown = { n, root, treeSize };
  switch (goesOn(shown, { value, growth, index, tree })) {
    case 'yes':
      return null;
    case 'differs':
      return differs(what);
    case 'no':
      return missing({ n, of: value.n, what });
  }
}

/** Step 4 for a list of places. */
function placesOf(
  { others = [], records }: ListAnswer,
  { treeSize, asked }: ListContext,
): ListItem[] | Fault {
  if (records !== undefined) return new Fault('INDEX_INVALID', 'expected places, got records');
  const period = periodOf(asked);
  const items: ListItem[] = [];
  let newest = -1;
  for (const text of others) {
    const [, index = '', , client = ''] = placeForm.exec(text) ?? [];
    const [at, clientMs] = [Number(index), Number(client)];
    const isExcluded = at >= treeSize || !isIn(clientMs, period);
    if (index === '' || !isCount(at) || !isCount(clientMs) || at <= newest || !isExcluded) {
      const detail = `item ${text.slice(0, 64)}: expected a later event or one that the filters exclude, in order`;
      return new Fault('INDEX_INVALID', detail);
    }
    items.push({ at, item: textItem(text) });
    newest = at;
  }
  return items;
}

const number = '(0|[1-9][0-9]{0,15})';
const placeForm = new RegExp(`^${number} ${number} ${number}$`);

/** Step 4 for the list of a run. */
function recordsOf(
  { others, records = [] }: ListAnswer,
  key: MapKey,
  { asked }: ListContext,
): ListItem[] | Fault {
  if (others !== undefined) return new Fault('INDEX_INVALID', 'expected records, got places');
  const items: ListItem[] = [];
  let newest = -1;
  for (const record of records) {
    const clear = key[0] === 'run' ? readRecord(record) : null;
    const isExcluded = clear !== null && clear.runId === key[1] && !isAsked(clear, asked);
    if (clear === null || !isExcluded || clear.runSeq <= newest) {
      const detail = 'expected records of events of the run that the filters exclude, in order';
      return new Fault('INDEX_INVALID', detail);
    }
    items.push({ at: clear.runSeq, item: leafHash(record).toString('latin1') });
    newest = clear.runSeq;
  }
  return items;
}
