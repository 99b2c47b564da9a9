/**
 * The input of the policy benchmarks: the tool calls of the recorded airline runs as policy inputs, and twenty
 * realistic policies of four clauses each. Most policies do not match most calls.
 */
import type { Json, JsonObject } from '../../src/core/json/parse.ts';
import { canonicalCondition } from '../../src/core/policies/language/canonical.ts';
import type { PolicyInput } from '../../src/core/policies/evaluate/compile.ts';
import { policyHash } from '../../src/core/policies/language/hash.ts';
import type { PolicyVersion } from '../../src/core/policies/set/in-force.ts';
import { parseText } from '../../src/core/policies/language/text.ts';
import { recordedEvents } from './recorded.ts';

export interface GovernedCall {
  readonly runId: string;
  readonly checkpoint: PolicyInput & { readonly step: number };
}

const writing = new Set(['book_reservation', 'cancel_reservation', 'send_certificate']);

/** Every recorded tool call with the knowledge of a gateway. `round` becomes part of the run ids. */
export function governedCalls(round: string): GovernedCall[] {
  const steps = new Map<string, number>();
  const calls = recordedEvents(round).filter(({ eventType }) => eventType === 'tool.call');
  return calls.map(({ runId, resource, metadata }, at) => {
    const { name } = resource as { name: string };
    const step = (steps.get(runId) ?? 0) + 1;
    steps.set(runId, step);
    const kind = writing.has(name) || name.startsWith('update_') ? 'write' : 'read';
    const context: JsonObject = {
      env: at % 10 === 0 ? 'staging' : 'production',
      agent: { name: 'airline-agent', role: 'customer-service', version: '2.3.1', trust: (at % 7) / 7 },
      tool: { name, kind, arguments: metadata?.['arguments'] as Json },
      user: { region: at % 3 === 0 ? 'eu' : 'us', isVerified: at % 4 !== 0, tier: at % 5 },
      amountUsd: (at * 37) % 1500,
    };
    return { runId, checkpoint: { step, context } };
  });
}

const conditions: readonly [id: string, action: PolicyVersion['action'], text: string][] = [
  ['cancel', 'warn', 'tool.name == "cancel_reservation" && !user.isVerified && user.tier < 2'],
  ['certificate', 'escalate', 'tool.name == "send_certificate" && amountUsd > 500 && user.tier < 3'],
  ['booking', 'escalate', 'tool.name == "book_reservation" && amountUsd > 1000 && user.tier < 1'],
  ['baggage', 'warn', 'tool.name == "update_reservation_baggages" && amountUsd > 300 && user.tier == 0'],
  ['flights', 'warn', 'tool.name == "update_reservation_flights" && amountUsd > 700 && agent.trust < 0.2'],
  ['passengers', 'deny', 'tool.name == "update_reservation_passengers" && !user.isVerified && user.tier < 1'],
  ['unverified', 'warn', 'tool.kind == "write" && !user.isVerified && amountUsd > 900'],
  ['untrusted', 'escalate', 'tool.kind == "write" && agent.trust < 0.1 && amountUsd > 1400'],
  ['shell', 'deny', 'tool.name in ["shell", "ssh", "sudo", "curl", "wget"] && amountUsd >= 0 && has(agent)'],
  ['role', 'deny', 'agent.role != "customer-service" && tool.kind == "write" && amountUsd > 0'],
  ['transfer', 'warn', 'tool.name == "transfer_to_human_agents" && user.tier > 3 && step < 3'],
  ['long', 'warn', 'step > 40 && tool.kind == "write" && agent.trust < 0.9'],
  ['version', 'deny', 'agent.version in ["1.0.0", "1.1.0"] && tool.kind == "write" && step >= 0'],
  ['eu', 'warn', 'user.region == "eu" && tool.name == "get_user_details" && agent.trust < 0.15'],
  ['calculate', 'warn', 'tool.name == "calculate" && length(tool.arguments.expression) > 40 && step > 1'],
  ['search', 'allow', 'starts_with(tool.name, "search_") && user.isVerified && agent.trust >= 0.5'],
  ['list', 'allow', 'tool.name == "list_all_airports" && user.isVerified && agent.trust >= 0.1'],
  ['think', 'allow', 'tool.name == "think" && has(tool.arguments.thought) && step < 100'],
  ['amount', 'deny', 'amountUsd > 5000 && !user.isVerified && tool.kind == "write"'],
  ['name', 'deny', 'agent.name != "airline-agent" && has(tool.name) && user.tier >= 0'],
];

/** The twenty policies, all for production. */
export const policies: readonly PolicyVersion[] = conditions.map(([id, action, text]) =>
  policyOf(id, action, canonicalCondition(parseText(`env == "production" && ${text}`))),
);

export function policyOf(id: string, action: PolicyVersion['action'], condition: Json): PolicyVersion {
  const hashed = { policyId: `air-${id}`, version: 1, condition, action, severity: 'medium' } as const;
  return { ...hashed, name: id, policyHash: policyHash(hashed) };
}
