/**
 * Columns of a CSV artifact: the members of the resource's schema, and which of them are always numbers.
 * Proven by `test/service/exports/handlers.test.ts`.
 */
import type { ExportResource } from '../../contract/exports.ts';
import { AuditEvent } from '../../contract/events.ts';
import { RecordedEvaluation } from '../../contract/governance.ts';
import { jobs } from '../../contract/jobs.ts';
import { ReplayResult } from '../../contract/replay.ts';
import { proofs } from '../../contract/proofs.ts';
import { risk } from '../../contract/risk.ts';

interface Schema {
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
}

/** The row schema of each resource. Graphs have no columns (contract K2). */
const rowSchemas = {
  audit_events: AuditEvent,
  compliance_proofs: proofs.getProof.success[200],
  risk_decisions: risk.listRiskDecisions.success[200].properties.data.items,
  replays: ReplayResult,
  policy_evaluations: RecordedEvaluation,
  jobs: jobs.listJobs.success[200].properties.data.items,
} as const;

export function columnsOf(resource: ExportResource): {
  readonly names: readonly string[];
  /** Positions in `names`. */
  readonly numeric: ReadonlySet<number>;
} {
  if (resource === 'causal_graphs')
    throw new Error('expected a resource that has columns, got causal_graphs');
  // each is an object schema; only names and types of its members are read
  const members = Object.entries(rowSchemas[resource].properties as Readonly<Record<string, Schema>>);
  const numeric = members.flatMap(([, schema], at) => (isNumeric(schema) ? [at] : []));
  return { names: members.map(([name]) => name), numeric: new Set(numeric) };
}

const isNumeric = ({ type, anyOf }: Schema): boolean =>
  anyOf === undefined
    ? type === 'integer' || type === 'number'
    : anyOf.every((each) => each.type === 'null' || isNumeric(each));
