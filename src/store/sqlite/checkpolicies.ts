/**
 * `fsck`: policies against their gov.policy/1 leaves: the status of each, the version in force, the hash of every
 * version; and each version against its hash. Memory grows with the number of policies.
 */
import { applyPolicyChange, openPolicyChange, type InForce } from '../../core/decided/policychange.ts';
import { readJson, type JsonObject } from '../../core/json.ts';
import { policyHash as hashOf } from '../../core/policy/policyhash.ts';
import type { Check, CheckedProject } from '../fsck.ts';
import type { StoredPolicyVersion } from '../port.ts';
import { parseRecord, type RecordCheck } from './checkrecord.ts';
import type { Value } from './connection.ts';
import { typeNumbers } from './decided.ts';
import { positionSql } from './position.ts';

interface PolicyRow {
  readonly policy_id: string;
  readonly status: string;
  readonly active_version: number | null;
  readonly policy_hash: string | null;
}

export function policyCheck(check: Check, project: CheckedProject): RecordCheck {
  const { no, projectId, auditSize } = project;
  const checkVersion = versionCheck(check, project);
  const inForce: InForce = new Map();
  /** Policy id → status after its newest leaf. */
  const statuses = new Map<string, string>();
  let versions = 0;
  const visit = (index: number, record: JsonObject): void => {
    if (record['type'] !== 'gov.policy/1') return;
    const change = openPolicyChange({ index, clear: record, committed: new Map() });
    const { policyId, version, policyHash, event, to } = change;
    if (typeof policyId !== 'string' || typeof version !== 'number') return; // the altered record is reported
    applyPolicyChange(inForce, change);
    statuses.set(policyId, to);
    if (event === 'created' || event === 'version_added') versions += 1;
    checkVersion(policyId, version, policyHash);
  };
  const finish = (): void => {
    checkHashes(check, project);
    check.db.exec('BEGIN');
    try {
      for (const { idx, record } of newerLeaves(check, no, auditSize)) {
        const parsed = parseRecord(record);
        if (parsed !== null) visit(idx, parsed as unknown as JsonObject);
      }
      checkRows(check, project, { inForce, statuses });
      const rows = check.db
        .prepare<Value[], number>('SELECT count(*) FROM policy_version WHERE project = ?')
        .pluck()
        .get(no);
      if (rows === versions) return;
      const expected = `${versions} versions, as the leaves say`;
      check.problem(`${projectId}/policy_version`, 'policy_mismatch', { expected, got: `${rows ?? 0}` });
    } finally {
      check.db.exec('COMMIT');
    }
  };
  return { visit, finish };
}

/** Changes that were made beside the check: the rows show them already. */
function newerLeaves({ db }: Check, project: number, from: number): { idx: number; record: string }[] {
  return db
    .prepare<Value[], { idx: number; record: string }>(
      `SELECT d.idx, leaf.record FROM decided d JOIN leaf ON leaf.position = ${positionSql('d')}
       WHERE d.project = ? AND d.type = ${typeNumbers['gov.policy/1']} AND d.idx >= ? ORDER BY d.idx`,
    )
    .all(project, from);
}

/** That the version a leaf names is there, with the hash that the leaf gives it. */
function versionCheck({ db, problem }: Check, { no, projectId }: CheckedProject) {
  const find = db
    .prepare<Value[], string>(
      'SELECT policy_hash FROM policy_version WHERE project = ? AND policy_id = ? AND version = ?',
    )
    .pluck();
  return (policyId: string, version: number, policyHash: unknown): void => {
    const got = find.get(no, policyId, version) ?? 'no such row';
    if (got === policyHash) return;
    const position = `${projectId}/policy/${policyId}/${version}`;
    problem(position, 'policy_mismatch', { expected: String(policyHash), got });
  };
}

type HashedRow = Pick<
  StoredPolicyVersion,
  'policyId' | 'version' | 'condition' | 'normalized' | 'action' | 'severity' | 'policyHash'
>;

/** That a version is what its hash says, in both spellings of its condition. Cost: 50 µs a version. */
function checkHashes({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const rows = db
    .prepare<Value[], HashedRow>(
      `SELECT policy_id AS policyId, version, condition, normalized, action, severity, policy_hash AS policyHash
       FROM policy_version WHERE project = ?`,
    )
    .iterate(no);
  for (const row of rows) {
    const { policyId, version, policyHash: expected } = row;
    for (const spelling of ['condition', 'normalized'] as const) {
      const hash = recomputed(row, row[spelling]);
      if (hash === expected) continue;
      const got = `${hash}, by its ${spelling}`;
      problem(`${projectId}/policy/${policyId}/${version}`, 'policy_mismatch', { expected, got });
    }
  }
}

function recomputed({ policyId, version, action, severity }: HashedRow, condition: string): string {
  try {
    return hashOf({ policyId, version, condition: readJson(condition), action, severity });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

interface Policies {
  readonly inForce: InForce;
  readonly statuses: Map<string, string>;
}

function checkRows(
  { db, problem }: Check,
  { no, projectId }: CheckedProject,
  { inForce, statuses }: Policies,
): void {
  const rows = db
    .prepare<Value[], PolicyRow>(
      `SELECT p.policy_id, p.status, p.active_version, v.policy_hash FROM policy p
       LEFT JOIN policy_version v ON v.project = p.project AND v.policy_id = p.policy_id
         AND v.version = p.active_version
       WHERE p.project = ?`,
    )
    .iterate(no);
  const missing = new Set(statuses.keys());
  for (const { policy_id: policyId, status, active_version: version, policy_hash: policyHash } of rows) {
    missing.delete(policyId);
    const expected = standing(statuses.get(policyId), inForce.get(policyId));
    const got = standing(status, status === 'active' ? { version, policyHash } : undefined);
    if (got !== expected) problem(`${projectId}/policy/${policyId}`, 'policy_mismatch', { expected, got });
  }
  for (const policyId of missing) {
    const expected = standing(statuses.get(policyId), inForce.get(policyId));
    problem(`${projectId}/policy/${policyId}`, 'policy_mismatch', { expected, got: 'no such row' });
  }
}

function standing(
  status: string | undefined,
  inForce: { readonly version: number | null; readonly policyHash: string | null } | undefined,
): string {
  if (status === undefined) return 'no such policy';
  if (inForce === undefined) return `${status}, no version in force`;
  return `${status}, version ${inForce.version} in force (${inForce.policyHash})`;
}
