/**
 * Messages of a data plane that were signed before it enrolled with other keys: a report that lay in the outbox, an answer
 * to a challenge that was drawn before. The keys in force come first, so those before cost nothing where they are not
 * needed. Proven by `test/core/plane/former-keys.test.ts`.
 */
import type { UsageReport } from '../../contract/telemetry.ts';
import type { Fault, FormerKeys, PlaneIdentity } from './identity.ts';
import { checkReport } from './usage-report.ts';

export interface KeyedIdentity extends PlaneIdentity {
  readonly formerKeys: readonly FormerKeys[];
}

/** The plane as it was while it had keys that it had at `sinceMs`: as it is now, then the newest of those before first. */
export function identitiesSince(plane: KeyedIdentity, sinceMs: number): [PlaneIdentity, ...PlaneIdentity[]] {
  const { formerKeys, ...identity } = plane;
  const former = formerKeys.filter(({ untilMs }) => untilMs >= sinceMs).toReversed();
  return [
    identity,
    ...former.map(({ verifierKey, auditVerifierKey }) => ({ ...identity, verifierKey, auditVerifierKey })),
  ];
}

/** `checkReport` by any of these; what does not hold by the first one where none fits. */
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
