/**
 * Whether the log that a report reads is the one that was signed: the checkpoint has a valid signature of the log, the stored
 * tree has its root, and enough witnesses cosigned it. Each record that a report reads is compared with this tree; one that
 * differs fails the report. Proven by `test/service/reports/templates/shown.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { ReportCheck } from '../../../core/report/model.ts';
import { openTrustedCheckpoint } from '../../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../core/note/key.ts';
import { openOwn } from '../../log/checkpoints.ts';
import { rootAt } from '../../log/tree-proofs.ts';
import { count } from './period.ts';
import type { ReportSource } from './source.ts';

interface Seal {
  readonly checks: readonly ReportCheck[];
  readonly witnesses: number;
}

export async function sealOf(source: ReportSource): Promise<Seal> {
  const { reader, projectId, treeSize, checkpoint } = source;
  const { size, root } = openOwn(checkpoint);
  const stored = await rootAt(reader, projectId, treeSize);
  const isSame = size === treeSize && stored.equals(root);
  const { signature, witnesses } = signedBy(source);
  const tree: ReportCheck = {
    name: 'The rows come from the signed log',
    status: isSame ? 'pass' : 'fail',
    detail: isSame
      ? `The first ${count(treeSize, 'leaf', 'leaves')} have the root that the checkpoint signs. Each record that was read matches its leaf hash.`
      : `The stored tree of ${treeSize} leaves has another root than the checkpoint of ${size}. Run gov log fsck.`,
  };
  return { checks: [tree, signature, witnessed(source, witnesses)], witnesses };
}

function signedBy(source: ReportSource): { readonly signature: ReportCheck; readonly witnesses: number } {
  const name = 'The log signed the checkpoint';
  const { keys, witnesses, checkpoint } = source;
  try {
    const trust = {
      origin: openOwn(checkpoint).origin,
      keys: keys.map(parseVerifierKey),
      witnesses: witnesses.keys.map(parseVerifierKey),
      quorum: witnesses.quorum,
    };
    const opened = openTrustedCheckpoint(checkpoint, trust);
    const signers = opened.signedBy.map(({ key }) => `${key.name} (${key.algorithm})`);
    return {
      signature: { name, status: 'pass', detail: `Signed by ${signers.join(' and ')}.` },
      witnesses: opened.witnessedBy.length,
    };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return { signature: { name, status: 'fail', detail: error.message }, witnesses: 0 };
  }
}

function witnessed({ witnesses: { keys, quorum } }: ReportSource, cosigned: number): ReportCheck {
  const name = 'Witnesses cosigned the checkpoint';
  if (keys.length === 0) {
    const detail =
      'No witness is configured. Without one, only the operator vouches that no other history of the log exists.';
    return { name, status: 'not_shown', detail };
  }
  const needed = Math.max(1, quorum);
  const detail = `${count(cosigned, 'witness', 'witnesses')} of ${keys.length} cosigned it, ${needed} needed.`;
  return { name, status: cosigned >= needed ? 'pass' : 'fail', detail };
}
