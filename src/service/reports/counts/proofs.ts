/** The proofs of a run, and what the newest one says of policies, for the template `run-evidence`. */
import type { ComplianceProof } from '../../../contract/proofs.ts';
import type { StoredProof } from '../../../store/port/store.ts';
import { Rows } from '../templates/rows.ts';
import { columns, type ReportSource, type TableSpec } from '../templates/source.ts';

export const proofTable: TableSpec = {
  id: 'proofs',
  title: 'Proofs',
  lists: 'Proofs of the run below the checkpoint, in log order',
  columns: columns({
    leaf: ['Leaf', 'number'],
    createdAt: ['Created', 'time'],
    proofId: 'Proof',
    layer: 'Layer',
    status: ['Status', 'status'],
    leaves: ['Leaves of the log', 'number'],
    hash: ['Layer hash', 'hash'],
  }),
  unshown: 'A proof has several rows, one for each layer.',
  rest: 'gov runs show has all of them.',
};

export interface Proofs {
  readonly rows: Rows;
  readonly newest: StoredProof | null;
  readonly compliance: 'yes' | 'no' | 'no decision' | 'not shown';
}

const pageProofs = 50;

export async function proofsOf(
  { reader, projectId, treeSize, breathe }: ReportSource,
  runId: string,
): Promise<Proofs> {
  const rows = new Rows(proofTable);
  let newest: StoredProof | null = null;
  let compliance: Proofs['compliance'] = 'not shown';
  for (let after = -1; ;) {
    const found = await reader.loggedProofs(
      projectId,
      { runId, beforeIndex: treeSize },
      { after, limit: pageProofs },
    );
    for (const stored of found) {
      const { proofId, layers, createdAt } = JSON.parse(stored.proof) as ComplianceProof;
      // the newest proof alone speaks for the run
      newest = stored;
      compliance = 'not shown';
      for (const { name, verified, hash } of layers) {
        if (name === 'policy_compliance') compliance = verified ? 'yes' : 'no';
        const status = verified ? 'pass' : 'fail';
        rows.add([stored.leafIndex, createdAt, proofId, name, status, stored.treeSize, hash], !verified);
      }
    }
    after = found.at(-1)?.leafIndex ?? after;
    if (found.length < pageProofs) return { rows, newest, compliance };
    await breathe();
  }
}
