/** Template `run-evidence`: everything that the log has of one run, and the proof of it (contract L4). */
import { GovError } from '../../../contract/problems.ts';
import { openReplay } from '../../../core/decided/replay.ts';
import { readStatement } from '../../../core/proofs/statement.ts';
import type { ReportBlock, ReportTable } from '../../../core/reports/model.ts';
import type { StoredProof } from '../../../store/port/store.ts';
import { largestFirst } from '../counts/by-name.ts';
import { approvalRows, approvalsIn, approvalTable, figuresOf } from './approvals.ts';
import { alarmText, coverageTable, coverageRows, unseenText, type CoverageTable } from './coverage.ts';
import { decisionTable, evaluationRows } from './decisions-exceptions.ts';
import { barsOf, factsOf, type Draft } from './draft.ts';
import { count, timeText, type Period } from './period.ts';
import { leavesOf } from './read.ts';
import { proofsOf, proofTable, type Proofs } from '../counts/proofs.ts';
import { timelineOf, timelineTable, type Timeline } from './timeline.ts';
import { Rows } from './rows.ts';
import { isRefuted, type AttachedProof } from './shown.ts';
import { columns, type ReportSource, type TableSpec } from './source.ts';
import { template } from './sections.ts';

const rest = 'gov runs show has all of them.';
const decisions: TableSpec = {
  ...decisionTable,
  lists: 'All policy evaluations of the run; denied and escalated ones first',
  rest,
};
const approvals: TableSpec = {
  ...approvalTable,
  lists: 'Approvals that evaluations of the run requested',
  unshown: 'Requests follow from the policy decisions of the run.',
  rest,
};
const coverage: TableSpec = {
  ...coverageTable,
  lists: 'Tool calls of the run; alarms first, each part in order',
  unshown: 'Verdicts follow from the events of the run.',
};

const replayTable: TableSpec = {
  id: 'replays',
  title: 'Replays',
  lists: 'Replays of the run; those that differ first',
  columns: columns({
    leaf: ['Leaf', 'number'],
    replayedAt: ['Replayed', 'time'],
    replayId: 'Replay',
    kind: 'Compared',
    steps: ['Steps', 'number'],
    replayed: ['Repeated', 'number'],
    mismatches: ['Different', 'number'],
    drift: ['Drift', 'number'],
  }),
  rest,
};

export const runEvidence = template({
  title: 'Run evidence',
  summary: 'What one run did, what was decided about it, and whether its record is whole and was not changed',
  choices:
    'The run is shown as a whole: the period selects nothing. Contents of events are not printed; an attached proof shows their hashes.',
  run: 'required',
  sections: {
    run: {
      title: 'The run',
      figures: {
        record: ['Record of the run, by the index of the log', 'status'],
        compliance: ['Policies in force were obeyed', 'status'],
        lasted: ['Lasted', 'duration'],
      },
      checks: ['fieldsKept', 'runBalanced'],
    },
    events: {
      title: 'What happened',
      tables: [timelineTable],
      figures: { events: 'Events' },
      checks: ['runWhole'],
    },
    decisions: {
      title: 'What was decided',
      tables: [decisions, coverage, approvals],
      figures: {
        decisions: 'Policy decisions',
        exceptions: 'Denied or escalated',
        ungoverned: 'Tool calls that ran without a decision',
        deniedButRan: 'Tool calls that ran after a denial',
      },
      checks: ['runObeyed', 'runGoverned'],
    },
    proofs: {
      title: 'How to check it',
      tables: [proofTable, replayTable],
      figures: { proof: ['Newest proof', 'text'] },
      checks: ['runProved'],
    },
  },
  build: async (draft) => {
    const { source, evidence } = draft;
    const runId = requiredRun(source);
    // the whole run, whatever the period
    const whole: Period = {
      ...draft.period,
      from: 0,
      to: source.treeSize,
      startMs: 0,
      endMs: Number.MAX_SAFE_INTEGER,
    };
    const timeline = await timelineOf(source, runId);
    const { cases, more } = await approvalsIn(source, whole, runId);
    const evaluations = leavesOf(source, { type: 'gov.evaluation/1', runId });
    const { rows: decided } = await evaluationRows(decisions, evaluations, cases);
    const covered = await coverageRows(source, { spec: coverage, runIds: [runId] });
    const stated = await proofsOf(source, runId);
    // the layer holds for a run that no policy decided about, too
    const isGoverned = decided.population > 0;
    const proofs: Proofs =
      stated.compliance === 'yes' && !isGoverned ? { ...stated, compliance: 'no decision' } : stated;
    const replays = await replaysOf(source, runId);
    const newest = proofs.newest;
    const attached = newest === null ? null : await proofFile(draft, newest);
    const file = attached === null || attached.made === 'no room' ? null : attached.file;
    const complete = await completeness(draft, timeline, { runId, file, covers: newest });
    const { prunedBelow } = draft.period;
    const found = { runId, complete, timeline, proofs, covered, attached, prunedBelow };
    const listed = async (type: string, rows: Rows): Promise<ReportTable> => {
      const list = { key: ['of', type, runId], rows: rows.population, whole: true };
      return rows.table({ completeness: await evidence.shows(rows.spec.id, [list]) });
    };
    const pruned = prunedBelow > 0 ? ` Events below leaf ${prunedBelow} were pruned.` : '';
    return {
      figures: { ...runFigures(found, decided), proof: newest?.proofId ?? null },
      checks: evidenceOf(found),
      blocks: {
        run: runBlocks(runId, timeline, figuresOf(cases).total),
        decisions: [{ table: decisions.id }, { table: approvals.id }, { table: coverage.id }],
        proofs: [
          file === null
            ? `No proof is attached. gov proofs create --run ${runId} makes one.`
            : `Extract ${file}, then run gov proofs verify ${file} --trust TRUST. The command reads no network.`,
        ],
      },
      tables: [
        timeline.rows.table({
          scope: `${timelineTable.lists}. The period does not cut the run.${pruned}`,
          completeness: complete,
          rest: `gov export create --resource audit_events --run ${runId} has all of them.`,
        }),
        await listed('gov.evaluation/1', decided),
        covered.rows.table({ rest: `gov runs coverage ${runId} has them.` }),
        approvalRows(approvals, cases).table({ more }),
        proofs.rows.table({ scope: `${proofTable.lists}; one row for each layer.` }),
        await listed('gov.replay/1', replays),
      ],
    };
  },
});

