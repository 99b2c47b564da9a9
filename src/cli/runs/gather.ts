/**
 * One view of a run, from the operations that have its parts: events, coverage, evaluations, approvals, proofs. Each part
 * is bounded; `cut` names what was left out, and the command that shows it. Tested by `test/cli/commands/runs/show.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { ShownApproval } from '../../contract/approvals.ts';
import type { RunCoverage } from '../../contract/coverage.ts';
import type { AuditEvent } from '../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import type { ComplianceProof } from '../../contract/proofs.ts';
import { modelCalls, type ModelCalls } from '../../core/coverage/sightings.ts';
import { evaluatedTool } from '../../core/decided/evaluation.ts';
import { decidingPolicies } from '../../core/decided/deciding-policies.ts';
import { shellWord } from '../../core/shell-word.ts';

/** A decision about a call, and the policies that made it. */
interface ShownDecision {
  readonly evaluationId: string;
  /** What the program acted on: `allow` also where a person approved what the policies escalated. */
  readonly decision: string;
  readonly approvalId: string | null;
  readonly policies: ReturnType<typeof decidingPolicies>;
}

type CoverageCall = RunCoverage['calls'][number];

/** `eventId`, `verdict` and `decision` are null for a decision that no event of a call names. */
export interface ShownCall {
  readonly callId: string | null;
  readonly eventId: string | null;
  readonly tool: string | null;
  readonly verdict: CoverageCall['verdict'] | null;
  readonly decision: CoverageCall['decision'];
  readonly ending: CoverageCall['ending'];
  readonly sources: CoverageCall['sources'];
  readonly detail: string | null;
  readonly decisions: readonly ShownDecision[];
}

/** A part that is not whole. `of`: how many there are, or null. */
export interface Cut {
  readonly part: 'events' | 'calls' | 'decisions' | 'approvals';
  readonly shown: number;
  readonly of: number | null;
  readonly next: string;
}

export interface ShownProof {
  readonly proofId: string;
  readonly createdAt: string;
  readonly layers: readonly { readonly name: string; readonly verified: boolean }[];
  readonly authentic: 'not_checked';
  /** What the layer `policy_compliance` states; `yes_or_not_governed`: it holds, and the run has no decision. */
  readonly compliant: 'yes' | 'no' | 'yes_or_not_governed' | 'not_checked';
  readonly verify: string;
}

export interface RunView {
  readonly runId: string;
  readonly events: {
    readonly count: number;
    readonly firstTimestamp: string | null;
    readonly lastTimestamp: string | null;
    /** Counts of the events that were read. */
    readonly byType: readonly { readonly eventType: string; readonly count: number }[];
  };
  readonly coverage: Omit<RunCoverage, 'calls' | 'runId' | 'events'>;
  /** Calls of models in the events that were read, each once, whichever sources report it. */
  readonly models: ModelCalls;
  readonly calls: readonly ShownCall[];
  readonly approvals: readonly Omit<ShownApproval, 'arguments' | 'context'>[];
  readonly proof: ShownProof | null;
  readonly cut: readonly Cut[];
}

/** The parts of a run as the operations return them; events and evaluations with the newest first. */
export async function readRun(client: Client, runId: string) {
  const { body: coverage } = await client.getRunCoverage({ params: { runId } });
  const [{ body: counted }, { body: oldest }, events, evaluations, approvals, { body: proofs }] =
    await Promise.all([
      client.countEvents({ query: { runId } }),
      client.listEvents({ query: { runId, limit: 1 } }),
      newestEvents(client, runId),
      newestEvaluations(client, runId),
      client.listApprovals({ query: { runId, limit: limits.pageMax } }),
      client.listProofs({ query: { runId, limit: 1 } }),
    ]);
  return { coverage, counted, oldest, events, evaluations, approvals, proofs };
}

/** Rejects with 404 for a run without events. */
export async function gatherRun(client: Client, runId: string): Promise<RunView> {
  const { coverage, counted, oldest, events, evaluations, approvals, proofs } = await readRun(client, runId);
  const { calls: covered, runId: _runId, events: _events, ...rest } = coverage;
  const calls = [
    ...covered.map((call) => withDecisions(call, events, evaluations.records)),
    ...uncalled(events, evaluations.records, { isWhole: events.length >= counted.count }),
  ];
  const { data: shownApprovals, nextCursor } = approvals.body;
  const [proof] = proofs.data;
  const allEvents = `gov events list --run ${shellWord(runId)} --all`;
  const cut: Cut[] = [];
  if (events.length < counted.count)
    cut.push({ part: 'events', shown: events.length, of: counted.count, next: allEvents });
  if (coverage.truncated) cut.push({ part: 'calls', shown: covered.length, of: null, next: allEvents });
  if (evaluations.isCut) {
    const next = `gov policy evaluations --run ${shellWord(runId)} --all`;
    cut.push({ part: 'decisions', shown: evaluations.records.length, of: null, next });
  }
  if (nextCursor !== null) {
    const next = `gov approvals list --run ${shellWord(runId)} --all`;
    cut.push({ part: 'approvals', shown: shownApprovals.length, of: null, next });
  }
  const times = [...oldest.events.slice(0, 1), ...events].map(({ timestamp }) => timestamp).toSorted();
  return {
    runId,
    events: {
      count: counted.count,
      // sources report in any order
      firstTimestamp: times[0] ?? null,
      lastTimestamp: times.at(-1) ?? null,
      byType: typesOf(events),
    },
    coverage: rest,
    models: modelCalls(events.toReversed()),
    calls,
    approvals: shownApprovals.map(({ arguments: _arguments, context: _context, ...approval }) => approval),
    proof: proof === undefined ? null : shownProof(proof, evaluations.records.length > 0),
    cut,
  };
}

