/**
 * Repeats the balance of a recording with the raw file: whether it is the file that was recorded, whether the scanner counts
 * in it what its balance says, and whether the events of the run are those that the file gives. The file and the events may
 * be an attacker's. Tested by `test/cli/commands/proofs/recording.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { EventInput } from '../../contract/events.ts';
import {
  balanceType,
  balanceWords,
  countsText,
  differenceOf,
  fromEach,
  readBalance,
  type Balance,
} from '../balance/statement.ts';
import { isObservation } from '../coverage/join.ts';
import { digestOf, isDigest } from '../json/digest.ts';
import { isObject } from '../json/object.ts';
import { balanceOfBytes, copiedIn, type ReadAgain } from './balance-file.ts';
import { countFacts } from './facts.ts';
import { formatNames, type FormatName } from './names.ts';
import type { ImportedRun } from './run.ts';

/** An event as far as it is compared. */
export interface ShownEvent {
  readonly eventType: string;
  readonly clientEventId?: unknown;
  readonly metadata: unknown;
}

/** What the log has under a clientEventId: the type, and hashes of what was said, by member. */
interface Kept {
  readonly type: unknown;
  hashes: Record<string, string>;
}

/** The members of an event that say what happened. */
const compared = ['arguments', 'content'] as const;

/** The events of a run, as a proof shows them. Memory: about 300 bytes an event. */
export class ShownRun {
  readonly balances: Balance[] = [];
  /** Events of which the proof does not show every field. */
  hidden = 0;
  readonly #byId = new Map<string, Kept>();

  /** Null: an event that is not shown whole. */
  add(event: ShownEvent | null): void {
    if (event === null) {
      this.hidden += 1;
      return;
    }
    const { eventType, clientEventId } = event;
    const metadata = isObject(event.metadata) ? event.metadata : {};
    const balance = eventType === balanceType ? readBalance(metadata) : undefined;
    if (balance !== undefined) this.balances.push(balance);
    // an observation that has ended since was completed by a later event
    const { completes, added } = metadata;
    if (eventType === 'event.completed' && typeof completes === 'string') this.#complete(completes, added);
    if (typeof clientEventId !== 'string' || this.#byId.has(clientEventId)) return;
    this.#byId.set(clientEventId, { type: factOf(eventType, metadata), hashes: hashesOf(metadata) });
  }

  /** A later event adds what the first one lacks; whoever wrote it, it changes nothing that was said. */
  #complete(clientEventId: string, added: unknown): void {
    const kept = this.#byId.get(clientEventId);
    if (kept !== undefined) kept.hashes = { ...hashesOf(added), ...kept.hashes };
  }

  /** Returns how the log differs from an event that the file gives; undefined: it has the same. */
  differenceFrom({ eventType, clientEventId = '', metadata = {} }: EventInput): string | undefined {
    const kept = this.#byId.get(clientEventId);
    if (kept === undefined) return 'the proof has no event of it';
    if (kept.type !== factOf(eventType, metadata))
      return `the proof has it as ${String(kept.type).slice(0, limits.echoChars)}`;
    const given = hashesOf(metadata);
    const other = compared.find((name) => given[name] !== kept.hashes[name]);
    return other === undefined ? undefined : `its ${other} in the proof are other ones than in the file`;
  }
}

function hashesOf(metadata: unknown): Record<string, string> {
  if (!isObject(metadata)) return {};
  return Object.fromEntries(
    compared.flatMap((name) => {
      const value = metadata[name];
      if (value === undefined || value === null) return [];
      return [[name, isDigest(value) ? String(value.hash) : digestOf(value).hash]];
    }),
  );
}

/** What an event is about: of an observation, the type that the event would have had. */
const factOf = (eventType: string, { observed }: Readonly<Record<string, unknown>>): unknown =>
  isObservation(eventType) ? observed : eventType;

export type RepeatCode =
  | 'RECORDING_NOT_SHOWN'
  | 'RECORDING_UNKNOWN'
  | 'RECORDING_GREW'
  | 'BALANCE_DIFFERS'
  | 'RECORDING_DIFFERS';

export interface RepeatVerdict {
  /** Null: the file and the run agree. */
  readonly code: RepeatCode | null;
  readonly detail: string;
}

/** A raw file, and the run that a proof is about. */
export interface RawFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly runId: string;
}

