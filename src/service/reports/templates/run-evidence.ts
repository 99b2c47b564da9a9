/** Template `run-evidence`: everything that the log has of one run, and the proof of it (contract L4). */
import { GovError } from '../../../contract/problems.ts';
import { openEvaluation } from '../../../core/decided/evaluation.ts';
import { openReplay } from '../../../core/decided/replay.ts';
import { readStatement } from '../../../core/proofs/statement.ts';
import type { ReportTable } from '../../../core/reports/model.ts';
import type { StoredProof } from '../../../store/port/store.ts';
import { approvalRows, approvalsIn, approvalTable, figuresOf, type ApprovalCase } from './approvals.ts';
import { alarmText, coverageTable, coverageRows, unseenText, type Covered } from './coverage.ts';
import { decisionTable, evaluationRow } from './decisions-exceptions.ts';
import { barsOf, Draft, factsOf } from './draft.ts';
import { count, timeText, type Period } from './period.ts';
import { leavesOf } from './read.ts';
import { proofsOf, proofTable, type Proofs } from '../counts/proofs.ts';
import { timelineOf, timelineTable, type Timeline } from './timeline.ts';
import { Rows } from './rows.ts';
import { isRefuted, notShown, type AttachedProof } from './shown.ts';
import { columns, type ReportSource, type TableSpec, type Template } from './source.ts';

const decisions: TableSpec = {
  ...decisionTable,
  lists: 'All policy evaluations of the run; denied and escalated ones first',
};
const approvals: TableSpec = { ...approvalTable(), lists: 'Approvals that evaluations of the run requested' };
const coverage: TableSpec = {
  ...coverageTable,
  lists: 'Tool calls of the run; alarms first, each part in order',
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
};

export const runEvidence: Template = {
  title: 'Run evidence',
  summary: 'What one run did, what was decided about it, and whether its record is whole and was not changed',
  run: 'required',
  tables: [timelineTable, decisions, coverage, approvals, proofTable, replayTable],
  build: async (source) => {
    const runId = requiredRun(source);
    const draft = await Draft.of(source);
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
    const decided = await evaluationsOf(source, runId, cases);
    const covered = await coverageRows(source, { spec: coverage, runIds: [runId] });
    const stated = await proofsOf(source, runId);
    // the layer holds for a run that no policy decided about, too
    const isGoverned = decided.rows.population > 0;
    const proofs: Proofs =
      stated.compliance === 'yes' && !isGoverned ? { ...stated, compliance: 'no decision' } : stated;
    const replays = await replaysOf(source, runId);
    const newest = proofs.newest;
    const attached = newest === null ? null : await proofFile(draft, newest);
    const name = attached === null || attached.made === 'no room' ? null : attached.file;
    const complete = await completeness(draft, timeline, { runId, file: name, covers: newest });
    // that a mistyped run has no event is proven, too
    const isEmpty = complete.status === 'proven' && timeline.rows.population === 0;

    figures(draft, { isEmpty, timeline, decided, covered, proofs });
    evidenceChecks(draft, { runId, complete, timeline, proofs, covered, attached });
    sections(draft, { runId, timeline, people: figuresOf(cases).total, name });

    const rest = `gov export create --resource audit_events --run ${runId} has all of them.`;
    const pruned =
      draft.period.prunedBelow > 0 ? ` Events below leaf ${draft.period.prunedBelow} were pruned.` : '';
    draft.table(
      timeline.rows.table(`${timelineTable.lists}. The period does not cut the run.${pruned}`, complete, {
        rest,
      }),
    );
    await otherTables(draft, {
      runId,
      decided: decided.rows,
      covered,
      more,
      approvals: approvalRows(approvals, cases),
      proofs: proofs.rows,
      replays,
    });
    return draft.built([
      'The run is shown as a whole: the period selects nothing. Contents of events are not printed; an attached proof shows their hashes.',
    ]);
  },
};

const unshown = 'not shown to be whole';

function figures(
  draft: Draft,
  of: Pick<Evidenced, 'timeline' | 'covered' | 'proofs'> & {
    readonly isEmpty: boolean;
    readonly decided: { readonly rows: Rows; readonly exceptions: number };
  },
): void {
  const { isEmpty, timeline, decided, covered, proofs } = of;
  const { ungoverned, denied_but_ran: deniedButRan } = covered.counts;
  draft.verdictFigure('record', 'Record of the run, by the index of the log', {
    id: 'runWhole',
    words: { pass: 'whole', fail: unshown, not_shown: isEmpty ? 'no event' : unshown },
  });
  const unsaid = proofs.compliance === 'no decision' ? 'no decision' : 'not shown';
  draft.verdictFigure('compliance', 'Policies in force were obeyed', {
    id: 'runObeyed',
    words: { pass: 'yes', fail: 'no', not_shown: unsaid },
  });
  draft.figure('events', 'Events', timeline.rows.population);
  draft.figure('lasted', 'Lasted', timeline.lastMs - timeline.firstMs, 'duration');
  draft.figure('decisions', 'Policy decisions', decided.rows.population);
  draft.figure('exceptions', 'Denied or escalated', decided.exceptions);
  // no count of a run that was not compared
  const compared = (n: number): number | null => (covered.leftOut > 0 ? null : n);
  draft.figure('ungoverned', 'Tool calls that ran without a decision', compared(ungoverned));
  draft.figure('deniedButRan', 'Tool calls that ran after a denial', compared(deniedButRan));
  draft.figure('proof', 'Newest proof', proofs.newest?.proofId ?? null, 'text');
}

