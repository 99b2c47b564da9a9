/**
 * `fsck`: compares every column of policies and versions with their gov.policy/1 leaves, and each version
 * with its hash.
 * Name and creator are compared only if the bodies of these leaves are stored.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import { openPolicyChange } from '../../../core/decided/policy-change.ts';
import { readJson, type JsonObject } from '../../../core/json/parse.ts';
import { policyHash as hashOf } from '../../../core/policies/language/hash.ts';
import type { PolicyAction } from '../../../contract/policy-words.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { StoredPolicyVersion } from '../../port/store.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { PolicyLives } from './policy-life.ts';
import { committedBy, parseRecord, type CommittedReader, type RecordCheck } from '../record.ts';
import { openedRow } from '../../file/body-seal.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionSql } from '../../file/position.ts';

export function policyCheck(check: Check, project: CheckedProject): RecordCheck {
  const { no, auditSize } = project;
  const checkVersion = versionCheck(check, project);
  const lives = new PolicyLives();
  const visit = (index: number, record: JsonObject, committed: CommittedReader): void => {
    if (record['type'] !== 'gov.policy/1') return;
    const { policyId, version } = record;
    if (typeof policyId !== 'string' || typeof version !== 'number') return; // another check reports the altered record
    const change = openPolicyChange({ index, clear: record, committed: committed() });
    lives.add(change);
    checkVersion(policyId, version, change.policyHash);
  };
  const finish = (): void => {
    checkHashes(check, project);
    check.db.exec('BEGIN');
    try {
      for (const leaf of newerLeaves(check, no, auditSize)) {
        const parsed = parseRecord(leaf.record);
        if (parsed !== null) visit(leaf.idx, parsed as unknown as JsonObject, committedBy(leaf));
      }
      checkPolicies(check, project, lives);
      checkVersions(check, project, lives);
    } finally {
      check.db.exec('COMMIT');
    }
  };
  return { visit, finish };
}

/** Leaves that were appended during the check: the rows already include their changes. */
function newerLeaves({ db }: Check, project: number, from: number) {
  return db
    .prepare<Value[], { idx: number; record: string; disclosures: string | null }>(
      `SELECT d.idx, leaf.record, body.disclosures FROM decided d
       JOIN leaf ON leaf.position = ${positionSql('d')} LEFT JOIN body ON body.position = leaf.position
       WHERE d.project = ? AND d.type = ${typeNumbers['gov.policy/1']} AND d.idx >= ? ORDER BY d.idx`,
    )
    .all(project, from)
    .map((row) => openedRow(db, row));
}

/** Checks that the version that a leaf names exists, with the hash in the leaf. */
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
> & { readonly requireSigned: number; readonly onIndeterminate: PolicyAction | null };

/** Checks that both forms of a version's condition have its hash. Cost: 50 µs a version. */
function checkHashes({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const requireSigned = hasColumn(db, 'require_signed') ? 'require_signed' : '0';
  const onIndeterminate = hasColumn(db, 'on_indeterminate') ? 'on_indeterminate' : 'NULL';
  const rows = db
    .prepare<Value[], HashedRow>(
      `SELECT policy_id AS policyId, version, condition, normalized, action, severity, policy_hash AS policyHash,
         ${requireSigned} AS requireSigned, ${onIndeterminate} AS onIndeterminate FROM policy_version WHERE project = ?`,
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

/** False in a database before the migration that adds the column. */
const hasColumn = (db: Connection, column: string): boolean =>
  (db.pragma('table_info(policy_version)') as { name: string }[]).some(({ name }) => name === column);

function recomputed(row: HashedRow, condition: string): string {
  const { policyId, version, action, severity, requireSigned, onIndeterminate } = row;
  const requireSignedApproval = requireSigned === 1;
  try {
    const content = { policyId, version, action, severity, requireSignedApproval, onIndeterminate };
    return hashOf({ ...content, condition: readJson(condition) });
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checkPolicies(check: Check, { no, projectId }: CheckedProject, lives: PolicyLives): void {
  const compare = columnCheck(check, 'policy_mismatch');
  const rows = check.db
    .prepare<Value[], Columns & { readonly policy_id: string }>('SELECT * FROM policy WHERE project = ?')
    .iterate(no);
  const missing = new Map(lives.policies());
  for (const row of rows) {
    const position = `${projectId}/policy/${row.policy_id}`;
    const logged = missing.get(row.policy_id);
    missing.delete(row.policy_id);
    if (logged === undefined) check.problem(position, 'policy_mismatch', unlogged);
    else compare(position, row, logged);
  }
  for (const [policyId, logged] of missing) compare(`${projectId}/policy/${policyId}`, undefined, logged);
}

const unlogged = { expected: 'no row, because no leaf created it', got: 'one' };

/** Checks the rows of versions. `versionCheck` finds missing ones. */
function checkVersions(check: Check, { no, projectId }: CheckedProject, lives: PolicyLives): void {
  const compare = columnCheck(check, 'policy_mismatch');
  const rows = check.db
    .prepare<Value[], Columns & { readonly policy_id: string; readonly version: number }>(
      'SELECT policy_id, version, published, created_ms, created_by FROM policy_version WHERE project = ?',
    )
    .iterate(no);
  for (const row of rows) {
    const position = `${projectId}/policy/${row.policy_id}/${row.version}`;
    const logged = lives.version(row.policy_id, row.version);
    if (logged === undefined) check.problem(position, 'policy_mismatch', unlogged);
    else compare(position, row, logged);
  }
}
