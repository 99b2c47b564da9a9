/** Columns of a CSV artifact: the members of the resource's schema, and which of them hold nothing but numbers. */
import type { ExportResource } from '../../contract/exports.ts';
import { AuditEvent } from '../../contract/events.ts';
import { governance } from '../../contract/governance.ts';
import { jobs } from '../../contract/jobs.ts';
import { ReplayResult } from '../../contract/replay.ts';
import { proofs } from '../../contract/proofs.ts';
import { risk } from '../../contract/risk.ts';

interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
}

/** What each resource's rows are; graphs have no such form (contract K2). */
const rowSchemas = {
  audit_events: AuditEvent,
  compliance_proofs: proofs.getProof.success[200],
  risk_decisions: risk.listRiskDecisions.success[200].properties.data.items,
  replays: ReplayResult,
  policy_evaluations: governance.listPolicyEvaluations.success[200].properties.data.items,
  jobs: jobs.listJobs.success[200].properties.data.items,
} as const;

export function columnsOf(resource: ExportResource): {
  readonly names: readonly string[];
  /** Positions in `names`. */
  readonly numeric: ReadonlySet<number>;
} {
  if (resource === 'causal_graphs')
    throw new Error('expected a resource that has columns, got causal_graphs');
  // each is an object, of which only the names and types of its members are looked at
  const members = Object.entries(rowSchemas[resource].properties as Readonly<Record<string, Schema>>);
  const numeric = members.flatMap(([, schema], at) => (isNumeric(schema) ? [at] : []));
  return { names: members.map(([name]) => name), numeric: new Set(numeric) };
}

const isNumeric = ({ type, anyOf }: Schema): boolean =>
  anyOf === undefined
    ? type === 'integer' || type === 'number'
    : anyOf.every((each) => each.type === 'null' || isNumeric(each));
