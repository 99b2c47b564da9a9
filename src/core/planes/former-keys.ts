/**
 * Verification of messages that a data plane signed with earlier keys: a report from its outbox, or an answer to an older
 * challenge. The current keys are tried first, so earlier keys cost nothing unless they are needed.
 * Proven by `test/core/planes/former-keys.test.ts`.
 */
import type { UsageReport } from '../../contract/telemetry.ts';
import type { Fault, FormerKeys, PlaneIdentity } from './identity.ts';
import { checkReport } from './usage-report.ts';

export interface KeyedIdentity extends PlaneIdentity {
  readonly formerKeys: readonly FormerKeys[];
}

/** Returns the plane with each of its keys since `sinceMs`: the current keys first, then the newest earlier ones. */
export function identitiesSince(plane: KeyedIdentity, sinceMs: number): [PlaneIdentity, ...PlaneIdentity[]] {
  const { formerKeys, ...identity } = plane;
  const former = formerKeys.filter(({ untilMs }) => untilMs >= sinceMs).toReversed();
  return [
    identity,
    ...former.map(({ verifierKey, auditVerifierKey }) => ({ ...identity, verifierKey, auditVerifierKey })),
  ];
}

/** `checkReport` with any of these identities; returns the fault of the first one if none fits. */
export function checkReportBy(report: UsageReport, identities: readonly PlaneIdentity[]): Fault | null {
  let first: Fault | null = null;
  for (const identity of identities) {
    const fault = checkReport(report, identity);
    if (fault === null) return null;
    first ??= fault;
    if (fault.fault !== 'checkpoint_signature_invalid') break;
  }
  return first;
}
