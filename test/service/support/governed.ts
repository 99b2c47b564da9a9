/** Governed runs over HTTP: policies, decisions, what ran, and what a proof's layer then states. */
import { readStatement, type Statement } from '../../../src/core/proofs/statement.ts';
import { event, type TestPlane } from '../../support/serving.ts';

export interface Decided {
  readonly evaluationId: string;
  readonly decision: string;
  readonly approvalId: string | null;
  readonly argumentsHash: string;
}

export interface Job {
  readonly jobId: string;
  readonly status: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- checked by schema where it was answered
  readonly result?: any;
}

export interface Layer {
  readonly proofId: string;
  readonly verified: boolean;
  readonly claims: Statement['claims'];
  /** Ids of the checks that failed. */
  readonly failed: readonly string[];
}

/** What tests do with a plane. */
export function governing(plane: Pick<TestPlane, 'call' | 'keys'>) {
  const must = async (method: string, path: string, body?: unknown, key?: string) => {
    const answer = await plane.call(method, path, {
      ...(body === undefined ? {} : { body }),
      ...(key === undefined ? {} : { key }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  /** What each evaluation decided. */
  const calls = new Map<string, { tool: string; argumentsHash: string }>();
  return {
    must,
    /** A policy in force; a further version where it is there already. */
    async policy(policyId: string, condition: unknown, action: string): Promise<void> {
      const made = await plane.call('POST', '/governance/policies', {
        body: { policyId, name: policyId, condition, action },
      });
      if (made.status !== 201)
        await must('POST', `/governance/policies/${policyId}/versions`, { condition, action });
      await must('POST', `/governance/policies/${policyId}/publish`, {});
    },
    disable: (policyId: string) =>
      must('POST', `/governance/policies/${policyId}/transition`, { targetStatus: 'disabled' }),
    async tool(runId: string, name: string, more: Record<string, unknown> = {}): Promise<Decided> {
      const body = { tool: { name }, arguments: {}, runId, ...more };
      const decided: Decided = await must('POST', '/mcp/tools/evaluate', body);
      calls.set(decided.evaluationId, { tool: name, argumentsHash: decided.argumentsHash });
      return decided;
    },
    /** What ran, and by which decision: the call that was decided, where the metadata do not say another. */
    ran: (runId: string, metadata: Record<string, unknown> = {}, eventType = 'tool.call', tool?: string) => {
      const call = calls.get(String(metadata['evaluationId']));
      const resource = { name: tool ?? call?.tool ?? 'ledger', type: 'tool' };
      const told = { argumentsHash: call?.argumentsHash, ...metadata };
      return must('POST', '/events', event({ runId, eventType, resource, metadata: told }));
    },
    decide: (approvalId: string | null, outcome: 'approved' | 'denied') =>
      must('POST', `/approvals/${approvalId}/decision`, { outcome }, plane.keys['person']),
    risk: (runId: string) =>
      must('POST', '/risk/evaluate', {
        runId,
        policyDecisions: [{ policyId: 'p', decision: 'deny', score: 0.4 }],
      }),
    async layer(runId: string, name: string): Promise<Layer> {
      const proof = await must('POST', '/proofs', { runId, composed: { layers: [name] } });
      const bundle = await must('GET', `/proofs/${proof.proofId}/bundle`);
      const statement = readStatement(bundle.layerStatements[name]);
      if (statement === null) throw new Error('expected a statement');
      const { verified } = proof.layers.find((layer: { name: string }) => layer.name === name);
      const failed = statement.checks.filter(({ pass }) => !pass).map(({ id }) => id);
      return { proofId: proof.proofId, verified, claims: statement.claims, failed };
    },
    verify: (proofId: string) => must('POST', '/proofs/verify', { proofId }),
    /** Asks until a job has ended. */
    async ended(jobId: string): Promise<Job> {
      for (;;) {
        const job = await must('GET', `/jobs/${jobId}`);
        if (job.status === 'completed' || job.status === 'failed') return job;
      }
    },
    async replay(body: Record<string, unknown>): Promise<Job> {
      const { jobId } = await must('POST', 'nodes' in body ? '/replay/causal-graph' : '/replay', body);
      return this.ended(jobId);
    },
  };
}

/** `severity field` of what drifted. */
export const drifted = ({ result }: Job): string[] =>
  result.driftDiagnostics.map(
    ({ severity, field }: { severity: string; field: string }) => `${severity} ${field}`,
  );
/** `status eventType action` of each step. */
export const told = ({ result }: Job): string[] =>
  result.steps.map(
    ({ status, eventType, action }: Record<string, string>) => `${status} ${eventType} ${action}`,
  );