const unshown = 'not shown to be whole';

function runFigures({ complete, timeline, covered, proofs }: RunSectionInput, decided: Rows) {
  const { ungoverned, denied_but_ran: deniedButRan } = covered.counts;
  const events = timeline.rows.population;
  // that a mistyped run has no event is proven, too
  const isEmpty = complete.status === 'proven' && events === 0;
  const unsaid = proofs.compliance === 'no decision' ? 'no decision' : 'not shown';
  // no count of a run that was not compared
  const compared = (n: number): number | null => (covered.leftOut > 0 ? null : n);
  return {
    record: {
      check: 'runWhole',
      words: { pass: 'whole', fail: unshown, not_shown: isEmpty ? 'no event' : unshown },
    },
    compliance: { check: 'runObeyed', words: { pass: 'yes', fail: 'no', not_shown: unsaid } },
    events,
    lasted: timeline.lastMs - timeline.firstMs,
    decisions: decided.population,
    exceptions: decided.exceptions,
    ungoverned: compared(ungoverned),
    deniedButRan: compared(deniedButRan),
  } as const;
}

/** VALIDATION_ERROR where the parameters name no run. */
function requiredRun({ runId, reportTemplateId }: ReportSource): string {
  if (runId !== null) return runId;
  throw new GovError(
    'VALIDATION_ERROR',
    `expected the parameter runId, which ${reportTemplateId} needs, got none`,
  );
}

interface ProofAttachment {
  readonly file: string;
  readonly made: AttachedProof;
}

async function proofFile(draft: Draft, { proofId }: StoredProof): Promise<ProofAttachment> {
  const file = `${proofId}.govproof.json`;
  return { file, made: await draft.evidence.attachProof(file, proofId) };
}

/** How many events of the run a proof shows. */
function eventsShown({ statements }: StoredProof): number | null {
  const [text] = Object.values(statements);
  const n = text === undefined ? undefined : readStatement(text)?.evidence.runEvents;
  return typeof n === 'number' ? n : null;
}

async function completeness(
  draft: Draft,
  { rows }: Timeline,
  { runId, file, covers }: { runId: string; file: string | null; covers: StoredProof | null },
) {
  const shown = await draft.evidence.shows('run', [
    { key: ['run', runId], rows: rows.population, whole: true },
  ]);
  if (shown.status === 'not_shown' || file === null || covers === null) return shown;
  const n = eventsShown(covers);
  const also =
    n === rows.population
      ? ` ${file} has the record of each.`
      : ` ${file} is of an earlier state of the run.`;
  return { ...shown, detail: shown.detail + also };
}