/** VALIDATION_ERROR where the parameters name no run. */
function requiredRun({ runId, reportTemplateId }: ReportSource): string {
  if (runId !== null) return runId;
  throw new GovError(
    'VALIDATION_ERROR',
    `expected the parameter runId, which ${reportTemplateId} needs, got none`,
  );
}

async function evaluationsOf(source: ReportSource, runId: string, cases: readonly ApprovalCase[]) {
  const byEvaluation = new Map(cases.map((each) => [each.evaluationId, each]));
  const rows = new Rows(decisions);
  let exceptions = 0;
  for await (const leaf of leavesOf(source, { type: 'gov.evaluation/1', runId })) {
    const evaluation = openEvaluation(leaf);
    const isException = evaluation.combined === 'deny' || evaluation.combined === 'escalate';
    if (isException) exceptions += 1;
    rows.add(evaluationRow(leaf.index, evaluation, byEvaluation.get(evaluation.id)), isException);
  }
  return { rows, exceptions };
}

interface Attached {
  readonly file: string;
  readonly made: AttachedProof;
}

async function proofFile(draft: Draft, { proofId }: StoredProof): Promise<Attached> {
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

interface Evidenced {
  readonly runId: string;
  readonly complete: ReportTable['completeness'];
  readonly timeline: Timeline;
  readonly proofs: Proofs;
  readonly covered: Covered;
  readonly attached: Attached | null;
}

function evidenceChecks(draft: Draft, of: Evidenced): void {
  const { runId, complete, timeline, covered } = of;
  const events = timeline.rows.population;
  const noEvent = `The log has no event of a run with the id ${runId}. gov runs list shows the runs.`;
  const isProven = complete.status === 'proven';
  // the answer of the log is one thing, which confirms or refutes the table
  const answered = isProven || isRefuted(complete) ? 1 : 0;
  draft.judge('runWhole', {
    examined: isProven && events === 0 ? 0 : answered,
    failed: isProven ? 0 : answered,
    detail: complete.detail,
    none: isProven ? noEvent : complete.detail,
  });
  proofChecks(draft, of);
  draft.judge('runGoverned', {
    examined: covered.rows.population,
    failed: covered.alarms,
    detail: alarmText(covered),
    none: covered.leftOut > 0 ? 'The run was not compared.' : 'The run has no tool call.',
    missing: unseenText(covered),
  });
  draft.judge('fieldsKept', {
    examined: events,
    failed: timeline.erasedEvents,
    detail:
      timeline.erased === 0
        ? 'No field was erased.'
        : `${count(timeline.erased, 'field was', 'fields were')} erased, of ${count(timeline.erasedEvents, 'event')}. Hashes and proofs stay.`,
    none: noEvent,
  });
}

function proofChecks(draft: Draft, { runId, timeline, proofs, attached }: Evidenced): void {
  const { newest, compliance } = proofs;
  const create = `gov proofs create --run ${runId} makes one; then run the report again.`;
  const isAttached = attached !== null && attached.made !== 'no room';
  draft.judge('runProved', {
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
  });
  const isStated = compliance === 'yes' || compliance === 'no';
  const shown = newest === null ? null : eventsShown(newest);
  const events = timeline.rows.population;
  draft.judge('runObeyed', {
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
  });
}

function sections(
  draft: Draft,
  {
    runId,
    timeline,
    people,
    name,
  }: { runId: string; timeline: Timeline; people: number; name: string | null },
): void {
  const { types, firstMs, lastMs, actors } = timeline;
  const sorted = [...types].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  draft.section(
    'The run',
    factsOf({
      Run: [runId, 'text'],
      'First event': [timeText(firstMs), 'time'],
      'Last event': [timeText(lastMs), 'time'],
      Actors: [[...actors].slice(0, 10).join(', ') || null, 'text'],
      'Requests for approval': [people, 'number'],
    }),
    barsOf('Events by type', 'events', sorted),
  );
  draft.section('What happened', { table: timelineTable.id });
  draft.section('What was decided', { table: decisions.id }, { table: approvals.id }, { table: coverage.id });
  draft.section(
    'How to check it',
    {
      text:
        name === null
          ? `No proof is attached. gov proofs create --run ${runId} makes one.`
          : `Extract ${name}, then run gov proofs verify ${name} --trust TRUST. The command reads no network.`,
    },
    { table: proofTable.id },
    { table: replayTable.id },
  );
}

async function otherTables(
  draft: Draft,
  of: {
    runId: string;
    decided: Rows;
    covered: Covered;
    approvals: Rows;
    more: number;
    proofs: Rows;
    replays: Rows;
  },
): Promise<void> {
  const { runId, decided, covered, proofs, replays } = of;
  const rest = 'gov runs show has all of them.';
  const ofRun = (name: string, type: string, rows: Rows) =>
    draft.evidence.shows(name, [{ key: ['of', type, runId], rows: rows.population, whole: true }]);
  draft.table(
    decided.table(`${decisions.lists}.`, await ofRun('decisions', 'gov.evaluation/1', decided), { rest }),
  );
  draft.table(
    covered.rows.table(`${coverage.lists}.`, notShown('Verdicts follow from the events of the run.'), {
      rest: `gov runs coverage ${runId} has them.`,
    }),
  );
  draft.table(
    of.approvals.table(
      `${approvals.lists}.`,
      notShown('Requests follow from the policy decisions of the run.'),
      {
        rest,
        more: of.more,
      },
    ),
  );
  draft.table(
    proofs.table(
      `${proofTable.lists}; one row for each layer.`,
      notShown('A proof has several rows, one for each layer.'),
      { rest },
    ),
  );
  draft.table(
    replays.table(`${replayTable.lists}.`, await ofRun('replays', 'gov.replay/1', replays), { rest }),
  );
}
