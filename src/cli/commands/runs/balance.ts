/** `gov runs balance RUN`. Tested by `test/cli/commands/runs/balance.test.ts`. */
import { resolve } from 'node:path';
import type { Client } from '../../../client/create.ts';
import type { AuditEvent } from '../../../contract/events.ts';
import { limits } from '../../../contract/limits.ts';
import {
  balanceType,
  balanceWords,
  differenceOf,
  isWhole,
  latestBalances,
  sumOf,
  unbalanced,
  type Balance,
  type Counts,
} from '../../../core/balance/statement.ts';
import { kinds } from '../../../core/balance/kinds.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { readRecording } from '../../runs/recording.ts';
import { printReport } from '../../terminal/report.ts';
import { safe, type Safe } from '../../terminal/safe.ts';
import type { Column } from '../../terminal/view.ts';
import type { runsBalance as spec } from '../../specs/record/runs.ts';

const sums = [
  'found',
  'unseen',
  'recorded',
  'observed',
  'inherited',
  'repeated',
  'excepted',
  'leftOut',
] as const;
const columns: readonly Column[] = [
  { name: 'file', kind: 'text' },
  { name: 'kind', kind: 'text' },
  ...sums.map((name) => ({ name, kind: 'count' }) as const),
];

export const run: Run<typeof spec> = async ({ args, flags, io, out, session }) => {
  const balances = latestBalances(await balanceEvents(await session.client(), args.runId));
  const fault =
    flags.recording === undefined ? undefined : await faultOf(resolve(io.cwd, flags.recording), balances);
  const isBalanced = balances.every(isWhole) && fault === undefined;
  out.verdict = isBalanced ? exit.ok : exit.checkFailed;
  const words = safe`recordings balanced: ${balanceWords(balances)}`;
  const { styles } = out;
  await printReport(out, {
    whole: { runId: args.runId, balanced: isBalanced, files: balances },
    columns,
    rows: balances.flatMap(rowsOf),
    head: [
      balances.length === 0
        ? safe`no recording of this run has a balance`
        : isBalanced
          ? styles.green(words)
          : styles.red(words),
    ],
    foot: balances.flatMap(leftOutLines),
  });
  if (flags.recording !== undefined)
    await out.note(safe`${flags.recording}: ${fault ?? 'counted again: every sum is that of its balance'}`);
  return out.verdict;
};

/** Counts a file again. Returns how it differs from its balance; undefined if every sum is the same. */
async function faultOf(path: string, balances: readonly Balance[]): Promise<string | undefined> {
  const [{ statedOf }, { balanceOfBytes, copiedIn }] = await Promise.all([
    import('../../../core/intake/repeat.ts'),
    import('../../../core/intake/balance-file.ts'),
  ]);
  const bytes = readRecording(path);
  const found = statedOf(bytes, balances);
  if ('code' in found) return found.detail;
  const [stated] = found.stated;
  const { balance } = balanceOfBytes(stated.source.name, bytes, { copied: copiedIn(stated) });
  return differenceOf(stated, balance);
}
/** Returns the events with balances in the order of recording. Throws exit 5 for a run without events. */
async function balanceEvents(client: Client, runId: string): Promise<AuditEvent[]> {
  const { body: first } = await client.listEvents({ query: { runId, limit: 1 } });
  if (first.events.length === 0)
    throw new CliError(exit.notFound, `expected a run with events, got ${runId}`);
  const found: AuditEvent[] = [];
  let cursor: string | undefined;
  do {
    const query = { runId, eventType: balanceType, limit: limits.eventPageMax, cursor };
    const { body } = await client.searchEvents({ query });
    found.push(...body.events);
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found.toReversed();
}

const rowsOf = (balance: Balance) =>
  kinds.map((kind) => ({
    file: balance.source.name,
    kind,
    ...Object.fromEntries(sums.map((name) => [name, countsOf(balance[name])[kind] ?? 0])),
  }));

const countsOf = (given: Counts | readonly Counts[]): Counts => ('length' in given ? sumOf(given) : given);

function leftOutLines(balance: Balance): Safe[] {
  const { source, remainder, leftOut } = balance;
  const more = leftOut.parts - remainder.length;
  return [
    ...unbalanced(balance).map((kind) => safe`${source.name}: the sums of ${kind} do not come out`),
    ...remainder.map(
      ({ where, why, bytes }) => safe`${source.name}: left out: ${where}: ${why} (${bytes} bytes)`,
    ),
    ...(more > 0 ? [safe`${source.name}: ${more} more parts left out`] : []),
  ];
}
