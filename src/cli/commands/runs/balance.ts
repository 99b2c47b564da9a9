/** `gov runs balance RUN`. Tested by `test/cli/commands/runs/balance.test.ts`. */
import { resolve } from 'node:path';
import type { Client } from '../../../client/create.ts';
import { limits } from '../../../contract/limits.ts';
import {
  balanceWords,
  differenceOf,
  isWhole,
  statedBy,
  sumOf,
  unbalanced,
  wordOf,
  type Balance,
  type Counts,
} from '../../../core/balance/statement.ts';
import { kinds } from '../../../core/balance/kinds.ts';
import { shellWord } from '../../../core/shell-word.ts';
import {
  recordingFault,
  RecordingsJudge,
  recordingTypes,
  type Recordings,
} from '../../../core/proofs/recordings.ts';
import type { RecordingCode } from '../../../core/proofs/verdict.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit } from '../../program/exit.ts';
import { readRecording } from '../../runs/recording.ts';
import { printReport } from '../../terminal/report.ts';
import { safe, type Safe, type Styles } from '../../terminal/safe.ts';
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
  const found = await recordingsOf(await session.client(), args.runId);
  const balances = found.balances.map(({ balance }) => balance);
  const code = recordingFault(found);
  const fault =
    flags.recording === undefined ? undefined : await faultOf(resolve(io.cwd, flags.recording), balances);
  const isBroken = !balances.every(isWhole) || fault !== undefined;
  // a run without a recording has nothing to balance
  const isUnknown = !isBroken && code !== null;
  out.verdict = isBroken
    ? exit.checkFailed
    : code === null || code === 'NO_RECORDING'
      ? exit.ok
      : exit.partial;
  await printReport(out, {
    whole: { runId: args.runId, balanced: isUnknown ? null : !isBroken, code, files: balances },
    columns,
    rows: balances.flatMap(rowsOf),
    head: [headOf(balances, { code, isBroken }, out.styles)],
    foot: [
      ...balances.flatMap(leftOutLines),
      ...(code === 'RECORDING_NOT_COUNTED' ? notCounted(balances, args.runId) : []),
    ],
  });
  if (flags.recording !== undefined)
    await out.note(safe`${flags.recording}: ${fault ?? 'counted again: every sum is that of its balance'}`);
  return out.verdict;
};

function headOf(
  balances: readonly Balance[],
  { code, isBroken }: { readonly code: RecordingCode | null; readonly isBroken: boolean },
  { green, yellow, red }: Styles,
): Safe {
  if (code === 'NO_RECORDING') return safe`no recording in this run`;
  const words =
    balances.length === 0
      ? ''
      : `recordings balanced: ${balanceWords(balances)}, ${wordOf(statedBy(balances))}`;
  if (isBroken) return red(words);
  if (code === null) return green(words);
  const why = code === 'RECORDING_NOT_COUNTED' ? 'nothing was compared' : 'a recording has no balance';
  return yellow(words === '' ? why : `${words}; ${why}`);
}

/** What to do where the scanner finds nothing, so that the importer alone counted. */
function notCounted(balances: readonly Balance[], runId: string): Safe[] {
  const formats = [...new Set(balances.map(({ source }) => source.format))].join(', ');
  return [
    safe`the scanner finds no call, result, prompt or answer in ${formats}, so the importer alone counted`,
    safe`to check the events, keep the file and compare it with a proof: gov proofs create --run ${shellWord(runId)}, gov proofs get PROOF --bundle --events disclosed --out FILE, gov proofs verify FILE --recording RECORDING`,
  ];
}

/** Counts a file again. Returns how it differs from its balance; undefined if every sum is the same. */
async function faultOf(path: string, balances: readonly Balance[]): Promise<string | undefined> {
  const [{ formatOf, statedOf }, { balanceOfBytes, copiedIn }] = await Promise.all([
    import('../../../core/intake/repeat.ts'),
    import('../../../core/intake/balance-file.ts'),
  ]);
  const bytes = readRecording(path);
  const found = statedOf(bytes, balances);
  if ('code' in found) return found.detail;
  const [stated] = found.stated;
  const { balance } = balanceOfBytes(stated.source.name, bytes, {
    format: formatOf(stated),
    copied: copiedIn(stated),
  });
  return differenceOf(stated, balance);
}
/** What the events of a run say of its recordings. Throws exit 5 for a run without events. */
async function recordingsOf(client: Client, runId: string): Promise<Recordings> {
  const { body: first } = await client.listEvents({ query: { runId, limit: 1 } });
  if (first.events.length === 0)
    throw new CliError(exit.notFound, `expected a run with events, got ${runId}`);
  const judge = new RecordingsJudge();
  for (const eventType of recordingTypes) {
    let cursor: string | undefined;
    do {
      const query = { runId, eventType, limit: limits.eventPageMax, cursor };
      const { body } = await client.listEvents({ query });
      for (const { sequence, ...event } of body.events) judge.take({ index: sequence, ...event });
      cursor = body.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
  return judge.finish();
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
