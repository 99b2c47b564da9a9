/**
 * The facts that a commit needs before it is planned: looked up in one round trip, under the lock on the
 * heads. The facts do not change until COMMIT. The look-ups only ask for rows that the requests name.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { isOpen, type JobStatus } from '../../../contract/job-words.ts';
import { hashText } from '../../../core/hash.ts';
import type { AppendRequest, ExportHoldings, OpenJob, StoppedJob, StoredPolicy } from '../../port/store.ts';
import type { RunState } from '../../append/ledger.ts';
import { eventIdOf, keptOf, type KeptRow } from '../../append/repeats.ts';
import { runColumns } from '../../append/run-row.ts';
import { textArray } from '../connection/arrays.ts';
import { heldExports } from '../../read/exports.ts';
import { approvalColumns, stateOf, type ApprovalRow as StoredRow } from '../../rules/approval-row.ts';
import { selected } from '../../rules/columns.ts';
import { nothingHeld } from '../../rules/export-row.ts';
import { named } from './named.ts';
import { documentLookups, noDocumentFacts } from '../effects/documents.ts';
import { bodyLookups } from '../effects/bodies.ts';
import { located } from '../read/leaves.ts';
import { noSubjectFacts } from '../effects/subject-keys.ts';
import { noTenantFacts, tenantLookups } from './tenant-facts.ts';
import { sql, step, type Param, type Result, type Sql } from '../../read/queries.ts';
import type { Facts, Lookup } from './known.ts';

/** Names a state of a job that has not ended. */
export const openJobKey = ({ status, startedMs }: OpenJob): string => `${status} ${startedMs}`;

/** Names a state of a job that failed or was cancelled. */
export const stoppedJobKey = ({ status, attempt }: StoppedJob): string => `${status} ${attempt}`;

export const versionKey = (policyId: string, version: number): string => `${policyId}/${version}`;

export const noFacts = (): Facts => ({
  kept: new Map(),
  clients: new Map(),
  runs: new Map(),
  sealed: new Set(),
  declarations: new Map(),
  snapshots: new Set(),
  intake: new Map(),
  leases: new Map(),
  openJobs: new Map(),
  stoppedJobs: new Map(),
  unfinished: new Set(),
  heldExports: nothingHeld,
  policies: new Map(),
  versions: new Map(),
  active: 0,
  approvals: new Map(),
  newestOfCalls: new Map(),
  bodies: new Map(),
  prunedBelow: 0,
  ...noTenantFacts(),
  ...noSubjectFacts(),
  ...noDocumentFacts(),
});

/** Returns the look-ups that these requests need; run their steps in this order. */
export function lookupsOf(project: number, requests: readonly AppendRequest[]): Lookup[] {
  const effects = requests.flatMap(({ effects: each = [] }) => each);
  const ids = named(requests, effects);
  const lookups: Lookup[] = [];
  const look = <Row>(statement: Sql<Row>, names: ReadonlySet<string>, take: Take<Row>): void => {
    if (names.size === 0) return;
    const values: Param[] = [project, textArray([...names])];
    lookups.push({
      step: step(statement, ...values),
      take: (rows, facts) => {
        for (const row of rows) take(row as Row, facts); // rows of this statement
      },
    });
  };
  look(keptAnswers, ids.keys, takeKept);
  look(clientEvents, ids.clients, takeClient);
  look(runRows, ids.runs, (run, { runs }) => runs.set(run.runId, run));
  look(runGraphs, ids.graphs, takeRunGraph);
  look(snapshots, ids.snapshots, ({ run_id: runId }, facts) => facts.snapshots.add(runId));
  look(intakeFacts, ids.facts, ({ name, value }, facts) => facts.intake.set(name, value));
  look(jobStates, ids.jobs, takeJob);
  look(unfinishedExports, ids.exports, ({ export_id: id }, { unfinished }) => unfinished.add(id));
  if (effects.some(({ kind }) => kind === 'createExport' || kind === 'finishExport')) {
    lookups.push({
      step: step(heldExports, project),
      take: ([row], facts) => (facts.heldExports = row as ExportHoldings),
    });
  }
  look(policies, ids.policies, takePolicy);
  look(versions, ids.policies, ({ policy_id: policyId, version, published }, facts) =>
    facts.versions.set(versionKey(policyId, version), published === 1),
  );
  look(approvals, ids.approvals, takeApproval);
  look(newestOfCalls, ids.calls, ({ call_key: key, approval_id: id }, facts) =>
    facts.newestOfCalls.set(key, id),
  );
  if (effects.some(({ kind }) => kind === 'movePolicy')) {
    lookups.push({
      step: step(activePolicies, project),
      take: ([row], facts) => (facts.active = (row as { n: number }).n),
    });
  }
  lookups.push(
    ...bodyLookups(project, effects),
    ...tenantLookups(project, effects),
    ...documentLookups(project, effects),
  );
  return lookups;
}

export function factsOf(lookups: readonly Lookup[], results: readonly Result[]): Facts {
  const facts = noFacts();
  lookups.forEach(({ take }, at) => take(results[at]?.rows ?? [], facts));
  return facts;
}

