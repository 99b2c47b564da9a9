/**
 * The balance of a recording in a push: a file that does not balance is refused before its first event is sent, and each
 * of its runs gets an event with the balance after its last one. Tested by `test/cli/commands/runs/balance.test.ts`.
 */
import { basename } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { EventInput } from '../../contract/events.ts';
import { hash } from 'node:crypto';
import { balanceType, fromEach, type Balance, type Counts } from '../../core/balance/statement.ts';
import type { BadDocument } from '../../core/intake/source.ts';
import type { FileBalance } from '../../core/intake/balance-file.ts';
import type { ImportedRun } from '../../core/intake/run.ts';
import type { InputRecord } from './record.ts';
import type { InputSource } from './source.ts';

export async function balanceOf(
  source: InputSource,
  {
    bytes,
    runs,
    refused,
  }: {
    readonly bytes: Buffer;
    readonly runs: readonly ImportedRun[];
    readonly refused: readonly BadDocument[];
  },
): Promise<FileBalance> {
  const { balanceFile } = await import('../../core/intake/balance-file.ts');
  return balanceFile({ name: source.knownAs ?? basename(source.path ?? source.name), bytes, runs, refused });
}

/**
 * Returns the refusal of a file that does not balance: the first place, and the sums of its kind; and that of a file of
 * which the importer understands too little.
 */
export async function refusalOfBalance({
  balance,
  faults,
  strange,
}: FileBalance): Promise<InputRecord | undefined> {
  const [first] = faults;
  // what another program wrote is said before what does not come out
  const isOther =
    strange !== undefined && (first === undefined || strange.first.why.startsWith('looks like '));
  if (isOther) return refusalOfStrange(balance, strange);
  if (first === undefined) return undefined;
  const { faultText, placeOf } = await import('../../core/intake/balance-file.ts');
  const { found, kind } = first;
  const place = found === undefined ? '' : `${placeOf(found)}: `;
  const counts = `the file has ${balance.found[kind] ?? 0} ${kind}, ${balance.recorded[kind] ?? 0} became events`;
  const more = faults.length === 1 ? '' : `, and ${faults.length - 1} more do not balance`;
  const reason = `unbalanced: ${place}${faultText(first)}; ${counts}${more}; nothing of this recording was stored; --allow-remainder stores it and states what is left out`;
  return { line: found?.line ?? 1, reason: reason.slice(0, limits.batchReasonChars) };
}

function refusalOfStrange(
  { source }: Balance,
  { understood, first }: NonNullable<FileBalance['strange']>,
): InputRecord {
  const place = `${first.where}: ${first.why}`;
  const said = first.why.startsWith('looks like ')
    ? `${place}; ${source.format} understands ${understood} % of the content`
    : `${source.format} understands ${understood} % of the content, at least ${limits.balanceUnderstoodPercent} % are needed: this looks like a recording of another program or version; first part: ${place}`;
  const reason = `unbalanced: ${said}; nothing of this recording was stored; --allow-remainder stores it and states what is left out`;
  const [, line] = /^line (\d+)/.exec(first.where) ?? [];
  return { line: Number(line ?? 1), reason: reason.slice(0, limits.batchReasonChars) };
}

/** What became of the events of one run. */
export interface RunOutcome {
  readonly runId: string;
  /** Events of the file by the kind of fact. */
  readonly facts: Counts;
  /** That of its last event; undefined: it has none. */
  readonly lastTimestamp: string | undefined;
  /** Facts that another source had recorded. */
  readonly observed: Counts;
  /** Whether the run has the balance of this file. */
  readonly isKnown: (clientEventId: string) => boolean;
}

/** Returns the events of a balance, one for each run of the file that has events. Null: the run has it. */
export function balanceEvents(balance: Balance, outcomes: readonly RunOutcome[]): (EventInput | null)[] {
  const inAll = (kind: keyof Counts): number =>
    outcomes.reduce((sum, { observed }) => sum + (observed[kind] ?? 0), 0);
  const observed = fromEach(inAll);
  const recorded = fromEach((kind) => (balance.recorded[kind] ?? 0) - (observed[kind] ?? 0));
  const whole: Balance = { ...balance, recorded, observed };
  return outcomes.flatMap((outcome) => {
    const { lastTimestamp } = outcome;
    return lastTimestamp === undefined
      ? []
      : [eventOf(whole, { ...outcome, lastTimestamp, runs: outcomes.length })];
  });
}

function eventOf(
  balance: Balance,
  {
    runId,
    facts,
    observed,
    isKnown,
    lastTimestamp,
    runs,
  }: RunOutcome & { readonly lastTimestamp: string; readonly runs: number },
): EventInput | null {
  const clientEventId = balanceId(runId, balance.source.sha256);
  if (isKnown(clientEventId)) return null;
  const here = fromEach((kind) => (facts[kind] ?? 0) - (observed[kind] ?? 0));
  return {
    runId,
    eventType: balanceType,
    actor: { name: 'gov', role: 'importer' },
    action: 'balance',
    resource: { name: balance.source.name.slice(0, limits.partyNameChars), type: 'recording' },
    // the balance of the same file is the same event, whenever the file is read
    timestamp: lastTimestamp,
    metadata: { ...balance, ...(runs === 1 ? {} : { runs }), here },
    clientEventId,
  };
}

/** One for each content of a file in a run. */
export function balanceId(runId: string, sha256: string): string {
  const id = `${runId}:balance.${sha256.slice(0, 32)}`;
  return id.length <= limits.identifierChars ? id : `balance.${hash('sha256', id, 'hex')}`;
}
