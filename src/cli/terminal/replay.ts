/**
 * Waits for a replay and prints its drift and its mismatched steps. Tested by `test/cli/commands/replay/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { ReplayResult } from '../../contract/replay.ts';
import { driftSeverities } from '../../contract/replay-words.ts';
import type { Invocation } from '../program/command.ts';
import { CliError, exit } from '../program/exit.ts';
import { failsOn } from '../program/fail-on.ts';
import type { Out } from './out.ts';
import { kindLines, textColumns } from './report.ts';
import { safe } from './safe.ts';
import type { Safe } from './safe.ts';
import type { replayGraph } from '../commands/replay/spec.ts';
import { plainView } from './view.ts';
import { defaultWaitMs, jobFailure, waitForJob } from '../progress/waiting.ts';

type Waiting = Pick<Invocation<typeof replayGraph>, 'flags' | 'out' | 'io' | 'settings' | 'signal'>;

/** Returns the job's id at once, or its result with --wait. Errors: exit 1 if the job failed, 8 at the deadline. */
export async function replayed(call: Waiting, client: Client, jobId: string): Promise<number> {
  const { flags, out, settings } = call;
  if (!flags.wait && flags.failOn.length === 0) {
    await out.one({ jobId }, plainView(['jobId']));
    if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${jobId}`);
    return exit.ok;
  }
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline }, call);
  if (job.status !== 'completed') {
    throw new CliError(exit.error, jobFailure(job), {
      code: 'JOB_FAILED',
      next: [`gov jobs retry ${jobId}`],
    });
  }
  // the result of a completed replay
  const result = job.result as ReplayResult;
  out.verdict = isBad(result, flags.failOn) ? exit.checkFailed : exit.ok;
  await printReplay(out, result);
  return out.verdict;
}

function isBad({ summary, driftDiagnostics }: ReplayResult, failOn: readonly string[]): boolean {
  const { mismatch, missing, extra } = summary;
  if (failOn.includes('mismatch') && mismatch + missing + extra > 0) return true;
  const severities = failOn
    .filter((word) => word !== 'mismatch')
    .map((word) => word.split('=')[1] ?? driftSeverities[0]);
  return driftDiagnostics.some(({ severity }) => failsOn(severities, severity, driftSeverities));
}

/** Steps to show to people; the output counts the rest. */
const shownSteps = 50;

export async function printReplay(out: Out, result: ReplayResult): Promise<void> {
  if (out.isHuman) return human(out, result);
  if (out.format === 'tsv' || out.format === 'csv') return out.lines(kindLines(out, rows(result)));
  return out.one(result, plainView(['replayId']));
}

async function human(out: Out, result: ReplayResult): Promise<void> {
  const { bold, green, yellow } = out.styles;
  const { summary, driftDiagnostics, warnings } = result;
  const { steps, match, mismatch, missing, extra, notReplayable } = summary;
  const counts = { match, mismatch, missing, extra, 'not replayable': notReplayable };
  const told = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`);
  await out.lines([
    safe`${bold(result.replayId)}  run ${result.runId}`,
    safe`${steps} steps${told.length === 0 ? '' : `: ${told.join(', ')}`}`,
    driftDiagnostics.length === 0 ? green('nothing drifted') : bold(`${driftDiagnostics.length} drifted`),
  ]);
  await out.table(driftDiagnostics, textColumns(['severity', 'field', 'expected', 'actual']));
  const other = result.steps.filter(({ status }) => status !== 'match');
  if (other.length > 0) await out.lines([safe``, bold('Steps that do not match')]);
  await out.table(other.slice(0, shownSteps), [
    { name: 'index', kind: 'count' },
    ...textColumns(['status', 'eventType', 'action', 'detail']),
  ]);
  const rest: Safe[] = [];
  if (other.length > shownSteps) rest.push(safe`${other.length - shownSteps} more: -o json`);
  if (result.truncated === true)
    rest.push(yellow('the result is larger than one response: this output leaves out the rest'));
  await out.lines([...rest, ...warnings.map((text) => safe`${yellow('warning:')} ${text}`)]);
}

/** One line each: `drift severity field …`, `step index status …`, `warning text`. */
const rows = ({ steps, driftDiagnostics, warnings }: ReplayResult): (readonly (string | number)[])[] => [
  ...driftDiagnostics.map(({ severity, field, expected, actual }) => [
    'drift',
    severity,
    field,
    expected,
    actual,
  ]),
  ...steps.map(({ index, status, eventType, action, detail = '' }) => [
    'step',
    index,
    status,
    eventType,
    action,
    detail,
  ]),
  ...warnings.map((text) => ['warning', text]),
];