async function replaysOf(source: ReportSource, runId: string): Promise<Rows> {
  const rows = new Rows(replayTable);
  for await (const leaf of leavesOf(source, { type: 'gov.replay/1', runId })) {
    const { at, replayId, kind, steps, replayed, mismatches, driftCount } = openReplay(leaf);
    rows.add(
      [leaf.index, at, replayId, kind, steps, replayed, mismatches.n, driftCount],
      mismatches.n > 0 || driftCount > 0,
    );
  }
  return rows;
}

interface RunSectionInput {
  readonly runId: string;
  readonly complete: ReportTable['completeness'];
  readonly timeline: Timeline;
  readonly proofs: Proofs;
  readonly covered: CoverageTable;
  readonly attached: ProofAttachment | null;
  /** Events below this leaf were pruned; 0 where none were. */
  readonly prunedBelow: number;
}

function evidenceOf(found: RunSectionInput) {
  const { runId, complete, timeline, covered, prunedBelow } = found;
  const events = timeline.rows.population;
  const noEvent =
    prunedBelow > 0
      ? `The log keeps no event of a run with the id ${runId}. Events below leaf ${prunedBelow} were pruned.`
      : `The log has no event of a run with the id ${runId}. gov runs list shows the runs.`;
  const isProven = complete.status === 'proven';
  // the answer of the log is one thing, which confirms or refutes the table
  const answered = isProven || isRefuted(complete) ? 1 : 0;
  return {
    runWhole: {
      examined: isProven && events === 0 ? 0 : answered,
      failed: isProven ? 0 : answered,
      detail: complete.detail,
      none: isProven ? noEvent : complete.detail,
    },
    ...proofOf(found),
    runGoverned: {
      examined: covered.rows.population,
      failed: covered.alarms,
      detail: alarmText(covered),
      none: covered.leftOut > 0 ? 'The run was not compared.' : 'The run has no tool call.',
      missing: unseenText(covered),
    },
    runBalanced: covered.recordings.examined({
      none: 'The run has no recording with a balance.',
      leftOut: covered.leftOut,
    }),
    fieldsKept: {
      examined: events,
      failed: timeline.erasedEvents,
      detail:
        timeline.erased === 0
          ? 'No field was erased.'
          : `${count(timeline.erased, 'field was', 'fields were')} erased, of ${count(timeline.erasedEvents, 'event')}. Hashes and proofs stay.`,
      none: noEvent,
      missing:
        timeline.firstSeq === 0
          ? null
          : `${count(timeline.firstSeq, 'event was', 'events were')} pruned and not looked at.`,
    },
  };
}

function proofOf({ runId, timeline, proofs, attached }: RunSectionInput) {
  const { newest, compliance } = proofs;
  const create = `gov proofs create --run ${runId} makes one; then run the report again.`;
  const isAttached = attached !== null && attached.made !== 'no room';
  const isStated = compliance === 'yes' || compliance === 'no';
  const shown = newest === null ? null : eventsShown(newest);
  const events = timeline.rows.population;
  return {
    runProved: {
      examined: isAttached ? 1 : 0,
      failed: attached?.made === 'not authentic' ? 1 : 0,
      detail:
        attached?.made === 'not authentic'
          ? `${attached.file} is attached and does not verify. Run gov log fsck.`
          : `gov proofs verify ${attached?.file ?? ''} checks it offline. It verified when the report was made.`,
      none:
        newest === null
          ? `The run has no proof. ${create}`
          : `${newest.proofId} is too large to attach. gov proofs get ${newest.proofId} --bundle downloads it.`,
    },
    runObeyed: {
      // a proof that is not attached was not verified: it can only speak against the run
      examined: compliance === 'no' || (isStated && isAttached) ? 1 : 0,
      failed: compliance === 'no' ? 1 : 0,
      detail: `As the layer policy_compliance of ${newest?.proofId} says.`,
      none:
        compliance === 'no decision'
          ? 'No policy decided about this run.'
          : isStated
            ? `${newest?.proofId} says so and is not attached.`
            : newest === null
              ? `No proof says so. ${create}`
              : `The newest proof, ${newest.proofId}, has no layer policy_compliance. ${create}`,
      missing:
        shown === null || shown >= events
          ? null
          : `It is about the first ${shown} of ${count(events, 'event')}. ${create}`,
    },
  };
}

function runBlocks(runId: string, timeline: Timeline, people: number): ReportBlock[] {
  const { types, firstMs, lastMs, actors } = timeline;
  return [
    factsOf({
      Run: [runId, 'text'],
      'First event': [timeText(firstMs), 'time'],
      'Last event': [timeText(lastMs), 'time'],
      Actors: [[...actors].slice(0, 10).join(', ') || null, 'text'],
      'Requests for approval': [people, 'number'],
    }),
    barsOf('Events by type', 'events', largestFirst(types)),
  ];
}
