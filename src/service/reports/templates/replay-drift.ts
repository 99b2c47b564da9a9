/** Template `replay-drift`: whether recorded decisions repeat, and what changed around them. */
import { driftSeverities, type DriftSeverity } from '../../../contract/replay-words.ts';
import type { ReplayResult } from '../../../contract/replay.ts';
import { openReplay, type ReplayRecord } from '../../../core/decided/replay.ts';
import { loggedResult } from '../../jobs/result.ts';
import { byName, increase, totalOf } from '../counts/by-name.ts';
import { barsOf, type Draft } from './draft.ts';
import { count } from './period.ts';
import { leavesIn } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { tallyOf } from '../counts/tally.ts';
import { template } from './sections.ts';

const replayTable: TableSpec = {
  id: 'replays',
  title: 'Replays',
  lists: 'Replays that were recorded in the period; those that differ or drift first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    replayedAt: ['Replayed', 'time'],
    runId: 'Run',
    replayId: 'Replay',
    kind: 'Compared',
    result: ['Result', 'status'],
    severity: ['Gravest drift', 'status'],
    steps: ['Steps', 'number'],
    replayed: ['Repeated', 'number'],
    mismatches: ['Different', 'number'],
    notReplayable: ['Not repeatable', 'number'],
    warnings: ['Warnings', 'number'],
    drift: ['Drift', 'number'],
  }),
  rest: 'gov export create --resource replays has all of them.',
};

const driftTable: TableSpec = {
  id: 'drift',
  title: 'Drift',
  lists: 'What replays of the period found changed; critical and high first, each part in log order',
  columns: columns({
    replayId: 'Replay',
    runId: 'Run',
    field: 'Changed',
    severity: ['Severity', 'status'],
    expected: 'Recorded',
    actual: 'Now',
  }),
  unshown: 'Findings are in the results of the replays; each leaf commits to its result.',
  rest: 'gov replay get shows those of one replay.',
};

const conditionTable: TableSpec = {
  id: 'conditions',
  title: 'Replays by model, policies and tools',
  lists:
    'Conditions that replays were made under: those given with the replay, else those of the run; those with a difference first',
  columns: columns({
    modelRoute: 'Model',
    policyHash: ['Policies', 'hash'],
    toolRegistryHash: ['Tools', 'hash'],
    replays: ['Replays', 'number'],
    differing: ['Different', 'number'],
    drifting: ['With drift', 'number'],
  }),
  unshown: 'Its rows follow from the replays of the period.',
};

export const replayDrift = template({
  title: 'Replay and drift',
  summary: 'Whether recorded decisions give the same result again, and which model, policy or tool changed',
  choices: 'Replays that failed or have not ended are not in the log and are left out.',
  run: 'optional',
  sections: {
    replays: {
      title: 'Replays',
      text: 'A replay repeats recorded decisions with the policies that were in force then. It calls no model and no tool.',
      tables: [replayTable],
      figures: {
        differing: 'Replays that differ from the record',
        replays: 'Replays',
        runsReplayed: 'Runs of the period that were replayed',
        runs: 'Runs of the period',
      },
      checks: ['sameResult'],
    },
    drift: {
      title: 'Drift',
      tables: [driftTable, conditionTable],
      figures: { drifting: 'Replays with drift', critical: 'Critical drift', high: 'High drift' },
      checks: ['noGraveDrift'],
    },
  },
  build: async (draft) => {
    const { source, period, evidence } = draft;
    const { runId } = source;
    const found = await replaysIn(draft);
    const { rows, differing, drifting, bySeverity, runs } = found;
    const tally = await tallyOf(source, period);
    return {
      figures: {
        differing,
        replays: rows.population,
        drifting,
        critical: bySeverity.get('critical') ?? 0,
        high: bySeverity.get('high') ?? 0,
        runsReplayed: [...tally.runs.keys()].filter((id) => runs.has(id)).length,
        runs: tally.runCount,
      },
      checks: replaysOf(found),
      blocks: {
        drift: [
          barsOf(
            'Drift by severity',
            'findings',
            driftSeverities.toReversed().map((name) => [name, bySeverity.get(name) ?? 0]),
          ),
        ],
      },
      tables: [
        rows.table({
          scope: `${replayTable.lists}.${runId === null ? '' : ` Only those of run ${runId}.`}`,
          completeness:
            runId === null
              ? await evidence.everyLeaf('gov.replay/1', rows)
              : notShown('Only the replays of one run in a period are listed.'),
        }),
        found.drift.table(),
        found.conditions.table(),
      ],
    };
  },
});

function replaysOf(found: ReplayCounts) {
  const { rows, drift, differing, compared, lacking, snapshots, graveReplays, withdrawn, bySeverity } = found;
  const nothing = 'Nothing was replayed in the period. gov replay run RUN replays a run.';
  const grave = totalOf(bySeverity, 'critical', 'high');
  return {
    sameResult: {
      examined: compared,
      failed: differing,
      detail: `${differing} of ${count(compared, 'replay')} that repeated something ${differing === 1 ? 'differs' : 'differ'}.`,
      none: rows.population === 0 ? nothing : 'No replay of the period could repeat a decision.',
      missing:
        lacking === 0
          ? null
          : `${count(lacking, 'step')} of replays could not be repeated, so nothing is said of them.`,
    },
    noGraveDrift: {
      examined: snapshots,
      failed: graveReplays,
      detail: `Critical or high: ${grave} of ${count(drift.population, 'finding')} in ${count(snapshots, 'replay')}.`,
      none: rows.population === 0 ? nothing : 'No replay of the period had a snapshot to compare.',
      missing: withdrawn === 0 ? null : `The findings of ${count(withdrawn, 'replay')} were erased.`,
    },
  };
}

