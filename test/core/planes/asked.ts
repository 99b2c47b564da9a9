/** A report that is asked about, and what its plane answers. */
import type { AttestationProof, Challenge, UsageReport } from '../../../src/contract/telemetry.ts';
import { verifyAttestation } from '../../../src/core/planes/attestation.ts';
import { reportedHead } from '../../../src/core/planes/usage-report.ts';
import { challengeFor, plane, TestPlane } from './log.ts';

export interface Asked {
  readonly sender: TestPlane;
  readonly report: UsageReport;
  readonly challenge: Challenge;
  readonly proof: AttestationProof;
  readonly earlier: readonly { size: number; root: Uint8Array }[];
}

/** Three reports, of which the last is asked about, with the heads of the others. */
export function asked(
  options: { seed?: string; samples?: number; cross?: number; work?: readonly number[] } = {},
): Asked {
  const { seed = 'asked', work = [9, 13, 30] } = options;
  const sender = new TestPlane({ seed });
  const reports = work.map((operations) => sender.work(operations).report());
  const earlier = reports.slice(0, -1).map(reportedHead);
  const report = reports.at(-1)!;
  const sizes = earlier.map(({ size }) => size).toReversed();
  const challenge = challengeFor(report, { samples: 4, cross: 2, ...options, seed, sizes });
  return { sender, report, challenge, proof: sender.answer(challenge), earlier };
}

export const verify = ({ report, challenge, proof, earlier }: Asked, changed: AttestationProof = proof) =>
  verifyAttestation({ challenge, report, proof: changed, plane, earlier });
