/**
 * `fsck`: compares proofs with the gov.proof/1 leaves that commit to them, and with the hashes of their
 * texts.
 * One statement finds rows without a leaf. Erasures and prunings never remove a proof, so a missing one is a
 * problem.
 * Proven by `test/store/fsck/tamper-proved.test.ts`.
 */
import type { ComplianceProof } from '../../../contract/proofs.ts';
import { readProof } from '../../../core/proofs/read-bundle.ts';
import { rowBounds, rowOfLeaf } from '../../../core/exports/row.ts';
import { sha256Text } from '../../../core/hash.ts';
import { canonicalize, parseJson, readJson, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { readStatement, statementHash } from '../../../core/proofs/statement.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { shown, type RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { positionBits } from '../../file/position.ts';

interface ProofRow {
  readonly run_id: string;
  readonly leaf_index: number;
  readonly created_ms: number;
  readonly proof: string;
  readonly preimage: string;
  readonly statements: string;
  readonly tree_size: number;
  readonly graph_index: number | null;
}

/** Reads one proof at a time. Cost: a SHA-256 of each of its texts. */
export function proofCheck(check: Check, { no, projectId }: CheckedProject): RecordCheck {
  const { db, problem } = check;
  const compare = columnCheck(check, 'proof_mismatch');
  const find = db.prepare<Value[], ProofRow>(
    `SELECT run_id, leaf_index, created_ms, proof, preimage, statements, tree_size, graph_index FROM proof
     WHERE project = ? AND proof_id = ?`,
  );
  const signed = db.prepare<Value[]>('SELECT 1 FROM checkpoint WHERE project = ? AND tree = 0 AND size = ?');
  const visit = (index: number, record: JsonObject): void => {
    if (record['type'] !== 'gov.proof/1') return;
    const { proofId, runId, proofHash } = record;
    const position = `${projectId}/proof/${shown(proofId)}`;
    const row = find.get(no, shown(proofId));
    if (row === undefined) {
      const expected = `the proof of run ${shown(runId)} that leaf ${index} logs as ${shown(proofHash)}`;
      return problem(position, 'proof_mismatch', { expected, got: 'none: restore it from a backup' });
    }
    const proof = provedBy(row, { index, record });
    const stated = statedIn(row);
    const graph = stated === null ? {} : graphOf(row, stated);
    const logged = { leaf_index: index, ...loggedOf(record, proof), ...stated?.columns, ...graph };
    compare(position, storedOf(row, record, proof), logged);
    const size = Number(/\\"treeSize\\":(\d+)/.exec(row.statements)?.[1] ?? 0);
    if (size === 0 || signed.get(no, size) !== undefined) return;
    const expected = `the signed checkpoint that proof ${shown(proofId)} is about`;
    problem(`${projectId}/audit/checkpoint/${size}`, 'checkpoint_missing', { expected, got: 'none' });
  };
  const finish = (): void => {
    const rows = db
      .prepare<Value[], { proof_id: string; leaf_index: number }>(
        // quotes within a text of a record are escaped
        `SELECT proof_id, leaf_index FROM proof p WHERE project = ? AND NOT EXISTS (
           SELECT 1 FROM leaf WHERE leaf.position = (p.project << ${positionBits}) + p.leaf_index
             AND instr(record, '"type":"gov.proof/1"') > 0
             AND instr(record, '"proofId":"' || p.proof_id || '"') > 0)`,
      )
      .iterate(no);
    for (const { proof_id: id, leaf_index: index } of rows) {
      const expected = `a gov.proof/1 leaf at ${index} that logs it`;
      problem(`${projectId}/proof/${id}`, 'proof_mismatch', { expected, got: 'none' });
    }
  };
  return { visit, finish };
}

/** What the statements of a row say of its columns; null for statements that cannot be read. */
function statedIn({ statements }: ProofRow): { columns: Columns; graphIndex: Json | undefined } | null {
  const read = textsOf(statements)?.map(([, text]) => readStatement(text)) ?? [];
  const [first] = read;
  if (first === undefined || first === null) return null;
  const graphIndex = read.find((each) => each?.layer === 'causal_consistency')?.claims['graphIndex'];
  return { columns: { tree_size: first.evidence.treeSize }, graphIndex };
}

/** A graph that was logged after the tree size is in no statement; another one is where the statement has it. */
const graphOf = (
  { graph_index, tree_size }: ProofRow,
  { graphIndex }: { readonly graphIndex: Json | undefined },
): Columns =>
  typeof graphIndex === 'number'
    ? { graph_index: graphIndex }
    : graphIndex === null && graph_index !== null && graph_index >= tree_size
      ? {}
      : { graph_index: null };

function storedOf(row: ProofRow, record: JsonObject, provedProof: ComplianceProof | null): Columns {
  const { run_id, leaf_index, created_ms, preimage, statements, tree_size, graph_index } = row;
  const proof = provedProof === null ? 'another one' : shown(record['proofHash']);
  const texts = { preimage: sha256Text(preimage), statements: hashesOf(statements) };
  return { run_id, leaf_index, created_ms, proof, tree_size, graph_index, ...texts };
}

/** The record may be altered, which is reported elsewhere: its members may have any type. */
function loggedOf({ runId, proofHash }: JsonObject, proof: ComplianceProof | null): Columns {
  const hash = shown(proofHash);
  const logged = { run_id: shown(runId), proof: hash, preimage: hash };
  if (proof === null) return logged;
  // the leaf commits to the proof, and the proof to these texts
  const statements = proof.layers.map(({ name, hash: of }) => `${name} ${of}`).join(' ');
  return { ...logged, created_ms: parseTimestamp(proof.createdAt), statements };
}

/** The proof of a row. Null if the leaf commits to another proof. */
function provedBy(
  { proof }: ProofRow,
  { index, record }: { readonly index: number; readonly record: JsonObject },
): ComplianceProof | null {
  const leaf = { index, record: canonicalize(record), disclosures: null };
  try {
    if (rowOfLeaf('compliance_proofs', leaf, proof) === null) return null;
    return readProof(parseJson(Buffer.from(proof), rowBounds));
  } catch {
    return null; // not a proof at all
  }
}

const hashesOf = (statements: string): string =>
  textsOf(statements)
    ?.map(([name, text]) => `${name} ${statementHash(text)}`)
    .join(' ') ?? 'not a list of texts';

/** The names of layers and their statements; null for another text. */
function textsOf(statements: string): readonly (readonly [name: string, text: string])[] | null {
  try {
    const list = readJson(statements);
    if (!Array.isArray(list)) return null;
    return list.map((entry) => {
      const [name, text] = Array.isArray(entry) ? entry : [];
      if (typeof name !== 'string' || typeof text !== 'string') throw new Error('not a list of texts');
      return [name, text];
    });
  } catch {
    return null;
  }
}
