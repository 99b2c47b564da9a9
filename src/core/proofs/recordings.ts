/**
 * The layer `x-recordings` (`docs/reference/proof-format.md`): each recording of a run has a balance, its sums come out, and
 * nothing is left out. Its claims follow from the events of the run alone, so a bundle that discloses them lets anyone
 * recompute it. A balance is the statement of the credential that recorded it, which the claims name; `intake/repeat.ts`
 * repeats it with the raw file. Without a balance
 * that compared something the layer does not run, so that an unknown never passes.
 * Proven by `test/core/balance/layer.test.ts`.
 */
import {
  balanceType,
  balanceWords,
  countsText,
  fromEach,
  isWhole,
  leavesOut,
  LatestBalances,
  leftOutWords,
  statedBy,
  plus,
  sumOf,
  unbalanced,
  wordOf,
  type Balance,
  type Counts,
} from '../balance/statement.ts';
import type { Kind } from '../balance/kinds.ts';
import { sourceOf } from '../coverage/report.ts';
import { valuesAt } from '../events/bodies.ts';
import { rebuild } from '../events/record.ts';
import { readDisclosures } from '../events/disclosure.ts';
import type { RunEvent } from '../events/run-entry.ts';
import { hashText } from '../hash.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, type Json } from '../json/parse.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { verdictOf, type LayerResult } from './statement.ts';
import type { RecordingCode } from './verdict.ts';

/** The newest balance of a file, and the event that has it. */
export interface StatedBalance {
  readonly index: number;
  readonly eventId: string;
  readonly balance: Balance;
}

export interface Recordings {
  readonly balances: readonly StatedBalance[];
  /** Events of the type of a balance that are none, such as erased ones: index of the first, and how many. */
  readonly unread: { readonly first: number; readonly count: number };
  /** Facts that came from recordings, and of those as many as no balance has. */
  readonly imported: Counts;
  readonly uncovered: Counts;
}

interface OpenEvent {
  readonly index: number;
  readonly eventId: string;
  readonly eventType: string;
  readonly metadata: unknown;
}

const facts: Readonly<Partial<Record<string, Kind>>> = {
  'tool.call': 'calls',
  'tool.result': 'results',
  'prompt.submitted': 'prompts',
};
/** The types of the events that the judge reads. */
export const recordingTypes: readonly string[] = [balanceType, ...Object.keys(facts)];
const members = ['importer', 'recordedBy', 'evaluationId', 'timestampSource'] as const;
const wanted = new Set(members.map((name) => `/metadata/${name}`));

/** Takes the events of a run in order. Cost: about 4 µs for a call, result or prompt. Clients control what it reads. */
export class RecordingsJudge {
  readonly #latest = new LatestBalances<StatedBalance>();
  #imported: Counts = {};
  #unread = { first: -1, count: 0 };

  add({ index, clear, disclosures }: RunEvent): void {
    if (clear === null) return;
    const { eventType, eventId } = clear;
    const isBalance = eventType === balanceType;
    if (!isBalance && facts[eventType] === undefined) return;
    const read = isBalance ? metadataIn : membersIn;
    const metadata = disclosures === null ? null : read(disclosures);
    this.take({ index, eventId, eventType, metadata });
  }

