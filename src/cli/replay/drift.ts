/**
 * Waits for a replay and prints its drift and its mismatched steps. Tested by `test/cli/commands/replay/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { ReplayResult } from '../../contract/replay.ts';
import { driftSeverities } from '../../contract/replay-words.ts';
import { comparedSnapshots } from '../../core/replay/drift.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Invocation } from '../context/command.ts';
import type { Check, Checks } from '../ci/checks.ts';
import { reported } from '../ci/report.ts';
import { exit } from '../program/exit.ts';
import { failsOn } from '../program/fail-on.ts';
import type { Out } from '../terminal/out.ts';
import { kindLines, textColumns } from '../terminal/report.ts';
import { safe } from '../terminal/safe.ts';
import type { Safe } from '../terminal/safe.ts';
import type { replayGraph } from '../specs/prove/replay.ts';
import { plainView } from '../terminal/view.ts';
import { defaultWaitMs, unfinished, waitForJob } from '../progress/waiting.ts';

type ReplayCall = Pick<Invocation<typeof replayGraph>, 'flags' | 'out' | 'io' | 'settings' | 'signal'>;

/** Returns the job's id at once, or its result with --wait. Errors: exit 1 if the job failed, 8 at the deadline. */
export async function replayed(call: ReplayCall, client: Client, jobId: string): Promise<number> {
  const { flags, io, out, settings } = call;
  const isReport =
    out.settings.format === 'junit' || out.settings.format === 'sarif' || out.settings.format === 'github';
  if (!flags.wait && flags.failOn.length === 0 && !isReport && flags.report.length === 0 && !flags.annotate) {
    await out.one({ jobId }, plainView(['jobId']));
    if (out.isHuman) await out.note(safe`wait for it: gov jobs wait ${shellWord(jobId)}`);
    return exit.ok;
  }
  const deadline = performance.now() + (settings.timeoutMs ?? defaultWaitMs);
  const job = await waitForJob(client, { jobId, deadline }, call);
  if (job.status !== 'completed') throw unfinished(job);
  // the result of a completed replay
  const result = job.result as ReplayResult;
  out.verdict = isBad(result, flags.failOn) ? exit.checkFailed : exit.ok;
  if (await reported({ out, io, flags }, () => checksOf(result, flags.failOn))) return out.verdict;
  await printReplay(out, result);
  if (severitiesOf(flags.failOn).length > 0 && !comparedSnapshots(result.warnings))
    await out.note(safe`${notCompared}`);
  return out.verdict;
}

/** A step that does not match, or a drift, is a check that failed if --fail-on names it, else a warning. */
function checksOf(
  { runId, steps, driftDiagnostics, warnings }: ReplayResult,
  failOn: readonly string[],
): Checks {
  const isStepBad = failOn.includes('mismatch');
  const severities = severitiesOf(failOn);
  return {
    command: 'replay',
    checks: [
      ...steps.map(({ index, status, eventType, action, detail = '' }): Check => {
        const check = { group: runId, name: `step ${index}: ${eventType} ${action}` };
        if (status === 'match') return { ...check, outcome: 'passed' };
        const level = isStepBad ? 'error' : 'warning';
        const finding = {
          rule: `replay/${status}`,
          level,
          message: detail || status.replace('_', ' '),
        } as const;
        const isSkipped = status === 'not_replayable';
        return { ...check, outcome: isSkipped ? 'skipped' : isStepBad ? 'failed' : 'passed', finding };
      }),
      ...driftDiagnostics.map(({ severity, field, expected, actual }): Check => {
        const isBad = failsOn(severities, severity, driftSeverities);
        return {
          group: runId,
          name: `drift of ${field}`,
          outcome: isBad ? 'failed' : 'passed',
          finding: {
            rule: `replay/drift_${severity}`,
            level: isBad ? 'error' : 'warning',
            message: `expected ${expected}, got ${actual}`,
          },
        };
      }),
      ...(comparedSnapshots(warnings) ? [] : [noSnapshotCheck(runId, severities.length > 0)]),
    ],
  };
}

const notCompared =
  'no snapshot was compared, so drift is unknown: record the run with one, or give --snapshot FILE';

const noSnapshotCheck = (runId: string, isRequired: boolean): Check => ({
  group: runId,
  name: 'drift of the snapshot',
  outcome: isRequired ? 'failed' : 'skipped',
  finding: { rule: 'replay/no_snapshot', level: isRequired ? 'error' : 'warning', message: notCompared },
});

/** Drift that nothing could have shown does not pass. */
function isBad({ summary, driftDiagnostics, warnings }: ReplayResult, failOn: readonly string[]): boolean {
  const { mismatch, missing, extra } = summary;
  if (failOn.includes('mismatch') && mismatch + missing + extra > 0) return true;
  const severities = severitiesOf(failOn);
  if (severities.length > 0 && !comparedSnapshots(warnings)) return true;
  return driftDiagnostics.some(({ severity }) => failsOn(severities, severity, driftSeverities));
}

const severitiesOf = (failOn: readonly string[]): string[] =>
  failOn.filter((word) => word !== 'mismatch').map((word) => word.split('=')[1] ?? driftSeverities[0]);

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
    driftDiagnostics.length > 0
      ? bold(`${driftDiagnostics.length} drifted`)
      : comparedSnapshots(warnings)
        ? green('nothing drifted')
        : yellow('no drift found, and no snapshot to compare'),
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
