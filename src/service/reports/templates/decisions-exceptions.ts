/** Template `decisions-exceptions`: what policies and the risk router did not allow, and how people answered. */
import { limits } from '../../../contract/limits.ts';
import { escalationReason, openEvaluation, type OpenEvaluation } from '../../../core/decided/evaluation.ts';
import { openRiskDecision } from '../../../core/decided/risk-decision.ts';
import type { OpenLeaf } from '../../../core/decided/leaf.ts';
import { counts as decides } from '../../../core/policies/evaluate/decision.ts';
import { byName, increase, largestFirst } from '../counts/by-name.ts';
import {
  approvalRows,
  approvalsIn,
  approvalTable,
  asOfNewest,
  figuresOf,
  openOf,
  oversightChecks,
  oversightOf,
  type ApprovalCase,
} from './approvals.ts';
import { barsOf, factsOf, type Draft } from './draft.ts';
import { leavesIn } from './read.ts';
import { Rows } from './rows.ts';
import { notShown } from './shown.ts';
import { count } from './period.ts';
import { columns, type TableSpec } from './source.ts';
import { template } from './sections.ts';

export const decisionTable: TableSpec = {
  id: 'decisions',
  title: 'Policy decisions',
  lists:
    'Policy evaluations that were recorded in the period; denied and escalated ones first, each part in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    evaluatedAt: ['Evaluated', 'time'],
    runId: 'Run',
    evaluationId: 'Evaluation',
    decision: ['Decision', 'status'],
    policies: 'Decided by',
    reason: 'Reason',
    source: 'Policies from',
    approvalId: 'Approval',
    approval: ['Approval status', 'status'],
  }),
  rest: 'gov export create --resource policy_evaluations has all of them.',
};

const riskTable: TableSpec = {
  id: 'risk-decisions',
  title: 'Risk decisions',
  lists: 'Decisions of the risk router that were recorded in the period; blocked and escalated ones first',
  columns: columns({
    leaf: ['Leaf', 'number'],
    evaluatedAt: ['Evaluated', 'time'],
    runId: 'Run',
    decisionId: 'Decision id',
    action: ['Action', 'status'],
    score: ['Score', 'number'],
    wouldBe: ['Action without the mode', 'status'],
    configHash: ['Configuration', 'hash'],
  }),
  rest: 'gov export create --resource risk_decisions has all of them.',
};

const approvals: TableSpec = {
  ...approvalTable,
  unshown:
    'Requests follow from the policy decisions, and answers from entries of the whole log. No list of the log has both.',
};

export const decisionsExceptions = template({
  title: 'Decisions and exceptions',
  summary: 'What was denied or escalated, who approved it, and how long they took',
  choices:
    'Decisions that allowed the action are listed too, after the exceptions. Simulations and dry runs are not recorded, so they are not here.',
  run: 'optional',
  sections: {
    decisions: {
      title: 'Decisions',
      tables: [decisionTable],
      figures: {
        exceptions: 'Decisions that did not allow the action',
        evaluations: 'Policy decisions',
        denied: 'Denied',
        escalated: 'Escalated',
        warned: 'Allowed with a warning',
      },
    },
    approvals: {
      title: 'Answers to requests for approval',
      text: 'An escalated action runs only after another credential approves it. Whether a person held that credential is shown by the signature of an enrolled approver alone. An approval that took seconds may not have been read.',
      tables: [approvals],
      figures: {
        open: 'Requests for approval still open',
        approved: 'Approved',
        refused: 'Refused',
        expired: 'Expired without an answer',
        medianOpen: ['Median time to an answer', 'duration'],
        quick: `Approved in less than ${limits.reportQuickApprovalSeconds} s`,
        signed: 'Decided with the signature of an enrolled approver',
      },
      checks: oversightChecks,
    },
    'risk-router': {
      title: 'Risk router',
      tables: [riskTable],
      figures: { riskExceptions: 'Blocked or escalated by the risk router' },
    },
  },
  build: async (draft) => {
    const { source, period } = draft;
    const { runId } = source;
    const { cases, more } = await approvalsIn(source, period, runId);
    const evaluations = leavesIn(source, { type: 'gov.evaluation/1', runId }, period);
    const risks = await riskRows(draft);
    const figures = figuresOf(cases);
    const { byDecision, byPolicy, rows } = await evaluationRows(decisionTable, evaluations, cases);
    const ofRun = runId === null ? '' : ` of run ${runId}`;
    return {
      figures: {
        exceptions: rows.exceptions,
        open: openOf(figures),
        evaluations: rows.population,
        denied: byDecision.get('deny') ?? 0,
        escalated: byDecision.get('escalate') ?? 0,
        warned: byDecision.get('warn') ?? 0,
        approved: figures.byStatus.approved,
        refused: figures.byStatus.denied,
        expired: figures.byStatus.expired,
        medianOpen: figures.medianMs,
        quick: figures.quick,
        signed: figures.signed,
        riskExceptions: risks.exceptions,
      },
      checks: oversightOf(figures, more),
      blocks: {
        decisions: [
          `${count(rows.exceptions, 'decision')} of ${rows.population} did not allow the action.`,
          barsOf('Policy decisions by outcome', 'decisions', byName(byDecision)),
          barsOf('Policies that denied or escalated most', 'decisions', largestFirst(byPolicy)),
        ],
        approvals: [
          factsOf({
            'Requests for approval': [figures.total, 'number'],
            'Still open at the newest entry': [openOf(figures), 'number'],
          }),
        ],
      },
      tables: [
        rows.table({
          scope: `${decisionTable.lists}${ofRun}.`,
          completeness: await listed(draft, 'gov.evaluation/1', rows),
        }),
        approvalRows(approvals, cases).table({ scope: `${approvals.lists}${ofRun}. ${asOfNewest}`, more }),
        risks.table({
          scope: `${riskTable.lists}${ofRun}.`,
          completeness: await listed(draft, 'gov.decision/1', risks),
        }),
      ],
    };
  },
});

