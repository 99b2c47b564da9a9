/**
 * `gov policy impact [ID] --proposed FILE`: compares a proposed version with decisions on samples, or with recorded
 * decisions. Exit 3 if more changes than the flags allow.
 * Tested by `test/cli/commands/policy/change.test.ts`.
 */
import type { Client } from '../../../client/create.ts';
import { limits } from '../../../contract/limits.ts';
import type { Invocation, Run } from '../../context/command.ts';
import type { Checks } from '../../ci/checks.ts';
import { checkReports, reported } from '../../ci/report.ts';
import { exit, usage } from '../../program/exit.ts';
import { filesOf, readInput, valuesOf } from '../../terminal/input.ts';
import type { Out } from '../../terminal/out.ts';
import { percentOf, shownPercent } from '../../terminal/numbers.ts';
import { checkpointOf, wireCheckpoint } from '../../policies/input.ts';
import { readPolicy } from '../../policies/file.ts';
import type { PolicyFile } from '../../policies/file.ts';
import { printReport, textColumns } from '../../terminal/report.ts';
import { safe } from '../../terminal/safe.ts';
import type { Safe } from '../../terminal/safe.ts';
import type { policyImpact as spec } from '../../specs/decide/policy.ts';

type Call = Invocation<typeof spec>;

export const run: Run<typeof spec> = async (invocation) => {
  const { flags, out, io, session, signal } = invocation;
  const most = flags.maxChange === undefined ? 1 : percentOf('--max-change', flags.maxChange);
  if (flags.samples !== undefined && (flags.since !== undefined || flags.until !== undefined))
    throw usage('expected --samples, or --since and --until, got both');
  checkReports({ flags });
  const proposed = await readPolicy(flags.proposed, { io, signal });
  const client = await session.client();
  const told =
    flags.samples === undefined
      ? await onHistory(invocation, client, proposed)
      : await onSamples(invocation, client, { proposed, word: flags.samples });
  const counts = { loosened: told.loosened, tightened: told.tightened, changed: told.changed };
  const failed =
    told.changeRate > most || flags.failOn.some((word) => counts[word as keyof typeof counts] > 0);
  out.verdict = failed ? exit.checkFailed : exit.ok;
  const checks = (): Checks => checksOf(invocation, told, { group: idOf(invocation, proposed), most });
  const result = { facts: { ...counts, total: told.total, changeRate: told.changeRate }, rowKind: 'change' };
  if (!(await reported(invocation, checks))) await printReport(out, { ...told, result });
  return out.verdict;
};

/** A changed decision is a check that failed if a flag forbids it. The share of changes is a check of its own. */
function checksOf(
  { flags }: Call,
  told: ImpactReport,
  { group, most }: { group: string; most: number },
): Checks {
  const { changeRate } = told;
  const forbids = (direction: unknown): boolean =>
    flags.failOn.some((word) => word === direction || word === 'changed');
  const changed = told.rows.filter(({ direction }) => direction === 'loosened' || direction === 'tightened');
  const share = {
    group,
    name: 'share of changed decisions',
    outcome: changeRate > most ? ('failed' as const) : ('passed' as const),
    finding: {
      rule: 'impact/share',
      level: changeRate > most ? ('error' as const) : ('note' as const),
      message: `${shownPercent(changeRate)} of decisions change, at most ${shownPercent(most)} may`,
      file: flags.proposed,
    },
  };
  return {
    command: 'policy impact',
    checks: [
      share,
      ...changed.map(({ sample, evaluationId, before, after, direction, reasoning }) => ({
        group,
        name: evaluationId === undefined ? `sample ${String(sample)}` : String(evaluationId),
        outcome: forbids(direction) ? ('failed' as const) : ('passed' as const),
        finding: {
          rule: `impact/${String(direction)}`,
          level: forbids(direction) ? ('error' as const) : ('warning' as const),
          message: `${String(before)} becomes ${String(after)}: ${String(reasoning ?? '')}`,
          file: flags.proposed,
        },
      })),
    ],
  };
}

interface ImpactReport {
  readonly whole: unknown;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly columns: ReturnType<typeof textColumns>;
  readonly head: readonly Safe[];
  readonly foot: readonly Safe[];
  readonly changed: number;
  readonly loosened: number;
  readonly tightened: number;
  readonly total: number;
  readonly changeRate: number;
}

const idOf = ({ args }: Call, { policyId }: PolicyFile): string => args.policyId ?? policyId;