type Take<Row> = (row: Row, facts: Facts) => void;

const keptAnswers = sql<KeptRow & { key: string }>(
  'SELECT key, fingerprint, status, headers, body FROM idempotency WHERE project = $1 AND key = ANY($2::text[])',
);

const takeKept: Take<KeptRow & { key: string }> = (row, { kept }) => kept.set(row.key, keptOf(row));

interface ClientRow {
  client_event_id: string;
  idx: number;
  fingerprint: string;
  record: string | null;
}

const clientEvents = sql<ClientRow>(
  `SELECT c.client_event_id, c.idx, c.fingerprint, l.record FROM ${located(
    `SELECT client_event_id, idx, fingerprint FROM client_event
     WHERE project = $1 AND client_event_id = ANY($2::text[])`,
  )} c LEFT JOIN LATERAL (SELECT record FROM leaf WHERE position = c.position OFFSET 0) l ON true`,
);

const takeClient: Take<ClientRow> = ({ client_event_id: id, idx, fingerprint, record }, { clients }) => {
  clients.set(id, { index: idx, fingerprint, event: record === null ? null : eventIdOf(record) });
};

const runRows = sql<RunState>(
  `SELECT ${selected(runColumns)} FROM run WHERE project = $1 AND run_id = ANY($2::text[])`,
);

interface RunGraphRow {
  run_id: string;
  is_sealed: boolean;
  hash: Uint8Array | null;
}

const runGraphs = sql<RunGraphRow>(
  `SELECT run_id, sealed_ms IS NOT NULL AS is_sealed, sha256(convert_to(declaration, 'UTF8')) AS hash
   FROM run_graph WHERE project = $1 AND run_id = ANY($2::text[])`,
);
const takeRunGraph: Take<RunGraphRow> = ({ run_id: runId, is_sealed, hash }, { sealed, declarations }) => {
  if (is_sealed) sealed.add(runId);
  if (hash !== null) declarations.set(runId, hashText(hash));
};
const intakeFacts = sql<{ name: string; value: string }>(
  'SELECT name, value FROM intake_fact WHERE project = $1 AND name = ANY($2::text[])',
);
const snapshots = sql<{ run_id: string }>(
  'SELECT run_id FROM run_snapshot WHERE project = $1 AND run_id = ANY($2::text[])',
);
// Locked, because leases also move without the lock on the heads.
const jobStates = sql<JobStateRow>(
  `SELECT job_id, lease, status, started_ms, attempt, request IS NOT NULL AS has_request FROM job WHERE project = $1 AND job_id = ANY($2::text[])
   ORDER BY job_id FOR UPDATE`,
);

interface JobStateRow {
  job_id: string;
  lease: string | null;
  status: JobStatus;
  started_ms: number | null;
  attempt: number;
  has_request: boolean;
}

const takeJob: Take<JobStateRow> = (
  { job_id: jobId, lease, status, started_ms: startedMs, attempt, has_request: hasRequest },
  { leases, openJobs, stoppedJobs },
) => {
  if (lease !== null) leases.set(jobId, lease);
  if (isOpen(status)) openJobs.set(jobId, openJobKey({ status, startedMs }));
  else if (status !== 'completed' && hasRequest) stoppedJobs.set(jobId, stoppedJobKey({ status, attempt }));
};

/** Finds the incomplete ones of these exports. */
const unfinishedExports = sql<{ export_id: string }>(
  'SELECT export_id FROM export_job WHERE project = $1 AND export_id = ANY($2::text[]) AND completed_ms IS NULL',
);

interface PolicyRow {
  policy_id: string;
  revision: number;
  status: StoredPolicy['status'];
  latest_version: number;
}

const policies = sql<PolicyRow>(
  'SELECT policy_id, revision, status, latest_version FROM policy WHERE project = $1 AND policy_id = ANY($2::text[])',
);
const takePolicy: Take<PolicyRow> = (
  { policy_id: id, revision, status, latest_version: latestVersion },
  facts,
) => facts.policies.set(id, { revision, status, latestVersion });

const versions = sql<{ policy_id: string; version: number; published: number }>(
  'SELECT policy_id, version, published FROM policy_version WHERE project = $1 AND policy_id = ANY($2::text[])',
);
const activePolicies = sql<{ n: number }>(
  "SELECT count(*) AS n FROM policy WHERE project = $1 AND status = 'active'",
);

type ApprovalRow = Omit<StoredRow, 'evaluationId' | 'runId' | 'reason'>;

const approvals = sql<ApprovalRow>(
  `SELECT ${selected(approvalColumns, { not: ['evaluationId', 'runId', 'reason'] })}
   FROM approval WHERE project = $1 AND approval_id = ANY($2::text[])`,
);
const takeApproval: Take<ApprovalRow> = (row, facts) =>
  facts.approvals.set(row.approvalId, { expiresMs: row.expiresMs, ...stateOf(row) });

const newestOfCalls = sql<{ call_key: string; approval_id: string }>(
  `SELECT DISTINCT ON (call_key) call_key, approval_id FROM approval
   WHERE project = $1 AND call_key = ANY($2::text[]) ORDER BY call_key, requested_ms DESC, approval_id DESC`,
);