interface Condition {
  readonly modelRoute: string | null;
  readonly policyHash: string | null;
  readonly toolRegistryHash: string | null;
  replays: number;
  differing: number;
  drifting: number;
}

interface ReplayCounts {
  readonly rows: Rows;
  readonly drift: Rows;
  readonly conditions: Rows;
  readonly differing: number;
  readonly drifting: number;
  /** Replays that repeated something. */
  readonly compared: number;
  /** Steps that they could not repeat. */
  readonly lacking: number;
  /** Replays that compared a snapshot, those with critical or high drift, and those whose findings were erased. */
  readonly snapshots: number;
  readonly graveReplays: number;
  readonly withdrawn: number;
  readonly bySeverity: ReadonlyMap<string, number>;
  readonly runs: ReadonlySet<string>;
}

async function replaysIn({ source, period }: Draft): Promise<ReplayCounts> {
  const rows = new Rows(replayTable);
  const drift = new Rows(driftTable);
  const conditions = new Map<string, Condition>();
  const bySeverity = new Map<string, number>();
  const runs = new Set<string>();
  let [differing, drifting, compared, lacking] = [0, 0, 0, 0];
  let [snapshots, graveReplays, withdrawn] = [0, 0, 0];
  for await (const leaf of leavesIn(source, { type: 'gov.replay/1', runId: source.runId }, period)) {
    const replay = openReplay(leaf);
    const differs = replay.mismatches.n > 0;
    const drifts = replay.driftCount > 0;
    differing += differs ? 1 : 0;
    drifting += drifts ? 1 : 0;
    compared += isCompared(replay) ? 1 : 0;
    lacking += isCompared(replay) ? replay.notReplayable : 0;
    snapshots += replay.snapshot !== null || drifts ? 1 : 0;
    runs.add(replay.runId);
    addCondition(conditions, replay);
    const found = await findingsOf(source, replay);
    withdrawn += drifts && found.length === 0 ? 1 : 0;
    graveReplays += found.some(isGrave) ? 1 : 0;
    for (const { field, severity, expected, actual } of found) {
      increase(bySeverity, severity);
      drift.add([replay.replayId, replay.runId, field, severity, expected, actual], isGrave({ severity }));
    }
    rows.add(rowOf(leaf.index, replay, gravestOf(found)), differs || drifts);
  }
  return {
    rows,
    drift,
    conditions: conditionRows(conditions),
    differing,
    drifting,
    compared,
    lacking,
    snapshots,
    graveReplays,
    withdrawn,
    bySeverity,
    runs,
  };
}

/** Whether a replay repeated something that could have differed: a decision, or a step of a graph or of another run. */
const isCompared = ({ kind, steps, replayed, notReplayable, mismatches }: ReplayRecord): boolean =>
  mismatches.n > 0 || (kind === 'decisions' ? replayed > 0 : steps > notReplayable);

const isGrave = ({ severity }: Pick<DriftFinding, 'severity'>): boolean =>
  severity === 'critical' || severity === 'high';

type DriftFinding = ReplayResult['driftDiagnostics'][number];

/** Drift that the stored result names; none where an erasure withdrew the result. */
async function findingsOf(
  { reader, projectId }: ReportSource,
  { replayId, driftCount }: ReplayRecord,
): Promise<readonly DriftFinding[]> {
  if (driftCount === 0) return [];
  const text = await loggedResult(reader, projectId, replayId);
  if (text === null) return [];
  return (JSON.parse(text) as Partial<ReplayResult>).driftDiagnostics ?? [];
}

const gravestOf = (found: readonly DriftFinding[]): DriftSeverity | null =>
  driftSeverities.findLast((name) => found.some(({ severity }) => severity === name)) ?? null;

function rowOf(
  index: number,
  replay: ReplayRecord,
  severity: DriftSeverity | null,
): (string | number | null)[] {
  const { at, runId, replayId, kind, steps, replayed, mismatches, notReplayable, warnings, driftCount } =
    replay;
  const result =
    mismatches.n > 0 ? 'different' : steps === notReplayable && steps > 0 ? 'not repeatable' : 'same';
  const counts = [steps, replayed, mismatches.n, notReplayable, warnings, driftCount];
  return [index, at, runId, replayId, kind, result, severity, ...counts];
}

function addCondition(
  conditions: Map<string, Condition>,
  { snapshot, mismatches, driftCount }: ReplayRecord,
): void {
  const text = (value: string | undefined): string | null => value || null;
  const named = {
    modelRoute: text(snapshot?.modelRoute),
    policyHash: text(snapshot?.policyHash),
    toolRegistryHash: text(snapshot?.toolRegistryHash),
  };
  const key = JSON.stringify(named);
  const known = conditions.get(key) ?? { ...named, replays: 0, differing: 0, drifting: 0 };
  known.replays += 1;
  known.differing += mismatches.n > 0 ? 1 : 0;
  known.drifting += driftCount > 0 ? 1 : 0;
  conditions.set(key, known);
}

function conditionRows(conditions: ReadonlyMap<string, Condition>): Rows {
  const rows = new Rows(conditionTable);
  for (const [, each] of byName(conditions)) {
    const { modelRoute, policyHash, toolRegistryHash, replays, differing, drifting } = each;
    rows.add(
      [modelRoute, policyHash, toolRegistryHash, replays, differing, drifting],
      differing + drifting > 0,
    );
  }
  return rows;
}
