/**
 * Waits until the witnesses of a trust file have cosigned a checkpoint over a proof. A service signs a checkpoint first and
 * sends it to its witnesses then, so that a new proof has no cosignature for some seconds.
 * Tested by `test/docs/witness.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { pause } from '../../client/retry.ts';
import { verifyBundleFile } from '../../core/proofs/verify.ts';
import type { TrustSource } from '../context/trust.ts';
import { startProgress } from '../progress/show.ts';
import type { Invocation } from '../context/command.ts';
import { CliError, exit, usage } from '../program/exit.ts';
import { bytesReread } from '../terminal/spool.ts';

/** A witness that did not answer is asked again within this time (limits.witnessRetrySeconds). */
const defaultWaitMs = 60_000;
const everyMs = 500;

interface CosignedProof {
  readonly proofId: string;
  readonly source: TrustSource | null;
  /** Of the bundle that is needed: an index leaf needs a checkpoint of its own. */
  readonly query: { readonly completeness?: false };
}

/** Returns once the bundle meets the quorum, or has another fault, which its verification reports. Errors: exit 8. */
export async function waitForWitnesses(
  client: Client,
  { proofId, source, query }: CosignedProof,
  call: Pick<Invocation, 'out' | 'io' | 'signal' | 'settings'>,
): Promise<void> {
  if (source === null)
    throw usage(
      '--wait: expected a trust file that names witnesses',
      'give --trust FILE; see gov trust show',
    );
  const { trust, from } = source;
  const waitMs = call.settings.timeoutMs ?? defaultWaitMs;
  const deadline = performance.now() + waitMs;
  const progress = startProgress(call);
  try {
    for (;;) {
      const { bytes } = await client.getProofBundle({
        params: { proofId },
        query: { ...query, events: 'none' },
      });
      const { code, verified, completeness } = await verifyBundleFile(bytesReread(bytes).read, trust);
      const isUnproven = verified && completeness.strength === 'own_index' && (trust.index?.quorum ?? 0) > 0;
      if (code !== 'WITNESS_QUORUM_NOT_MET' && !isUnproven) return;
      progress.at('waiting for cosignatures');
      const left = deadline - performance.now();
      if (left <= 0) break;
      await pause(Math.min(everyMs, left), call.signal);
    }
  } finally {
    progress.stop();
  }
  throw new CliError(
    exit.pending,
    `after ${waitMs / 1000} s, fewer witnesses have cosigned the log over ${proofId} than ${from} requires`,
    { code: 'PENDING', hint: 'see whether they answer: gov health' },
  );
}