/** At most `limits.runShowEvents`, the newest first. */
async function newestEvents(client: Client, runId: string): Promise<AuditEvent[]> {
  const events: AuditEvent[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.min(limits.eventPageMax, limits.runShowEvents - events.length);
    const query = { runId, order: 'desc', limit, ...(cursor === null ? {} : { cursor }) } as const;
    const { body }: { body: { events: AuditEvent[]; nextCursor: string | null } } = await client.listEvents({
      query,
    });
    events.push(...body.events);
    cursor = body.nextCursor;
  } while (cursor !== null && events.length < limits.runShowEvents);
  return events;
}

/** At most `limits.runShowDecisions`, the newest first. */
async function newestEvaluations(client: Client, runId: string) {
  const records: PolicyEvaluationRecord[] = [];
  let cursor: string | null = null;
  do {
    const limit = Math.min(limits.pageMax, limits.runShowDecisions - records.length);
    const query = { runId, limit, ...(cursor === null ? {} : { cursor }) };
    const { body }: { body: { data: PolicyEvaluationRecord[]; nextCursor: string | null } } =
      await client.listPolicyEvaluations({ query });
    records.push(...body.data);
    cursor = body.nextCursor;
  } while (cursor !== null && records.length < limits.runShowDecisions);
  return { records, isCut: cursor !== null };
}

function typesOf(events: readonly AuditEvent[]): RunView['events']['byType'] {
  const counts = new Map<string, number>();
  for (const { eventType } of events) counts.set(eventType, (counts.get(eventType) ?? 0) + 1);
  return [...counts]
    .map(([eventType, count]) => ({ eventType, count }))
    .toSorted((a, b) => b.count - a.count || (a.eventType < b.eventType ? -1 : 1));
}

const decidedTypes = new Set(['tool.call', 'tool.denied']);

function withDecisions(
  call: CoverageCall,
  events: readonly AuditEvent[],
  evaluations: readonly PolicyEvaluationRecord[],
): ShownCall {
  const { callId, eventId } = call;
  const decisions = events
    .filter(({ eventType }) => decidedTypes.has(eventType))
    .filter(
      (event) => event.eventId === eventId || (callId !== null && event.metadata['toolCallId'] === callId),
    )
    .toReversed()
    .flatMap(({ metadata }) => {
      const { evaluationId, decision, status, approvalId } = metadata;
      if (typeof evaluationId !== 'string') return [];
      const record = evaluations.find(({ id }) => id === evaluationId);
      const acted = [decision, status].find((text) => typeof text === 'string');
      return [
        {
          evaluationId,
          decision: String(acted ?? record?.combined ?? ''),
          approvalId: typeof approvalId === 'string' ? approvalId : null,
          policies: record === undefined ? [] : decidingPolicies(record),
        },
      ];
    });
  return { ...call, decisions };
}

/** Decisions about tool calls that no event names, such as those of `gov tools evaluate`. */
function uncalled(
  events: readonly AuditEvent[],
  evaluations: readonly PolicyEvaluationRecord[],
  { isWhole }: { readonly isWhole: boolean },
): ShownCall[] {
  const named = new Set(
    events
      .filter(({ eventType }) => decidedTypes.has(eventType))
      .map(({ metadata }) => metadata['evaluationId']),
  );
  // the event of an older decision may be one that was not read
  const since = isWhole ? '' : (events.at(-1)?.serverTimestamp ?? '');
  return evaluations
    .filter(
      ({ id, policySource, evaluatedAt }) =>
        policySource === 'tool' && !named.has(id) && evaluatedAt >= since,
    )
    .toReversed()
    .map((record) => ({
      callId: null,
      eventId: null,
      tool: evaluatedTool(record.checkpoint),
      verdict: null,
      decision: null,
      ending: null,
      sources: [],
      detail: 'decided; no event of the call',
      decisions: [
        {
          evaluationId: record.id,
          decision: record.combined,
          approvalId: null,
          policies: decidingPolicies(record),
        },
      ],
    }));
}

function shownProof({ proofId, createdAt, layers }: ComplianceProof, hasDecisions: boolean): ShownProof {
  const layer = layers.find(({ name }) => name === 'policy_compliance');
  const holds = hasDecisions ? 'yes' : 'yes_or_not_governed';
  return {
    proofId,
    createdAt,
    layers: layers.map(({ name, verified }) => ({ name, verified })),
    authentic: 'not_checked',
    compliant: layer === undefined ? 'not_checked' : layer.verified ? holds : 'no',
    verify: `gov proofs verify ${shellWord(proofId)}`,
  };
}