  /** Takes the next event as an interface has it. */
  take({ index, eventId, eventType, metadata }: OpenEvent): void {
    if (eventType === balanceType) {
      const isRead = this.#latest.add(metadata, (balance) => ({ index, eventId, balance }));
      if (!isRead && this.#unread.count++ === 0) this.#unread.first = index;
      return;
    }
    const kind = facts[eventType];
    if (kind !== undefined && isObject(metadata) && sourceOf(metadata) === 'transcript')
      this.#imported = plus(this.#imported, { [kind]: 1 });
  }

  finish(): Recordings {
    const balances = this.#latest.list();
    // files of telemetry have events of another source
    const here = sumOf(
      balances.map(({ balance }) =>
        balance.source.format === 'otlp' ? {} : (balance.here ?? balance.recorded),
      ),
    );
    const imported = this.#imported;
    const uncovered = fromEach((kind) => Math.max(0, (imported[kind] ?? 0) - (here[kind] ?? 0)));
    return { balances, unread: { ...this.#unread }, imported, uncovered };
  }
}

const membersIn = (disclosures: string): Readonly<Record<string, Json>> =>
  Object.fromEntries(
    [...valuesAt(disclosures, wanted)].map(([pointer, value]) => [pointer.slice('/metadata/'.length), value]),
  );

function metadataIn(disclosures: string): Json {
  return rebuild(readDisclosures(disclosures)).get('metadata') ?? null;
}

const isEmpty = (counts: Counts): boolean => Object.keys(counts).length === 0;

/** Why the layer does not hold; null where it does. */
export function recordingFault({ balances, unread, imported, uncovered }: Recordings): RecordingCode | null {
  const all = balances.map(({ balance }) => balance);
  if (all.length === 0 && unread.count === 0)
    return isEmpty(imported) ? 'NO_RECORDING' : 'RECORDING_WITHOUT_BALANCE';
  if (unread.count > 0 || !isEmpty(uncovered)) return 'RECORDING_WITHOUT_BALANCE';
  if (all.some((balance) => unbalanced(balance).length > 0)) return 'RECORDING_UNBALANCED';
  if (!all.every(isWhole)) return 'RECORDING_LEFT_OUT';
  return all.some(({ found }) => !isEmpty(found)) ? null : 'RECORDING_NOT_COUNTED';
}

export function recordingsLayer(recordings: Recordings): LayerResult {
  const { balances, unread, imported, uncovered } = recordings;
  const code = recordingFault(recordings);
  const list = new ListRoot();
  for (const { eventId, balance } of balances)
    list.add(`\0${canonicalize({ eventId, whole: isWhole(balance) })}`);
  const all = balances.map(({ balance }) => balance);
  const names = statedBy(all);
  const isRun = all.length + unread.count > 0 && code !== 'RECORDING_NOT_COUNTED';
  const checks = [
    { id: 'every_recording_has_a_balance', pass: unread.count === 0 && isEmpty(uncovered) },
    { id: 'sums_come_out', pass: all.every((balance) => unbalanced(balance).length === 0) },
    { id: 'nothing_left_out', pass: !all.some(leavesOut) },
  ];
  const first = balances.find(({ balance }) => !isWhole(balance))?.index ?? unread.first;
  return {
    layer: 'x-recordings',
    claims: {
      ...(code === null ? {} : { code }),
      recordings: { n: list.size, root: hashText(list.root()) },
      whole: all.filter(isWhole).length,
      unread: unread.count,
      found: { ...sumOf(all.map(({ found }) => found)) },
      unseen: { ...sumOf(all.flatMap(({ unseen }) => unseen)) },
      leftOut: {
        ...sumOf(all.map(({ leftOut }) => leftOut)),
        parts: all.reduce((sum, { leftOut }) => sum + leftOut.parts, 0),
      },
      imported: { ...imported },
      uncovered: { ...uncovered },
      ...(names.length === 0 ? {} : { statedBy: names }),
      firstFinding: first < 0 ? null : { index: first },
    },
    checks: isRun ? checks : [],
    verdict: isRun ? verdictOf(checks) : 'not_run',
  };
}

/** One line about the recordings, from the claims of the layer; null where it says nothing that can be read. */
export function recordingsText(claims: Readonly<Record<string, Json>>): string | null {
  const { code, recordings, whole, leftOut, uncovered, statedBy: names } = claims;
  if (code === 'NO_RECORDING') return 'no recording';
  if (!isObject(recordings) || !isObject(leftOut) || !isObject(uncovered)) return null;
  const [files, done, parts] = [Number(recordings['n']), Number(whole), Number(leftOut['parts'])];
  if (files === 0) return 'recordings without a balance';
  if (code === 'RECORDING_NOT_COUNTED')
    return `recordings not compared: the scanner finds nothing in ${files} ${files === 1 ? 'file' : 'files'}`;
  const left = kindsIn(leftOut);
  const words = leftOutWords({ files, whole: done, parts, facts: left });
  const more = kindsIn(uncovered);
  const open = isEmpty(more) ? '' : `; in no balance: ${countsText(more)}`;
  return `recordings balanced: ${words}${open}, ${wordOf(Array.isArray(names) ? names.map(String) : [])}`;
}

const kindsIn = (value: Readonly<Record<string, unknown>>): Counts =>
  fromEach((kind) => (typeof value[kind] === 'number' ? value[kind] : 0));

/** The same with the names of the files and of what they leave out. Files name themselves: the text is a client's. */
export function recordingNames({ balances }: Recordings): string[] {
  const open = balances.filter(({ balance }) => !isWhole(balance));
  return open.slice(0, shownFiles).map(({ balance }) => {
    const [first] = balance.remainder;
    const where = first === undefined ? '' : `; first: ${first.where || 'no place'}: ${first.why}`;
    return `LEFT OUT: ${balance.source.name}: ${balanceWords([balance])}${where}`;
  });
}

/** Files that a verdict names. */
const shownFiles = 10;