/** Compares a raw file with the run. Cost: as an import of the file. */
export function repeatRecording(file: RawFile, run: ShownRun): RepeatVerdict {
  const kinship = statedOf(file.bytes, run.balances);
  if ('code' in kinship) {
    const isHidden = run.hidden > 0 && kinship.code === 'RECORDING_UNKNOWN';
    return isHidden ? notShown(run.hidden) : kinship;
  }
  const [stated] = kinship.stated;
  try {
    const { balance, runs } = readAgain(file, stated);
    for (const each of kinship.stated) {
      const difference = differenceOf(each, balance);
      if (difference !== undefined) return { code: 'BALANCE_DIFFERS', detail: difference };
    }
    const own = runs.filter(({ runId }) => runId === file.runId);
    return compareEvents(own, { run, stated });
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    return { code: 'RECORDING_DIFFERS', detail: `no importer reads the file: ${cause.message}` };
  }
}

const notShown = (hidden: number): RepeatVerdict => ({
  code: 'RECORDING_NOT_SHOWN',
  detail: `the proof does not show the content of ${hidden} events; enclose it with --events disclosed`,
});

/** The balances of this file, or why there is none. Exported for those who have the balances alone. */
export function statedOf(
  bytes: Buffer,
  balances: readonly Balance[],
): { readonly stated: readonly [Balance, ...Balance[]] } | (RepeatVerdict & { readonly code: RepeatCode }) {
  const sha256 = hash('sha256', bytes, 'hex');
  const [first, ...others] = balances.filter(({ source }) => source.sha256 === sha256);
  if (first !== undefined) return { stated: [first, ...others] };
  const sizes = new Map(balances.map(({ source }) => [source.bytes, source.sha256]));
  for (const [size, known] of [...sizes].toSorted(([a], [b]) => b - a)) {
    if (size === 0 || size >= bytes.length || hash('sha256', bytes.subarray(0, size), 'hex') !== known)
      continue;
    const more = bytes.length - size;
    return {
      code: 'RECORDING_GREW',
      detail: `its first ${size} bytes are the file that was recorded; ${more} bytes came after it, and no balance has them`,
    };
  }
  const detail =
    balances.length === 0
      ? 'no recording of the run has a balance'
      : `no balance of the run is of this file (SHA-256 ${sha256})`;
  return { code: 'RECORDING_UNKNOWN', detail };
}

/** The format in which a recording was read: a flag may have named one that its file alone does not show. */
export const formatOf = ({ source }: Balance): FormatName | 'auto' =>
  formatNames.find((each) => each === source.format) ?? 'auto';

/** Reads the file as the import did that stated the balance: it may have named the run. */
function readAgain({ name, bytes, runId }: RawFile, stated: Balance): ReadAgain {
  const { source } = stated;
  const copied = copiedIn(stated);
  const format = formatOf(stated);
  const read = (options: { sourceName?: string; runPrefix?: string; runId?: string }): ReadAgain =>
    balanceOfBytes(source.name || name, bytes, { format, copied, ...options });
  const plain = read({});
  const has = ({ runs }: ReadAgain): boolean => runs.some((run) => run.runId === runId);
  if (has(plain)) return plain;
  const piped = read({ sourceName: '' });
  if (has(piped)) return piped;
  const end = [...plain.runs, ...piped.runs].find((run) => runId.endsWith(`-${run.runId}`));
  if (end !== undefined) return read({ runPrefix: runId.slice(0, -end.runId.length - 1) });
  return plain.runs.length === 1 ? read({ runId }) : plain;
}

/** Each event that the file gives in this run is in the proof. Events of other sources are not compared. */
function compareEvents(
  runs: readonly ImportedRun[],
  { run, stated }: { readonly run: ShownRun; readonly stated: Balance },
): RepeatVerdict {
  const events = runs.flatMap((each) => each.events);
  for (const event of events) {
    // another signal of the source may have recorded it with other words
    if (runs.some(({ mergeable }) => mergeable.has(event.clientEventId ?? ''))) continue;
    const difference = run.differenceFrom(event);
    if (difference === undefined) continue;
    if (run.hidden > 0) return notShown(run.hidden);
    const what = `${event.eventType} (${String(event.clientEventId).slice(0, limits.echoChars)})`;
    return { code: 'RECORDING_DIFFERS', detail: `${what}: ${difference}` };
  }
  const facts = countsText(fromEach((kind) => countFacts(events)[kind]));
  return {
    code: null,
    detail: `it is the file that was recorded; counted again: ${balanceWords([stated])}; the proof has what the file gives: ${facts === '' ? 'no fact' : facts}`,
  };
}
