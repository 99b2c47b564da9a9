/**
 * The loop that sends recorded calls to the policies in force over HTTP, as an agent would before each call.
 */
import type { Client } from 'gov';
import type { Run } from './recording.ts';
import { type Call, callsOf } from './seen.ts';
import { labelOf, type Label, writingTools } from './truth.ts';

export type Decision = 'allow' | 'warn' | 'escalate' | 'deny';

/** A policy that decided about a call. */
export interface Say {
  readonly policyId: string;
  readonly decision: Decision;
  /** False where a fact was absent. The condition was then undecidable and acted as if it held. */
  readonly matched: boolean;
  /** The facts that decided, without the name of the tool. */
  readonly facts: readonly string[];
}

export interface Decided {
  readonly run: Run;
  readonly call: Call;
  readonly decision: Decision;
  readonly says: readonly Say[];
  /** Null for calls that change nothing. */
  readonly label: Label | null;
}

/** Number of runs that are evaluated concurrently. The calls of one run keep their order. */
const lanes = 8;

/**
 * Evaluates and records each call. Also simulates each call that some policy matched, to get the explanation.
 */
export async function decideAll(client: Client, runs: readonly Run[]): Promise<Decided[]> {
  const decided: Decided[] = [];
  for (let at = 0; at < runs.length; at += lanes) {
    const done = await Promise.all(runs.slice(at, at + lanes).map((run) => decideRun(client, run)));
    decided.push(...done.flat());
  }
  return decided;
}

async function decideRun(client: Client, run: Run): Promise<Decided[]> {
  const decided: Decided[] = [];
  for (const call of callsOf(run)) {
    const { tool, arguments: args, runId, context } = call;
    const body = { tool: { name: tool }, arguments: args, runId, actor, context };
    const { decision, matchedPolicies } = (await client.evaluateTool({ body })).body;
    const says = matchedPolicies.length === 0 ? [] : await saysOf(client, call);
    const label = writingTools.has(tool) ? labelOf(tool, args, run.truth) : null;
    decided.push({ run, call, decision, says, label });
  }
  return decided;
}

const actor = { name: 'airline-agent', role: 'agent' };

async function saysOf(client: Client, { tool, arguments: args, context }: Call): Promise<Say[]> {
  const checkpoint = { context: { ...context, tool: { name: tool }, arguments: args } };
  const { decisions } = (await client.simulatePolicies({ body: { checkpoint } })).body;
  return decisions
    .filter(({ outcome }) => outcome === 'matched' || outcome === 'indeterminate')
    .map(({ policyId, decision, outcome, witness = [] }) => ({
      policyId,
      decision,
      matched: outcome === 'matched',
      facts: witness
        .map((path) => path.replace(/^context\./, ''))
        .filter((path) => path !== 'tool' && path !== 'tool.name'),
    }));
}