const versionIn = ({ condition, action, severity, requireSignedApproval, onIndeterminate }: PolicyFile) => ({
  condition,
  action,
  ...(severity === null ? {} : { severity }),
  ...(requireSignedApproval ? { requireSignedApproval } : {}),
  ...(onIndeterminate === null ? {} : { onIndeterminate }),
});

async function onSamples(
  invocation: Call,
  client: Client,
  { proposed, word }: { proposed: PolicyFile; word: string },
): Promise<ImpactReport> {
  const { io, signal, out } = invocation;
  const samples = [];
  for (const file of filesOf([word], ['.json', '.ndjson'], { io, signal })) {
    const values = valuesOf(await readInput(file, { io, signal }));
    for (const [at, value] of values.entries())
      samples.push(wireCheckpoint(checkpointOf(value, `${file} ${at + 1}`)));
  }
  if (samples.length > limits.sampleCheckpoints)
    throw usage(`--samples: expected at most ${limits.sampleCheckpoints} checkpoints, got ${samples.length}`);
  const { body } = await client.analyzePolicyImpact({
    params: { policyId: idOf(invocation, proposed) },
    body: { proposedVersion: versionIn(proposed), sampleCheckpoints: samples },
  });
  const rows = body.comparisons.map(({ index, before, after, direction, reasoning }) => ({
    sample: index + 1,
    before: before.decision,
    after: after.decision,
    direction,
    reasoning,
  }));
  const count = (wanted: string): number => rows.filter(({ direction }) => direction === wanted).length;
  const counts = { loosened: count('loosened'), tightened: count('tightened'), changed: body.changedCount };
  return {
    whole: body,
    columns: textColumns(['sample', 'before', 'after', 'direction', 'reasoning']),
    rows: out.isHuman ? rows.filter((_, at) => body.comparisons[at]?.changed) : rows,
    head: [headLine({ ...counts, total: body.sampleCount, rate: body.changeRate, what: 'samples' }, out)],
    foot: [],
    ...counts,
    total: body.sampleCount,
    changeRate: body.changeRate,
  };
}

async function onHistory(invocation: Call, client: Client, proposed: PolicyFile): Promise<ImpactReport> {
  const { flags, out } = invocation;
  const { since, until } = flags;
  const { body } = await client.analyzePolicyHistory({
    params: { policyId: idOf(invocation, proposed) },
    body: {
      proposedVersion: versionIn(proposed),
      ...(since === undefined ? {} : { startTime: since }),
      ...(until === undefined ? {} : { endTime: until }),
    },
  });
  const { examples, changedCount, loosened, tightened, replayed, changeRate } = body;
  const rows = (['loosened', 'tightened'] as const).flatMap((direction) =>
    examples[direction].map(({ before, after, ...example }) => ({
      ...example,
      before: before.decision,
      after: after.decision,
      direction,
    })),
  );
  const counts = { changed: changedCount, loosened, tightened };
  const asked = { ...counts, total: replayed, rate: changeRate, what: 'recorded decisions' };
  return {
    whole: body,
    columns: textColumns(['evaluationId', 'before', 'after', 'direction', 'runId', 'reasoning']),
    rows,
    head: [headLine(asked, out), ...remarks(body)],
    foot: body.byTool
      .filter((group) => group.loosened + group.tightened > 0)
      .map(
        ({ key, total, ...group }) =>
          safe`${out.styles.bold(key)}  ${group.loosened} loosened, ${group.tightened} tightened of ${total}`,
      ),
    ...counts,
    total: replayed,
    changeRate,
  };
}

interface ImpactCounts {
  readonly changed: number;
  readonly loosened: number;
  readonly tightened: number;
  readonly total: number;
  readonly rate: number;
  readonly what: string;
}

function headLine({ changed, loosened, tightened, total, rate, what }: ImpactCounts, { styles }: Out): Safe {
  const { bold, red, dim } = styles;
  const looser = loosened === 0 ? safe`0 loosened` : red(bold(`${loosened} loosened: they would pass now`));
  return safe`${changed} of ${total} ${what} change ${dim(`(${shownPercent(rate)})`)}: ${looser}, ${tightened} tightened`;
}

function remarks({
  notReplayable,
  window,
}: {
  readonly notReplayable: { readonly count: number; readonly paths: readonly string[] };
  readonly window: { readonly complete: boolean };
}): Safe[] {
  const { count, paths } = notReplayable;
  return [
    ...(count === 0
      ? []
      : [safe`${count} could not be repeated: their records lack ${paths.slice(0, 5).join(', ')}`]),
    ...(window.complete
      ? []
      : [safe`only the newest ${limits.historyEvaluations} of the period were checked`]),
  ];
}