/** The completeness of a table of one type, of the project or of one run. */
const listed = async ({ evidence, source }: Draft, type: string, rows: Rows) =>
  source.runId === null
    ? evidence.everyLeaf(type, rows)
    : notShown('Only the entries of one run in a period are listed, and the log counts a run as a whole.');

interface EvaluationRows {
  /** The exceptions did not allow the action. */
  readonly rows: Rows;
  readonly byDecision: ReadonlyMap<string, number>;
  /** Those that did not allow the action, by the policies that decided. */
  readonly byPolicy: ReadonlyMap<string, number>;
}

/** `leaves`: evaluations. `cases`: the approvals that they requested. */
export async function evaluationRows(
  spec: TableSpec,
  leaves: AsyncIterable<OpenLeaf>,
  cases: readonly ApprovalCase[],
): Promise<EvaluationRows> {
  const byEvaluation = new Map(cases.map((each) => [each.evaluationId, each]));
  const rows = new Rows(spec);
  const byDecision = new Map<string, number>();
  const byPolicy = new Map<string, number>();
  for await (const leaf of leaves) {
    const evaluation = openEvaluation(leaf);
    const { combined } = evaluation;
    const isException = combined === 'deny' || combined === 'escalate';
    increase(byDecision, combined);
    if (isException) for (const id of decidersOf(evaluation)) increase(byPolicy, id);
    rows.add(evaluationRow(leaf.index, evaluation, byEvaluation.get(evaluation.id)), isException);
  }
  return { rows, byDecision, byPolicy };
}

function evaluationRow(index: number, evaluation: OpenEvaluation, approval?: ApprovalCase) {
  const { id, runId, combined, evaluatedAt, policySource } = evaluation;
  return [
    index,
    evaluatedAt,
    runId,
    id,
    combined,
    decidersOf(evaluation).join(', ') || null,
    reasonOf(evaluation),
    policySource,
    evaluation.approval?.id ?? null,
    approval?.status ?? null,
  ];
}

/** The policies whose decision is the combined one. */
const decidersOf = ({ decisions, combined }: OpenEvaluation): string[] =>
  decisions
    .filter(({ decision, outcome }) => decision === combined && decides(outcome))
    .map(({ policyId, version }) => (version === null ? policyId : `${policyId} v${version}`));

/** The reasoning of the first policy that decided; null where none did, or where it was erased. */
function reasonOf(evaluation: OpenEvaluation): string | null {
  const { decisions, combined } = evaluation;
  if (combined === 'escalate') return escalationReason(decisions) || null;
  const first = decisions.find(({ decision, outcome }) => decision === combined && decides(outcome));
  return first?.reasoning ?? null;
}

/** The exceptions were blocked or escalated. */
async function riskRows({ source, period }: Draft): Promise<Rows> {
  const rows = new Rows(riskTable);
  const { runId } = source;
  for await (const leaf of leavesIn(source, { type: 'gov.decision/1', runId }, period)) {
    const risk = openRiskDecision(leaf);
    const isException = risk.action === 'block' || risk.action === 'escalate';
    const { evaluatedAt, id, action, score, wouldBeAction, configHash } = risk;
    rows.add(
      [leaf.index, evaluatedAt, risk.runId, id, action, score, wouldBeAction, configHash],
      isException,
    );
  }
  return rows;
}
