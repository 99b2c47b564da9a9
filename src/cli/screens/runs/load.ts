/**
 * What the browser of runs shows, from the service: runs, the timeline of one, the clauses of a decision, the verdict
 * about a proof. Tested by `test/cli/screens/runs.test.ts` against a real server.
 */
import type { Client } from '../../../client/create.ts';
import { openBundle } from '../../../client/open.ts';
import type { AuditEvent, Run } from '../../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../../contract/governance.ts';
import { limits } from '../../../contract/limits.ts';
import { isObject } from '../../../core/json/object.ts';
import { trustFrom } from '../../context/trust.ts';
import type { Session } from '../../context/session.ts';
import { findPolicy, findVersion } from '../../policies/stored.ts';
import { spool } from '../../terminal/spool.ts';
import { coverageLine, gapLines } from '../../runs/coverage.ts';
import { evaluatedTool } from '../../../core/decided/evaluation.ts';
import { shellWord } from '../../../core/shell-word.ts';
import { readRun } from '../../runs/gather.ts';
import { verdictHere, verdictOfService } from '../../runs/judge.ts';
import { stylesFor } from '../../terminal/safe.ts';
import { partyName } from '../../runs/party.ts';
import { verdictLines } from '../../terminal/verdict.ts';

export interface RunsPage {
  readonly rows: readonly Run[];
  readonly nextCursor: string | null;
}

export async function loadRuns(client: Client, cursor: string | null): Promise<RunsPage> {
  const query = { limit: limits.pageMax, ...(cursor === null ? {} : { cursor }) };
  const { body } = await client.listRuns({ query });
  return { rows: body.data, nextCursor: body.nextCursor };
}

/** An event, or a decision that no event names. */
export interface TimelineRow {
  readonly sequence: number;
  readonly time: string;
  readonly type: string;
  readonly actor: string;
  readonly action: string;
  readonly decision: string | null;
  readonly event: AuditEvent | null;
  readonly evaluation: PolicyEvaluationRecord | null;
}

export interface RunDetail {
  readonly runId: string;
  readonly rows: readonly TimelineRow[];
  /** Lines about the whole run: coverage, gaps, approvals, what was left out. */
  readonly notes: readonly string[];
  readonly proofId: string | null;
}

export async function loadRun(client: Client, runId: string): Promise<RunDetail> {
  const { coverage, counted, events, evaluations, approvals, proofs } = await readRun(client, runId);
  const byId = new Map(evaluations.records.map((each) => [each.id, each]));
  const named = new Set(events.map(({ metadata }) => metadata['evaluationId']));
  const rows = [
    ...events.map((event) => eventRow(event, byId)),
    ...evaluations.records.filter(({ id }) => !named.has(id)).map(evaluationRow),
  ];
  const plain = stylesFor(false);
  const counts = new Map<string, number>();
  for (const { status } of approvals.body.data) counts.set(status, (counts.get(status) ?? 0) + 1);
  const approved = [...counts].map(([status, count]) => `${count} ${status}`).join(', ');
  const left = counted.count - events.length;
  return {
    runId,
    rows: rows.toSorted((one, other) => one.sequence - other.sequence),
    notes: [
      String(coverageLine(coverage, plain)),
      ...gapLines(coverage).map(String),
      ...(approved === '' ? [] : [`approvals: ${approved}`]),
      ...(left > 0
        ? [`${left} older events are not shown: gov events list --run ${shellWord(runId)} --all`]
        : []),
    ],
    proofId: proofs.data[0]?.proofId ?? null,
  };
}

function eventRow(event: AuditEvent, evaluations: ReadonlyMap<string, PolicyEvaluationRecord>): TimelineRow {
  const { evaluationId, decision, status } = event.metadata;
  const evaluation = typeof evaluationId === 'string' ? (evaluations.get(evaluationId) ?? null) : null;
  const said = [decision, status].find((each) => typeof each === 'string' && evaluation !== null);
  const resource = partyName(event.resource);
  return {
    sequence: event.sequence,
    time: event.serverTimestamp,
    type: event.eventType,
    actor: partyName(event.actor),
    action: resource === '' ? event.action : `${event.action} → ${resource}`,
    decision: typeof said === 'string' ? said : (evaluation?.combined ?? null),
    event,
    evaluation,
  };
}

const evaluationRow = (evaluation: PolicyEvaluationRecord): TimelineRow => ({
  sequence: evaluation.sequence,
  time: evaluation.evaluatedAt,
  type: 'decision',
  actor: evaluation.policySource,
  action: evaluatedTool(evaluation.checkpoint) ?? 'policies evaluated',
  decision: evaluation.combined,
  event: null,
  evaluation,
});

/** One policy of a decision. `text`: the policy in the version that decided; null where it was not read. */
export interface DecidedPolicy {
  readonly policyId: string;
  readonly version: number | null;
  readonly decision: string;
  readonly outcome: string;
  /** The clause and the value that decided. */
  readonly reasoning: string;
  readonly text: string | null;
}

/** Policies whose text is read. */
const spelled = 5;

/** The policies that decided come first, with their texts. */
export async function loadDecidedPolicies(
  client: Client,
  evaluation: PolicyEvaluationRecord,
): Promise<DecidedPolicy[]> {
  const { decisions, combined } = evaluation;
  const all = (Array.isArray(decisions) ? (decisions as unknown[]) : []).filter(isObject).map(policyOf);
  const decided = ({ decision, outcome }: DecidedPolicy): boolean =>
    decision === combined && outcome !== 'not_matched';
  const sorted = all.toSorted((one, other) => Number(decided(other)) - Number(decided(one)));
  return Promise.all(
    sorted.map(async (each, at) => {
      const { policyId, version } = each;
      if (at >= spelled || version === null || !decided(each)) return each;
      const policy = await findPolicy(client, policyId);
      return policy === null ? each : { ...each, text: (await findVersion(client, policy, version)).text };
    }),
  );
}

const policyOf = (of: Readonly<Record<string, unknown>>): DecidedPolicy => ({
  policyId: String(of['policyId'] ?? ''),
  version: typeof of['version'] === 'number' ? of['version'] : null,
  decision: String(of['decision'] ?? ''),
  outcome: String(of['outcome'] ?? ''),
  reasoning: String(of['reasoning'] ?? ''),
  text: null,
});

/** The lines of `gov proofs verify`. With a trusted key they are the word of this machine, otherwise of the service. */
export async function loadProof(
  { client, session, columns }: { client: Client; session: Session; columns: number },
  proofId: string,
): Promise<string[]> {
  const source = trustFrom({ key: [], trust: undefined }, session);
  const layout = { styles: stylesFor(false), columns };
  if (source === null) {
    const shown = await verdictOfService(client, { proofId });
    const hint = `this is the service’s word. To verify without it: gov proofs get ${shellWord(proofId)} --bundle --out FILE`;
    return [...verdictLines(shown, layout).map(String), '', hint];
  }
  const bundle = await spool((await openBundle(client, { params: { proofId } })).chunks, limits.bundleBytes);
  try {
    return verdictLines(await verdictHere(bundle.read, source), layout).map(String);
  } finally {
    bundle.close();
  }
}
