/**
 * What the proof of an export shows of the index of the log, as its member `completeness`: one JSON object in canonical form.
 *
 *   index    { index, record, inclusion }: a `gov.index/1` leaf in the tree of the checkpoint
 *   names?   { entry, items }: all items of the list of types, or of client days
 *   lists    for each list of the plan (`filters.ts`), in the order of the names:
 *            { entry, others?, records? }: what the map says of it, and its items that no row has:
 *            others "<index> <serverMs> <clientMs>", records of events of the run
 *
 * Proven by `test/core/exports/completeness.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { readEntry, type MapEntry } from '../completeness/entry.ts';
import { canonicalText, type Json } from '../json/parse.ts';
import { list, object, refuse, type Location, type Shape } from '../json/shape.ts';
import type { IncludedRecord } from '../proofs/bundle.ts';
import { readIncluded } from '../proofs/read-bundle.ts';

export interface ListAnswer {
  readonly entry: MapEntry;
  readonly others?: readonly string[];
  readonly records?: readonly string[];
}

export interface FilterAnswer {
  readonly index: IncludedRecord;
  readonly names?: { readonly entry: MapEntry; readonly items: readonly string[] };
  readonly lists: readonly ListAnswer[];
}

export const filterAnswerText = (answer: FilterAnswer): string => canonicalText(answer);

const answerShape: Shape = { required: ['index', 'lists'], optional: ['names'] };
const namesShape: Shape = { required: ['entry', 'items'] };
const listShape: Shape = { required: ['entry'], optional: ['others', 'records'] };
const texts = {
  max: limits.exportOthers,
  read: (item: Json, at: Location): string => (typeof item === 'string' ? item : refuse(at, 'text', item)),
};
const lists = { max: limits.exportLists, read: readList };

/** Reads an answer; throws VALIDATION_ERROR with the pointer of the wrong member. Attacker controlled. */
export function readFilterAnswer(value: Json): FilterAnswer {
  const at: Location = { file: 'completeness' };
  const answer = object(value, at, answerShape);
  const { names } = answer;
  return {
    index: readIncluded(answer['index'], { up: at, name: 'index' }),
    ...(names === undefined ? {} : { names: readNames(names, { up: at, name: 'names' }) }),
    lists: list(answer, 'lists', at, lists),
  };
}

function readNames(value: Json, at: Location): NonNullable<FilterAnswer['names']> {
  const names = object(value, at, namesShape);
  const entry = readEntry(names['entry'] ?? null, { up: at, name: 'entry' });
  return { entry, items: list(names, 'items', at, texts) };
}

function readList(value: Json, at: Location): ListAnswer {
  const answer = object(value, at, listShape);
  return {
    entry: readEntry(answer['entry'] ?? null, { up: at, name: 'entry' }),
    ...(answer['others'] === undefined ? {} : { others: list(answer, 'others', at, texts) }),
    ...(answer['records'] === undefined ? {} : { records: list(answer, 'records', at, texts) }),
  };
}
