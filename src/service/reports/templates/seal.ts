/**
 * Whether the log that a report reads is the one that was signed: the checkpoint has a valid signature of the log, the stored
 * tree has its root, and enough witnesses cosigned it. Each record that a report reads is compared with this tree; one that
 * differs fails the report. Proven by `test/service/reports/templates/shown.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { openTrustedCheckpoint } from '../../../core/note/checkpoint.ts';
import { parseVerifierKey } from '../../../core/note/key.ts';
import { openOwn } from '../../log/checkpoints.ts';
import { rootAt } from '../../log/tree-proofs.ts';
import { commonChecks } from '../checks/names.ts';
import { count } from './period.ts';
import type { ReportSource } from './source.ts';
import { judged, type JudgedCheck } from '../checks/verdict.ts';

interface Seal {
  readonly checks: readonly JudgedCheck[];
  readonly witnesses: number;
}

export async function sealOf(source: ReportSource): Promise<Seal> {
  const { reader, projectId, treeSize, checkpoint } = source;
  const { size, root } = openOwn(checkpoint);
  const stored = await rootAt(reader, projectId, treeSize);
  const isSame = size === treeSize && stored.equals(root);
  const { signature, witnesses } = signedBy(source);
  // the root is over all leaves: where it differs, none is shown to be the signed one
  const tree = judged(commonChecks.rowsFromLog, {
    examined: treeSize,
    failed: isSame ? 0 : treeSize,
    detail: isSame
      ? `The first ${count(treeSize, 'leaf', 'leaves')} have the root that the checkpoint signs. Each record that was read matches its leaf hash.`
      : `The stored tree of ${treeSize} leaves has another root than the checkpoint of ${size}. Run gov log fsck.`,
    none: 'The log has no leaf.',
  });
  return { checks: [tree, signature, witnessed(source, witnesses)], witnesses };
}

function signedBy(source: ReportSource): { readonly signature: JudgedCheck; readonly witnesses: number } {
  const verdict = (failed: number, detail: string): JudgedCheck =>
    judged(commonChecks.logSigned, {
      examined: source.treeSize === 0 ? 0 : 1,
      failed: source.treeSize === 0 ? 0 : failed,
      detail,
      none: 'The log has no leaf.',
    });
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
      signature: verdict(0, `Signed by ${signers.join(' and ')}.`),
      witnesses: opened.witnessedBy.length,
    };
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return { signature: verdict(1, error.message), witnesses: 0 };
  }
}

function witnessed({ witnesses: { keys, quorum } }: ReportSource, cosigned: number): JudgedCheck {
  const needed = Math.max(1, quorum);
  return judged(commonChecks.witnessed, {
    examined: keys.length,
    // a quorum may be larger than the number of witnesses
    failed: cosigned >= needed ? 0 : Math.min(keys.length, Math.max(1, keys.length - cosigned)),
    detail: `${count(cosigned, 'witness', 'witnesses')} of ${keys.length} cosigned it, ${needed} needed.`,
    none: 'No witness is configured. Without one, only the operator vouches that no other history of the log exists.',
  });
}
